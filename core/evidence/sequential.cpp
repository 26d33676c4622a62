#include "core/evidence/sequential.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "core/statistics.h"

namespace paretoken {
namespace {

/// Returns the value of Student's t that is exceeded with this probability, which is below a half.
double t_exceeded(double probability, double degrees_of_freedom) {
    if (probability <= 0) return kInfinity;
    return student_t(1 - 2 * probability, degrees_of_freedom);
}

double spent(double error, std::uint64_t pairs, std::uint64_t most_pairs) {
    const double information = static_cast<double>(pairs) / static_cast<double>(most_pairs);
    return error * information * information;
}

/// Returns 3, 4, 6, 8, 12, 16, …: each is twice the one two places before it.
std::vector<std::uint64_t> look_times(std::uint64_t most_pairs) {
    std::vector<std::uint64_t> times{3, 4};
    while (times.back() < most_pairs) times.push_back(2 * times[times.size() - 2]);
    while (times.back() >= most_pairs && times.size() > 1) times.pop_back();
    if (times.back() < most_pairs) times.push_back(most_pairs);
    return times;
}

/// Returns the logarithm of the binomial coefficient.
double log_choose(std::uint64_t n, std::uint64_t k) {
    const auto log_factorial = [](std::uint64_t value) {
        return std::lgamma(static_cast<double>(value) + 1);
    };
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/// Returns the correlation of each value with the next one, without the bias of a short series (Marriott and
/// Pope 1954): (n r + 1) ÷ (n − 3). Returns 0 if it could well be chance (below the 90 % point of independent
/// values), if it is negative, or if there are too few values to know it.
double correlation_of_neighbours(std::span<const double> series, const Moments& moments) {
    constexpr std::size_t kFewest = 8;
    constexpr double kNormal90 = 1.2816;
    constexpr double kMost = .9;
    if (series.size() < kFewest || !(moments.standard_deviation > 0)) return 0;
    double products = 0;
    double squares = 0;
    for (std::size_t i = 0; i < series.size(); ++i) {
        const double deviation = series[i] - moments.mean;
        squares += deviation * deviation;
        if (i > 0) products += deviation * (series[i - 1] - moments.mean);
    }
    const auto n = static_cast<double>(series.size());
    const double found = products / squares;
    if (found <= kNormal90 / std::sqrt(n) - 1 / n) return 0;
    return std::clamp((n * found + 1) / (n - 3), 0.0, kMost);
}

}  // namespace

std::vector<Look> planned_looks(std::uint64_t most_pairs, double alpha, double beta) {
    assert(most_pairs >= 3);
    std::vector<Look> looks;
    double alpha_before = 0;
    double beta_before = 0;
    for (const std::uint64_t pairs : look_times(most_pairs)) {
        const double alpha_now = spent(alpha, pairs, most_pairs);
        const double beta_now = spent(beta, pairs, most_pairs);
        looks.push_back({pairs, alpha_now - alpha_before, beta_now - beta_before});
        alpha_before = alpha_now;
        beta_before = beta_now;
    }
    return looks;
}

Shift paired_shift(std::span<const double> log_ratios) {
    const Moments moments = moments_of(log_ratios);
    const auto n = static_cast<double>(moments.n);
    const double correlation = correlation_of_neighbours(log_ratios, moments);
    const double factor = (1 + correlation) / (1 - correlation);
    // The variance in a short correlated series is less than that of the process.
    const double share = std::max(.3, 1 - (factor - 1) / (n - 1));
    return {.mean = moments.mean,
            .standard_error = moments.standard_deviation * std::sqrt(factor / share / n),
            .degrees_of_freedom = std::max(1.0, n / factor - 1),
            .correlation = correlation};
}

double p_above(const Shift& shift, double limit) {
    const double excess = shift.mean - limit;
    if (!(shift.standard_error > 0)) return excess > 0 ? 0 : 1;
    const double both = student_t_p_value(excess / shift.standard_error, shift.degrees_of_freedom);
    return excess > 0 ? both / 2 : 1 - both / 2;
}

double p_below(const Shift& shift, double limit) {
    return p_above({-shift.mean, shift.standard_error, shift.degrees_of_freedom}, -limit);
}

double upper_bound(const Shift& shift, double error) {
    if (error <= 0) return kInfinity;
    if (!(shift.standard_error > 0)) return shift.mean;
    return shift.mean + t_exceeded(error, shift.degrees_of_freedom) * shift.standard_error;
}

Interval interval_of(const Shift& shift, double confidence) {
    const double half = student_t(confidence, shift.degrees_of_freedom) * shift.standard_error;
    return {shift.mean - half, shift.mean + half};
}

std::vector<bool> rejected_by_holm(std::span<const double> p_values, double alpha) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
    std::vector<bool> rejected(p_values.size(), false);
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (!(p_values[order[i]] <= alpha / static_cast<double>(order.size() - i))) break;
        rejected[order[i]] = true;
    }
    return rejected;
}

