#pragma once
// Facts about the machine that this process runs on. For a run whose server was on this machine, a report
// uses the results of those CPU microbenchmarks that were measured on the same `cpu`.
#include <cstdint>
#include <string>

namespace paretoken::cards {

struct HostFacts {
    std::string name;         ///< host name
    std::string cpu;          ///< CPU model in /proc/cpuinfo, with single blanks; or else the architecture
    std::uint32_t cores = 1;  ///< number of CPUs that this process may run on
    std::string kernel;       ///< "Linux 6.1.0"
    std::uint64_t memory_bytes = 0;

    bool operator==(const HostFacts&) const = default;
};

HostFacts this_host();

}  // namespace paretoken::cards
