#pragma once
// A server that is started for a measurement and stopped after it. It is a process of its own, so that load
// and server share no thread, no allocator and no lock. It ends with its object, and by itself if this
// process dies.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/target/child_process.h"
#include "simulator/engine/profile.h"

namespace paretoken::experiments {

/// The command of a server. It shows that it is ready by a line on its standard output: `ready`, followed by
/// its URL.
struct ServerCommand {
    std::filesystem::path program;
    std::vector<std::string> arguments;
    std::string ready;
    Duration patience = std::chrono::seconds(15);  ///< longest time until that line
};

class StartedServer {
  public:
    /// Starts the server and blocks until it is ready. Throws RuntimeError when it does not become ready;
    /// `name` is for the message.
    StartedServer(const ServerCommand& command, std::string_view name);

    const std::string& url() const { return url_; }

  private:
    ChildProcess child_;
    std::string url_;
};

/// Returns whether a URL is "sim:" or "sim:PROFILE".
bool names_simulator(const std::string& url);

/// Returns the profile that "sim:PROFILE" names; "sim:" is the default one. Throws UsageError.
sim::Profile simulated_profile(const std::string& url);

/// Starts the simulated server of "sim:PROFILE". Throws UsageError on an unknown profile.
std::unique_ptr<StartedServer> start_simulator(const std::string& url, std::uint64_t seed);

}  // namespace paretoken::experiments