double detectable_shift(const Shift& shift, double limit, const Errors& errors) {
    constexpr double kMissed = 0.2;
    const double degrees = shift.degrees_of_freedom;
    return limit + (t_exceeded(errors.fail, degrees) + t_exceeded(kMissed, degrees)) * shift.standard_error;
}

std::optional<std::uint64_t> pairs_to_decide(const Shift& shift, std::uint64_t pairs, double limit,
                                             const Errors& errors, std::uint64_t most) {
    const double deviation = shift.standard_error * std::sqrt(static_cast<double>(pairs));
    const auto decides = [&](std::uint64_t n) {
        const Shift then{shift.mean, deviation / std::sqrt(static_cast<double>(n)),
                         static_cast<double>(n - 1)};
        return p_above(then, limit) <= errors.fail || p_below(then, limit) <= errors.pass;
    };
    if (!decides(most)) return std::nullopt;
    std::uint64_t low = 2;
    std::uint64_t high = most;
    while (low < high) {  // more pairs never undo a decision
        const std::uint64_t middle = low + (high - low) / 2;
        if (decides(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

double Failures::share() const {
    return requests == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(requests);
}

// Given the number of failures on both sides together, the candidate's part is hypergeometric.
double p_fails_more(const Failures& baseline, const Failures& candidate) {
    const std::uint64_t failed = baseline.failed + candidate.failed;
    const std::uint64_t requests = baseline.requests + candidate.requests;
    const double all = log_choose(requests, failed);
    double p = 0;
    for (std::uint64_t k = candidate.failed; k <= std::min(failed, candidate.requests); ++k) {
        if (failed - k > baseline.requests) continue;
        p += std::exp(log_choose(candidate.requests, k) + log_choose(baseline.requests, failed - k) - all);
    }
    return std::min(p, 1.0);
}

double share_upper_bound(const Failures& failures, double error) {
    if (failures.failed >= failures.requests || error <= 0) return 1;
    return beta_quantile(1 - error, static_cast<double>(failures.failed) + 1,
                         static_cast<double>(failures.requests - failures.failed));
}

// S is the number of rising pairs minus the number of falling pairs. Without a trend it is nearly normal with
// this variance (ties make the variance smaller, so that the probability is not too small).
RobustTrend robust_trend(std::span<const double> series) {
    constexpr std::size_t kFewest = 6;
    if (series.size() < kFewest) return {};
    std::vector<double> slopes;
    double s = 0;
    for (std::size_t i = 0; i < series.size(); ++i)
        for (std::size_t j = i + 1; j < series.size(); ++j) {
            const double rise = series[j] - series[i];
            slopes.push_back(rise / static_cast<double>(j - i));
            s += rise > 0 ? 1 : rise < 0 ? -1 : 0;
        }
    std::ranges::sort(slopes);
    const auto n = static_cast<double>(series.size());
    const double z = std::max(0.0, std::abs(s) - 1) / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
    return {percentile(slopes, .5) * (n - 1), std::erfc(z / std::sqrt(2.0))};
}

double mcnemar_p_value(std::uint64_t better, std::uint64_t worse) {
    const std::uint64_t changed = better + worse;
    double tail = 0;
    for (std::uint64_t k = 0; k <= std::min(better, worse); ++k)
        tail += std::exp(log_choose(changed, k) - static_cast<double>(changed) * std::log(2.0));
    return std::min(2 * tail, 1.0);
}

}  // namespace paretoken
