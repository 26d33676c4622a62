#pragma once
// What of this machine a bandwidth measurement depends on: which CPUs to use, how large the caches and the
// memory are. Read from sysfs and procfs; what is not there is reported as unknown.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::microbench {

/// "0-2,8" → 0, 1, 2, 8, as sysfs writes lists of CPUs. Anything else gives what was understood before it.
std::vector<int> cpu_list_of(std::string_view text);

/// One CPU per physical core that this process may run on, no more of them than the cgroup's CPU quota pays
/// for.
std::vector<int> measuring_cpus();

/// Sum of the distinct last-level caches that these CPUs sit on; 0 when unknown.
std::uint64_t last_level_cache_bytes(const std::vector<int>& cpus);

/// Memory that may be taken now: the least of MemAvailable and what the cgroup has left; nothing when
/// unknown.
std::optional<std::uint64_t> available_memory_bytes();

/// "DDR5", "Registered-DDR4", … from EDAC; nothing in most virtual machines.
std::optional<std::string> memory_type();

}  // namespace paretoken::microbench
