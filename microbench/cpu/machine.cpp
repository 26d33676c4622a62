#include "microbench/cpu/machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

namespace paretoken::microbench {
namespace {

/// Returns the first line without its end; empty when there is no such file.
std::string line_of(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return value;
}

/// Returns the bytes of "32768K".
std::uint64_t cache_size_of(std::string_view text) {
    const auto number = number_in(text).value_or(0);
    if (text.ends_with('K')) return number << 10;
    if (text.ends_with('M')) return number << 20;
    return number;
}

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus;
}

/// Returns the number of whole CPUs that the cgroup grants (v2 "max 100000" or "150000 100000", v1 two
/// files).
std::optional<std::size_t> cpu_quota() {
    std::string quota = line_of("/sys/fs/cgroup/cpu.max");
    std::string period;
    if (const auto space = quota.find(' '); space != std::string::npos) {
        period = quota.substr(space + 1);
        quota.resize(space);
    } else {
        quota = line_of("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        period = line_of("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    }
    const auto q = number_in(quota);
    const auto p = number_in(period);
    if (!q || !p || *p == 0) return std::nullopt;
    return std::max<std::size_t>(1, *q / *p);
}

std::string cpu_file(int cpu, std::string_view file) {
    return line_of(fmt::format("/sys/devices/system/cpu/cpu{}/{}", cpu, file));
}

}  // namespace

std::vector<int> cpu_list_of(std::string_view text) {
    std::vector<int> cpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        int first = 0;
        const auto number = std::from_chars(at, end, first);
        if (number.ec != std::errc{}) break;
        int last = first;
        at = number.ptr;
        if (at < end && *at == '-') {
            const auto upper = std::from_chars(at + 1, end, last);
            if (upper.ec != std::errc{}) break;
            at = upper.ptr;
        }
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        if (at == end || *at != ',') break;
        ++at;
    }
    return cpus;
}

std::vector<int> measuring_cpus() {
    std::vector<int> cpus;
    std::set<int> taken;
    for (const int cpu : allowed_cpus()) {
        const auto siblings = cpu_list_of(cpu_file(cpu, "topology/thread_siblings_list"));
        if (!siblings.empty() && !taken.insert(siblings.front()).second) continue;
        cpus.push_back(cpu);
    }
    if (const auto quota = cpu_quota(); quota && *quota < cpus.size()) cpus.resize(*quota);
    return cpus;
}

std::uint64_t last_level_cache_bytes(const std::vector<int>& cpus) {
    std::map<std::string, std::uint64_t> caches;  // size by the list of CPUs that share it
    for (const int cpu : cpus) {
        for (int index = 4; index >= 0; --index) {  // the last level is the highest index
            const auto size = cache_size_of(cpu_file(cpu, fmt::format("cache/index{}/size", index)));
            if (size == 0) continue;
            caches[cpu_file(cpu, fmt::format("cache/index{}/shared_cpu_list", index))] = size;
            break;
        }
    }
    std::uint64_t total = 0;
    for (const auto& [sharers, size] : caches) total += size;
    return total;
}

std::optional<std::uint64_t> available_memory_bytes() {
    std::optional<std::uint64_t> available;
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        constexpr std::string_view kKey = "MemAvailable:";
        if (!line.starts_with(kKey)) continue;
        const auto digits = line.find_first_of("0123456789");
        if (digits == std::string::npos) break;
        if (const auto kib = number_in(std::string_view(line).substr(digits))) available = *kib << 10;
    }
    const auto limit = number_in(line_of("/sys/fs/cgroup/memory.max"));
    const auto used = number_in(line_of("/sys/fs/cgroup/memory.current"));
    if (limit && used) {
        const std::uint64_t left = *limit > *used ? *limit - *used : 0;
        available = std::min(available.value_or(left), left);
    }
    return available;
}

std::optional<std::string> memory_type() {
    for (int controller = 0; controller < 8; ++controller) {
        for (int dimm = 0; dimm < 16; ++dimm) {
            auto type = line_of(
                fmt::format("/sys/devices/system/edac/mc/mc{}/dimm{}/dimm_mem_type", controller, dimm));
            if (!type.empty() && type != "Unknown") return type;
        }
    }
    return std::nullopt;
}

}  // namespace paretoken::microbench
