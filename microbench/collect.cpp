#include "microbench/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"

namespace paretoken::microbench {
namespace {

template <class Value>
std::vector<double> sorted_values(std::span<const PairedWindow> windows, Value value) {
    std::vector<double> values;
    values.reserve(windows.size());
    for (const PairedWindow& window : windows) values.push_back(value(window));
    std::ranges::sort(values);
    return values;
}

double kernel_seconds(const PairedWindow& w) {
    return w.kernel_s;
}
double ceiling_speed(const PairedWindow& w) {
    return w.ceiling_bytes / w.ceiling_s;
}
double kernel_speed(const PairedWindow& w) {
    return w.kernel_bytes / w.kernel_s;
}
double kernel_flops(const PairedWindow& w) {
    return w.flops / w.kernel_s;
}
double speed_ratio(const PairedWindow& w) {
    return kernel_speed(w) / ceiling_speed(w);
}

/// Returns the coefficient of variation. Quartiles replace the standard deviation (in a normal distribution
/// they are 1.349 of it apart), because a host that takes the CPU away for a moment disturbs a few groups
/// strongly and the others not at all.
double variation_of_groups(std::span<const PairedWindow> windows, std::size_t group) {
    std::vector<double> medians;
    for (std::size_t begin = 0; begin + group <= windows.size(); begin += group) {
        medians.push_back(percentile(sorted_values(windows.subspan(begin, group), kernel_seconds), .5));
    }
    std::ranges::sort(medians);
    if (medians.empty()) return 0;
    return (percentile(medians, .75) - percentile(medians, .25)) / 1.349 / percentile(medians, .5);
}

std::optional<double> drift_of_ceiling(std::span<const PairedWindow> windows) {
    const std::size_t third = windows.size() / 3;
    if (third == 0) return std::nullopt;
    const double first = percentile(sorted_values(windows.first(third), ceiling_speed), .5);
    const double last = percentile(sorted_values(windows.last(third), ceiling_speed), .5);
    return std::abs(last / first - 1);
}

}  // namespace

Measurement measurement_of(std::span<const PairedWindow> windows, std::size_t group) {
    const auto times = sorted_values(windows, kernel_seconds);
    Measurement m{.median_s = percentile(times, .5),
                  .p10_s = percentile(times, .1),
                  .p25_s = percentile(times, .25),
                  .p75_s = percentile(times, .75),
                  .p90_s = percentile(times, .9),
                  .cv = variation_of_groups(windows, group),
                  .n = windows.size()};
    const PairedWindow& any = windows.front();
    if (any.kernel_bytes > 0) {
        const auto speeds = sorted_values(windows, kernel_speed);
        m.bytes_per_second = percentile(speeds, .5);
        m.bytes_per_second_best = percentile(speeds, .9);
    }
    if (any.flops > 0) {
        const auto rates = sorted_values(windows, kernel_flops);
        m.flops_per_second = percentile(rates, .5);
        m.flops_per_second_best = percentile(rates, .9);
    }
    if (any.kernel_bytes > 0 && any.ceiling_bytes > 0) {
        const auto ratios = sorted_values(windows, speed_ratio);
        m.of_ceiling = percentile(ratios, .5);
        m.of_ceiling_p25 = percentile(ratios, .25);
        m.of_ceiling_p75 = percentile(ratios, .75);
        m.ceiling_drift = drift_of_ceiling(windows);
    }
    return m;
}

std::string Judgement::label() const {
    std::vector<std::string> all = invalid_because;
    all.insert(all.end(), notes.begin(), notes.end());
    return fmt::format("{}", fmt::join(all, "; "));
}

Judgement judgement_of(const Measurement& m, const Circumstances& c) {
    Judgement judgement;
    auto& invalid = judgement.invalid_because;
    if (c.must_be_steady && m.cv > kMaxVariation) {
        invalid.push_back(fmt::format("unsteady: cv {:.0f} % > {:.0f} %", m.cv * 100, kMaxVariation * 100));
    }
    if (c.must_exceed_llc && c.working_set_bytes < 4 * c.llc_bytes) {
        invalid.push_back(fmt::format("working set {} MiB < 4 x last-level cache of {} MiB",
                                      c.working_set_bytes >> 20, c.llc_bytes >> 20));
    }
    if (m.of_ceiling.value_or(0) > kMaxOfCeiling) {
        invalid.push_back(
            fmt::format("{:.0f} % of the read ceiling: other programs took the CPU", *m.of_ceiling * 100));
    }
    if (!c.not_a_bound.empty()) invalid.push_back(c.not_a_bound);
    if (m.ceiling_drift.value_or(0) > kMaxDrift) {
        judgement.notes.push_back(fmt::format("ceiling drifted {:.0f} %", *m.ceiling_drift * 100));
    }
    return judgement;
}

double relative_l2(std::span<const float> output, std::span<const double> reference) {
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        if (!std::isfinite(output[i])) return std::numeric_limits<double>::infinity();
        error += (output[i] - reference[i]) * (output[i] - reference[i]);
        norm += reference[i] * reference[i];
    }
    if (norm == 0) return error == 0 ? 0 : std::numeric_limits<double>::infinity();
    return std::sqrt(error / norm);
}

}  // namespace paretoken::microbench
