#pragma once
// Whom a load is made for: found out about once (and kept: the simulated server, the TLS context, what the
// probe learnt), then measured at one load level after the other. There are two kinds, a server behind
// sockets and the simulated server in virtual time.
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/text/secrets.h"
#include "experiments/watcher.h"
#include "loadgen/probe.h"
#include "loadgen/run.h"

namespace paretoken::experiments {

class CommandServer;

/// One load, ready to be made: a resolved plan and what follows from it.
struct Load {
    LoadPlan plan;
    std::vector<std::unique_ptr<datasets::Dataset>> datasets = {};  ///< of each class
    loadgen::LoadOptions options;
    /// Told from threads of their own; may be empty.
    std::function<void(const scrape::ServerScrape&)> on_scrape = {};
    std::function<void(const power::PowerReading&)> on_power = {};
};

class Target {
  public:
    virtual ~Target() = default;

    virtual const loadgen::EndpointFacts& facts() const = 0;
    virtual std::string url() const = 0;                               ///< as results name it
    virtual std::vector<std::string> urls() const { return {url()}; }  ///< of each server
    virtual bool in_virtual_time() const = 0;  ///< runs disturb nothing and may go on side by side
    virtual std::string clock(const ClientHealth& client) const = 0;  ///< what timed the events
    const Secrets& secrets() const { return secrets_; }

    /// The load that `asked` comes to here. Throws UsageError.
    virtual Load load_for(const LoadPlan& asked) const = 0;

    /// Makes it; every finished record goes to `sink` at once. Blocks.
    virtual loadgen::LoadOutcome make(const Load& load, RecordSink& sink, loadgen::Progress& progress,
                                      const loadgen::Interruption& interruption) const = 0;

    /// Throws RuntimeError when the server does not answer any more; ServerFailed, with its last lines, when
    /// it is ours and has ended.
    virtual void require_answer() const {}

    /// The server that a command started for this; null when it was there already.
    virtual CommandServer* started_server() const { return nullptr; }

    /// Empties the server's prefix cache. Throws RuntimeError when the server has no call for it.
    virtual void reset_cache() const {}

  protected:
    explicit Target(Secrets secrets) : secrets_(std::move(secrets)) {}
    Target(const Target&) = default;
    Target& operator=(const Target&) = default;

  private:
    Secrets secrets_;
};

/// The parts of this process's environment that a target needs.
struct Access {
    std::string api_key = {};         ///< may be empty
    std::string proxy_variable = {};  ///< the proxy variable that is set, and not used; empty: none
};

/// In virtual time: reads the profile, and that is all. Else starts the simulator if the URL names it,
/// probes, and tries the workload's first request. `watcher` is told what is waited for, and must outlive the
/// target. Throws when measuring would be pointless, and when `stop` is requested meanwhile.
/// `server`: the one that a command started, and that the plan's URL names; it lives as long as the target.
std::unique_ptr<Target> open_target(const LoadPlan& asked, const Access& access, Watcher& watcher,
                                    const std::stop_token& stop,
                                    std::shared_ptr<CommandServer> server = nullptr);

}  // namespace paretoken::experiments
