#pragma once
// A server that is started for a measurement and stopped after it, as a process of its own, so that load and
// server share no thread, no allocator and no lock. It ends with its object, and by itself if this process
// dies.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/target/child_process.h"
#include "simulator/engine/profile.h"

namespace paretoken::experiments {

/// How a server is started, and how it says that it is ready: a line on its standard output that begins with
/// `ready`, followed by its URL.
struct ServerCommand {
    std::filesystem::path program;
    std::vector<std::string> arguments;
    std::string ready;
    Duration patience = std::chrono::seconds(15);  ///< until that line
};

class StartedServer {
  public:
    /// Blocks until the server is ready. Throws RuntimeError when it does not come up; `name` is for the
    /// message.
    StartedServer(const ServerCommand& command, std::string_view name);

    const std::string& url() const { return url_; }

  private:
    ChildProcess child_;
    std::string url_;
};

/// "sim:" or "sim:PROFILE".
bool names_simulator(const std::string& url);

/// The profile that "sim:PROFILE" names; "sim:" is the default one. Throws UsageError.
sim::Profile simulated_profile(const std::string& url);

/// `url`: "sim:PROFILE". Throws UsageError on an unknown profile.
std::unique_ptr<StartedServer> start_simulator(const std::string& url, std::uint64_t seed);

}  // namespace paretoken::experiments
