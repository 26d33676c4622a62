#pragma once
// Opens the target of a plan, and starts the server that the plan's command names where it is not running
// yet.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "core/plan/plan.h"
#include "experiments/target/target.h"
#include "experiments/watcher.h"

namespace paretoken::experiments {

class CommandServer;

inline constexpr std::string_view kServerLogName = "server.log";
inline constexpr auto kServerPatience =
    std::chrono::minutes(10);  ///< for the server of a command to be ready

/// Checks what a plan says of its server, and takes the default URL away where a command starts the server.
/// `url_given`: the user named one. Throws UsageError.
LoadPlan with_server(LoadPlan plan, bool url_given);

/// A key that is equal for two plans when one server can serve both; empty where no command starts the
/// server.
std::string server_key(const ServerLaunch& server);

class ServerLauncher {
  public:
    /// `watcher` must outlive this.
    ServerLauncher(Access access, Watcher& watcher, std::stop_token stop);
    ~ServerLauncher();  ///< ends the server
    ServerLauncher(const ServerLauncher&) = delete;
    ServerLauncher& operator=(const ServerLauncher&) = delete;

    /// The target of a plan. A command of the plan that is not running yet (or is to be started anew) is
    /// started, after the one before was ended, with its output in `directory`/server.log; else the server at
    /// the plan's URL is waited for, if the plan says so. Throws ServerFailed, secrets hidden, where the
    /// server of a command does not serve the plan; else as open_target().
    std::unique_ptr<Target> open(const LoadPlan& asked, const std::filesystem::path& directory,
                                 bool anew = false);

    /// Ends the server that is running, so that the next open() starts one.
    void end_server();

  private:
    void start(const LoadPlan& asked, const std::filesystem::path& directory);

    Access access_;
    Watcher& watcher_;
    std::stop_token stop_;
    std::shared_ptr<CommandServer> server_;
    std::string key_;  ///< of server_
    std::uint64_t starts_ = 0;
};

}  // namespace paretoken::experiments
