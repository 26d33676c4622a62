#pragma once
// The machine this process runs on. `cpu` is what local runs and CPU microbenchmarks are joined on.
#include <cstdint>
#include <string>

namespace paretoken::cards {

struct HostFacts {
    std::string name;  ///< host name
    std::string cpu;  ///< CPU model as /proc/cpuinfo gives it, blanks folded; the architecture if it does not
    std::uint32_t cores = 1;  ///< CPUs this process may run on
    std::string kernel;       ///< "Linux 6.1.0"
    std::uint64_t memory_bytes = 0;

    bool operator==(const HostFacts&) const = default;
};

HostFacts this_host();

}  // namespace paretoken::cards
