#pragma once
// The properties of this machine that a bandwidth measurement needs: the CPUs to use, and the sizes of caches
// and memory. They are read from sysfs and procfs; missing ones are reported as unknown.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::microbench {

/// Reads a sysfs list of CPUs: "0-2,8" → 0, 1, 2, 8; stops at text that is not valid.
std::vector<int> cpu_list_of(std::string_view text);

/// Returns one usable CPU per physical core, at most as many as the cgroup's quota allows.
std::vector<int> measuring_cpus();

/// Returns the sum of the distinct last-level caches of these CPUs; 0 when unknown.
std::uint64_t last_level_cache_bytes(const std::vector<int>& cpus);

/// Returns the bytes of memory that can be allocated now: the smaller of MemAvailable and what the memory
/// limit of the cgroup (version 2) leaves; nothing when both are unknown.
std::optional<std::uint64_t> available_memory_bytes();

/// Returns "DDR5", "Registered-DDR4", … from EDAC; nothing in most virtual machines.
std::optional<std::string> memory_type();

}  // namespace paretoken::microbench
