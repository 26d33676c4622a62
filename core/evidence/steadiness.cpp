#include "core/evidence/steadiness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "core/statistics.h"

namespace paretoken {
namespace {

constexpr double kTrendSignificance = 0.005;
constexpr double kShiftSignificance = 0.01;
constexpr std::size_t kStretches = 10;
constexpr double kOrderedByChance = 2.0 / (1 << (kStretches - 1));  // the signs of a random walk's steps
constexpr double kRelevantTrend = 0.10;                             // share of the mean, over the whole time
constexpr double kRelevantShift = 0.05;

double share_of(double change, double mean) {
    return mean != 0 ? change / std::abs(mean) : 0;
}

bool matters(double change, double mean, double relevant, double least) {
    return std::abs(change) > relevant * std::abs(mean) && std::abs(change) > least;
}

std::string text_of(const Course& course, double share) {
    return fmt::format("{} {} by {:.0f} % of its mean", course.title, share > 0 ? "rose" : "fell",
                       100 * std::abs(share));
}

/// Whether the means of kStretches equal stretches are in ascending or descending order.
bool is_in_order(std::span<const double> values) {
    if (values.size() < 2 * kStretches) return false;
    std::vector<double> means;
    for (std::size_t i = 0; i < kStretches; ++i) {
        const std::size_t begin = i * values.size() / kStretches;
        const std::size_t end = (i + 1) * values.size() / kStretches;
        means.push_back(moments_of(values.subspan(begin, end - begin)).mean);
    }
    return std::ranges::adjacent_find(means, std::greater_equal<>()) == means.end() ||
           std::ranges::adjacent_find(means, std::less_equal<>()) == means.end();
}

TimeSpan stretches_beside(const Course& course, std::size_t at) {
    return {course.begins[at - 1], course.begins[std::min(at + 1, course.begins.size() - 1)]};
}

}  // namespace

// A trend counts if its p-value is below .005 and it changes the quantity by more than 10 % of the mean from
// beginning to end. It also counts, whatever its p-value, if the means of ten equal stretches are in
// ascending or descending order: even a random walk of the stretches has no such order with a probability of
// .996. Smooth but curved courses are recognised by this alone. A shift counts if its p-value is below .01
// and it is larger than 5 % of the mean.
SteadinessOf steadiness_of(const Course& course) {
    const double mean = moments_of(course.means).mean;
    auto trend = trend_of(course.means);
    if (is_in_order(course.means)) trend.p_value = std::min(trend.p_value, kOrderedByChance);
    const auto shift = level_shift_of(course.means);
    const double trend_share = share_of(trend.change, mean);
    const double shift_share = share_of(shift.change, mean);

    SteadinessOf result;
    result.tests = {{course.series, "trend", trend.statistic, trend.p_value, trend_share},
                    {course.series, "pettitt", shift.statistic, shift.p_value, shift_share}};
    const bool drifts = trend.p_value < kTrendSignificance &&
                        matters(trend.change, mean, kRelevantTrend, course.least_change);
    const bool shifts = shift.p_value < kShiftSignificance &&
                        matters(shift.change, mean, kRelevantShift, course.least_change);
    if (shifts && !(drifts && trend.squares <= shift.squares))
        result.change = {text_of(course, shift_share), stretches_beside(course, shift.at), shift.p_value};
    else if (drifts)
        result.change = {text_of(course, trend_share), std::nullopt, trend.p_value};
    return result;
}

}  // namespace paretoken
