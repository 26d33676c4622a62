#include "cards/host.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cctype>
#include <fstream>

namespace paretoken::cards {
namespace {

/// The text with runs of blanks replaced by one blank, and without blanks at the ends.
std::string folded(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
        if (!blank)
            out += c;
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    }
    if (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
}

/// The CPU model in /proc/cpuinfo: x86 has it in "model name", some ARM kernels have it in "Hardware" or
/// "Model".
std::string cpu_of_proc() {
    std::ifstream file("/proc/cpuinfo");
    std::string fallback;
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string key = folded(line.substr(0, colon));
        const std::string value = folded(line.substr(colon + 1));
        if (value.empty()) continue;
        if (key == "model name") return value;
        if ((key == "Hardware" || key == "Model") && fallback.empty()) fallback = value;
    }
    return fallback;
}

/// The number of CPUs that this process may use. The affinity mask respects the limits of a container or
/// taskset, which hardware_concurrency may not do.
std::uint32_t usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        const int count = CPU_COUNT(&set);
        if (count > 0) return static_cast<std::uint32_t>(count);
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<std::uint32_t>(online) : 1;
}

}  // namespace

HostFacts this_host() {
    HostFacts facts;
    utsname name{};
    if (uname(&name) == 0) {
        facts.name = name.nodename;
        facts.kernel = std::string(name.sysname) + " " + name.release;
        facts.cpu = name.machine;
    }
    if (std::string cpu = cpu_of_proc(); !cpu.empty()) facts.cpu = std::move(cpu);
    facts.cores = usable_cores();
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0)
        facts.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
    return facts;
}

}  // namespace paretoken::cards
