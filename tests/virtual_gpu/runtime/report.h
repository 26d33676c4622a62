#pragma once
// What a program did with the virtual GPU: totals of every kernel, and everything that was wrong, as JSON.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/launch.h"

namespace paretoken::virtual_gpu {

struct KernelTotals {
    std::uint64_t launches = 0;
    std::uint64_t timed_only = 0;  ///< of these: Settings::graph_runs
    double seconds = 0;            ///< modelled
    std::size_t most_shared = 0;   ///< bytes of a block, static and dynamic
    LaunchReport sum = {};         ///< without its fault
    std::vector<std::string> faults = {};
};

struct Report {
    std::string gpu = {};
    std::map<std::string, KernelTotals> kernels = {};  ///< by readable name
    /// What is wrong and no error of the API, such as a copy of memory that nobody wrote.
    std::vector<std::string> complaints = {};
    /// (call, name of the status) → how often
    std::map<std::pair<std::string, std::string>, std::uint64_t> refusals = {};
};

void add(KernelTotals& totals, const LaunchReport& report);

/// "paretoken/virtual-gpu/1". Ratios are absent where there is nothing to divide by.
std::string json_of(const Report& report);

}  // namespace paretoken::virtual_gpu
