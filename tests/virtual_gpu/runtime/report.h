#pragma once
// The report of the virtual GPU about the run of a program, as JSON: the totals of every kernel, and the
// errors.
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
    std::uint64_t timed_only = 0;  ///< launches that were not executed because of Settings::graph_runs
    double seconds = 0;            ///< modelled time of all launches
    std::size_t most_shared = 0;   ///< largest shared memory of a block in bytes, static and dynamic
    LaunchReport sum = {};         ///< sum over the executed launches; its fault is not set
    std::vector<std::string> faults = {};
};

struct Report {
    std::string gpu = {};                              ///< Settings::name
    std::map<std::string, KernelTotals> kernels = {};  ///< key: readable name
    /// Errors outside of kernels: a copy of memory that was never written, a kernel that no PTX file has, or
    /// a PTX file that is not supported. At most 100 are kept.
    std::vector<std::string> complaints = {};
    /// (call, name of the status) → number of failed calls
    std::map<std::pair<std::string, std::string>, std::uint64_t> refusals = {};
};

/// Adds the counts of an executed launch to `sum`; the other members do not change.
void add(KernelTotals& totals, const LaunchReport& report);

/// The report as JSON with the schema "paretoken/virtual-gpu/1". A ratio is absent if its divisor is 0.
std::string json_of(const Report& report);

}  // namespace paretoken::virtual_gpu
