#pragma once
// Opens the target of a plan (the server or servers that its load goes to). If the plan has a command that
// starts the server, and the server is not running yet, starts it first.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "core/plan/plan.h"
#include "experiments/server/target.h"
#include "experiments/watcher.h"

namespace paretoken::experiments {

class CommandServer;
class Companions;

inline constexpr std::string_view kServerLogName = "server.log";
inline constexpr auto kServerPatience =
    std::chrono::minutes(10);  ///< time until the server of a command must be ready

/// Throws UsageError naming an option of the client that would have no effect: an option of its sockets in
/// virtual time, a time of the virtual client without virtual time, or a rule of routing for one server.
void refuse_options_without_effect(const LoadPlan& plan);

/// Checks the options of a plan for its server and refuses those without effect, and removes the default URL
/// if a command starts the server. `url_given`: the user gave a URL. Throws UsageError.
LoadPlan with_server(LoadPlan plan, bool url_given);

/// Returns a key that is equal if one server can serve both plans; empty without a command.
std::string server_key(const ServerLaunch& server);

class ServerLauncher {
  public:
    /// `watcher` must outlive this. `companions`: the other processes of the load; may be null.
    ServerLauncher(Access access, Watcher& watcher, std::stop_token stop,
                   std::shared_ptr<Companions> companions = nullptr);
    ~ServerLauncher();  ///< ends the server
    ServerLauncher(const ServerLauncher&) = delete;
    ServerLauncher& operator=(const ServerLauncher&) = delete;

    /// Opens the target of a plan. Its command is started if its server does not run, or with `anew`, with
    /// its output in `directory`/server.log. Throws ServerFailed; otherwise as open_target() does.
    std::unique_ptr<Target> open(const LoadPlan& asked, const std::filesystem::path& directory,
                                 bool anew = false);

    /// Ends the server that is running, so that the next open() starts one.
    void end_server();

  private:
    void start(const LoadPlan& asked, const std::filesystem::path& directory);
    std::unique_ptr<Target> opened(const LoadPlan& asked, std::shared_ptr<CommandServer> server) const;

    Access access_;
    Watcher& watcher_;
    std::stop_token stop_;
    std::shared_ptr<Companions> companions_;
    std::shared_ptr<CommandServer> server_;
    std::string key_;  ///< key of server_
    std::uint64_t starts_ = 0;
};

}  // namespace paretoken::experiments
