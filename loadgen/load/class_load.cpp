#include "loadgen/load/class_load.h"

#include <algorithm>

#include "core/units.h"
#include "datasets/dataset.h"

namespace paretoken::loadgen {
namespace {

/// Returns the sum over all classes; nothing if one of them has no value.
template <class ValueOf>
std::optional<std::uint64_t> sum_over(const std::vector<ClassLoad>& classes, ValueOf&& value_of) {
    std::uint64_t sum = 0;
    for (const ClassLoad& of : classes) {
        const std::optional<std::uint64_t> value = value_of(of);
        if (!value) return std::nullopt;
        sum += *value;
    }
    return sum;
}

/// Returns the number of requests that ramps or steps are expected to start within `duration_s`.
double expected_within(const Arrivals& arrivals, double duration_s) {
    double low = 0;
    double high = 1;
    while (arrivals.time_of(high) < duration_s) high *= 2;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (arrivals.time_of(middle) < duration_s ? low : high) = middle;
    }
    return high;
}

/// Returns the mean rate of a class over its load. That of ramps and steps depends on the limits of the load.
double mean_rate_of(const ClassLoad& of) {
    const Arrivals& arrivals = of.arrivals;
    if (!arrivals.time_of || (!of.limits.requests && !of.limits.duration)) return arrivals.rate;
    const auto requests = static_cast<double>(of.limits.requests.value_or(0));
    const double last_s = of.limits.requests ? arrivals.time_of(requests) : kInfinity;
    const double duration_s = of.limits.duration ? seconds(*of.limits.duration) : kInfinity;
    if (last_s <= duration_s) return last_s > 0 ? requests / last_s : arrivals.rate;
    return duration_s > 0 ? expected_within(arrivals, duration_s) / duration_s : arrivals.rate;
}

/// Returns the parts that lie in a part of `a` and in one of `b`.
std::vector<LoadPart> common_parts(const std::vector<LoadPart>& a, const std::vector<LoadPart>& b) {
    std::vector<LoadPart> common;
    for (const LoadPart& x : a)
        for (const LoadPart& y : b) {
            const LoadPart both{std::max(x.begin, y.begin), std::min(x.end, y.end)};
            if (both.begin < both.end) common.push_back(both);
        }
    return common;
}

}  // namespace

CombinedLoad combined(const std::vector<ClassLoad>& classes) {
    CombinedLoad all{.limits = classes.front().limits};
    bool held_back = false;
    for (const ClassLoad& of : classes) {
        all.open_loop = all.open_loop || !of.arrivals.at_once;
        all.stationary = all.stationary && of.arrivals.stationary;
        all.constant_rate = common_parts(all.constant_rate, of.arrivals.constant_rate);
        all.request_rate += mean_rate_of(of);
        const bool has_jobs = of.dataset != nullptr && of.dataset->has_jobs();
        held_back = held_back || of.pacing.think_time || of.pacing.requests || of.pacing.prefills || has_jobs;
    }
    all.limits.requests = sum_over(classes, [](const ClassLoad& of) { return of.limits.requests; });
    // The caps of several classes act as one cap only if all of them are filled.
    if (classes.size() == 1 || !all.open_loop)
        all.concurrency = sum_over(classes, [](const ClassLoad& of) { return of.concurrency; });
    if (!held_back) all.filled_cap = all.concurrency;
    return all;
}

}  // namespace paretoken::loadgen
