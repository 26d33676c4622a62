#pragma once
// A simulated server for a measurement, as a process of its own: load and server share no thread, allocator
// or lock. It ends with its object, and by itself if this process dies.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/server/child_process.h"
#include "simulator/engine/profile.h"

namespace paretoken::experiments {

/// The command of a server that is ready once the first line of its standard output is `ready` and its URL.
struct ServerCommand {
    std::filesystem::path program;
    std::vector<std::string> arguments;
    std::string ready;
    Duration patience = std::chrono::seconds(15);  ///< longest time until that line
};

class StartedServer {
  public:
    /// Starts the server and blocks until it is ready. Throws RuntimeError naming `name` if it fails.
    StartedServer(const ServerCommand& command, std::string_view name);

    const std::string& url() const { return url_; }

  private:
    ChildProcess child_;
    std::string url_;
};

bool names_simulator(const std::string& url);

/// Returns the profile that "sim:PROFILE" names; "sim:" is the default one. Throws UsageError.
sim::Profile simulated_profile(const std::string& url);

/// Starts the simulated server of "sim:PROFILE" and blocks until it is ready. Throws UsageError on an unknown
/// profile, RuntimeError when the server does not become ready.
std::unique_ptr<StartedServer> start_simulator(const std::string& url, std::uint64_t seed);

}  // namespace paretoken::experiments
