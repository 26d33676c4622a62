#pragma once
// `sim:PROFILE` as a URL: the simulated server as a process of its own, so that load and server share no
// thread, no allocator and no lock. It ends with this object, and by itself if this process dies.
#include <cstdint>
#include <string>

#include "cli/child_process.h"
#include "loadgen/sim/profile.h"

namespace paretoken::cli {

/// "sim:" or "sim:PROFILE".
bool names_simulator(const std::string& url);

/// The profile that "sim:PROFILE" names; "sim:" is the default one. Throws UsageError.
sim::Profile simulated_profile(const std::string& url);

class Simulator {
  public:
    /// `target`: "sim:PROFILE"; "sim:" is the default profile. Throws when it does not come up.
    Simulator(const std::string& target, std::uint64_t seed);

    const std::string& url() const { return url_; }

  private:
    ChildProcess child_;
    std::string url_;
};

}  // namespace paretoken::cli
