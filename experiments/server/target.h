#pragma once
// A target is what a load is sent to: servers behind sockets, or the simulated server in virtual time. It is
// probed once when it is opened, and then measured at one load level after the other.
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/text/secrets.h"

namespace paretoken {
struct LoadPlan;
struct Observations;
class RecordSink;
}  // namespace paretoken

namespace paretoken::loadgen {
struct EndpointFacts;
class Interruption;
struct Progress;
}  // namespace paretoken::loadgen

namespace paretoken::experiments {

class CommandServer;
class Companions;
struct Load;
class Watcher;

class Target {
  public:
    virtual ~Target() = default;

    /// Returns what the probe found out about the first server.
    virtual const loadgen::EndpointFacts& facts() const = 0;
    virtual std::string url() const = 0;                               ///< URL in results
    virtual std::vector<std::string> urls() const { return {url()}; }  ///< URL of each server
    virtual bool in_virtual_time() const = 0;  ///< whether times are simulated; such runs may overlap
    /// Returns the secrets to hide in everything that is stored about this target.
    const Secrets& secrets() const { return secrets_; }
    /// Returns when the target was opened: "2026-11-21T09:45:12Z". The simulated server runs since then.
    const std::string& opened_at() const { return opened_at_; }

    /// Returns the load of `asked` for this target. Throws UsageError and RuntimeError.
    virtual Load load_for(const LoadPlan& asked) const = 0;

    /// Opens the connections of the load shortly before make(), and sets the zero of its schedule unless it
    /// is set: the time of --start-at, or now. Throws RuntimeError if that has passed.
    virtual void get_ready(Load& load) const;

    /// Runs the load; every finished record goes to `sink` at once. Blocks.
    virtual Observations make(const Load& load, RecordSink& sink, loadgen::Progress& progress,
                              const loadgen::Interruption& interruption) const = 0;

    /// Throws RuntimeError when a server no longer answers, ServerFailed with its last lines if a command
    /// started it and it has ended. Does nothing in virtual time.
    virtual void require_answer() const {}

    /// Returns the other processes that make parts of the loads; null if there are none.
    Companions* companions() const { return companions_.get(); }
    void set_companions(std::shared_ptr<Companions> companions) { companions_ = std::move(companions); }

    /// Returns the server that a command started for this target; null if none did.
    virtual CommandServer* started_server() const { return nullptr; }

    /// Empties the prefix cache of every server; does nothing in virtual time. Throws RuntimeError when a
    /// server has no endpoint for it or the request fails.
    virtual void reset_cache() const {}

  protected:
    explicit Target(Secrets secrets);
    Target(const Target&) = default;
    Target& operator=(const Target&) = default;

  private:
    Secrets secrets_;
    std::string opened_at_;
    std::shared_ptr<Companions> companions_;
};

/// Returns the seconds until the time of --start-at, which is negative if it has passed.
double seconds_until_start(const LoadPlan& plan);

struct Access {
    std::string api_key = {};         ///< may be empty
    std::string proxy_variable = {};  ///< name of a proxy variable that is set but not used; empty means none
};

/// Opens a target: reads the profile in virtual time, else starts the simulator if the URL names it, probes
/// every server, and tries a request. `watcher` must outlive it; `server` is the one at the plan's URL, if a
/// command started it. Throws UsageError; RuntimeError when a server fails, or on `stop`.
std::unique_ptr<Target> open_target(const LoadPlan& asked, const Access& access, Watcher& watcher,
                                    const std::stop_token& stop,
                                    std::shared_ptr<CommandServer> server = nullptr);

}  // namespace paretoken::experiments
