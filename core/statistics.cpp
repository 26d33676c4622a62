#include "core/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace paretoken {
namespace {

// ---- distributions

/// Returns the continued fraction of the incomplete beta function by Lentz's method (Abramowitz and Stegun
/// 26.5.8).
double beta_fraction(double a, double b, double x) {
    constexpr double kTiny = 1e-300;
    constexpr double kClose = 1e-15;
    constexpr int kMostTerms = 100'000;  // needs about sqrt(max(a, b))
    const auto or_tiny = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
    double c = 1;
    double d = 1 / or_tiny(1 - (a + b) * x / (a + 1));
    double fraction = d;
    for (int m = 1; m < kMostTerms; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (const double term : {even, odd}) {
            d = 1 / or_tiny(1 + term * d);
            c = or_tiny(1 + term / c);
            fraction *= c * d;
        }
        if (std::abs(c * d - 1) < kClose) break;
    }
    return fraction;
}

/// Regularized incomplete beta function I_x(a, b).
double regularized_beta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// P(at most k successes in n trials of probability p).
double binomial_cdf(std::uint64_t k, std::uint64_t n, double p) {
    if (k >= n) return 1;
    return regularized_beta(static_cast<double>(n - k), static_cast<double>(k) + 1, 1 - p);
}

/// Returns the smallest value in [low, high) for which `holds` is true; it must stay true above. Returns
/// `high` if there is none.
template <typename Holds>
std::uint64_t first_where(std::uint64_t low, std::uint64_t high, Holds holds) {
    while (low < high) {
        const auto middle = low + (high - low) / 2;
        if (holds(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// ---- percentiles

double between(double lower, double upper, double fraction) {
    if (fraction == 0 || lower == upper) return lower;
    return lower + fraction * (upper - lower);  // infinite if either is
}

// ---- autocorrelation

/// A series about its mean, for correlations at several lags.
class Autocovariance {
  public:
    explicit Autocovariance(std::span<const double> series) : centred_(series.begin(), series.end()) {
        const double mean = std::accumulate(series.begin(), series.end(), 0.0) /
                            std::max<double>(1, static_cast<double>(series.size()));
        is_constant_ = std::ranges::adjacent_find(centred_, std::not_equal_to<>()) == centred_.end();
        for (double& value : centred_) value -= mean;
        squares_ = std::inner_product(centred_.begin(), centred_.end(), centred_.begin(), 0.0);
    }

    double correlation(std::size_t lag) const {
        const auto shifted = centred_.begin() + static_cast<std::ptrdiff_t>(lag);
        return std::inner_product(shifted, centred_.end(), centred_.begin(), 0.0) / squares_;
    }

    /// Returns whether the series is constant. (Values minus their mean need not be zero, because of
    /// rounding.)
    bool is_constant() const { return is_constant_ || !(squares_ > 0); }

  private:
    std::vector<double> centred_;
    double squares_ = 0;
    bool is_constant_ = true;
};

/// Returns the means of consecutive blocks of `size`; a shorter rest at the end is left out.
std::vector<double> means_of_blocks(std::span<const double> series, std::size_t size) {
    std::vector<double> means;
    means.reserve(series.size() / size);
    for (std::size_t begin = 0; begin + size <= series.size(); begin += size) {
        const auto block = series.subspan(begin, size);
        means.push_back(std::accumulate(block.begin(), block.end(), 0.0) / static_cast<double>(size));
    }
    return means;
}

// ---- lines

struct Line {
    double intercept = 0;
    double slope = 0;
};

Line fitted_line(std::span<const double> series) {
    const auto n = static_cast<double>(series.size());
    const double middle = (n - 1) / 2;
    const double mean = std::accumulate(series.begin(), series.end(), 0.0) / n;
    double products = 0;
    for (std::size_t i = 0; i < series.size(); ++i) {
        products += (static_cast<double>(i) - middle) * (series[i] - mean);
    }
    const double slope = products / (n * (n * n - 1) / 12);
    return {mean - slope * middle, slope};
}

std::vector<double> residuals_of(std::span<const double> series, const Line& line) {
    std::vector<double> residuals;
    residuals.reserve(series.size());
    for (std::size_t i = 0; i < series.size(); ++i) {
        residuals.push_back(series[i] - line.intercept - line.slope * static_cast<double>(i));
    }
    return residuals;
}

/// Returns ranks from 1; equal values share the mean of their ranks.
std::vector<double> ranks_of(std::span<const double> series) {
    std::vector<std::size_t> order(series.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return series[a] < series[b]; });
    std::vector<double> ranks(series.size());
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && series[order[end]] == series[order[begin]]) ++end;
        for (std::size_t i = begin; i < end; ++i)
            ranks[order[i]] = (static_cast<double>(begin + end) + 1) / 2;
        begin = end;
    }
    return ranks;
}

/// Pettitt's K: the largest |Σ over i ≤ t < j of sign(x_i − x_j)| over all t.
double pettitt_statistic(const std::vector<double>& ranks) {
    const auto n = static_cast<double>(ranks.size());
    double most = 0;
    double sum = 0;
    for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
        sum += ranks[i];
        most = std::max(most, std::abs(2 * sum - static_cast<double>(i + 1) * (n + 1)));
    }
    return most;
}

/// Returns the first value after the step that leaves the smallest sum of squared residuals.
std::size_t best_step(std::span<const double> series) {
    const double total = std::accumulate(series.begin(), series.end(), 0.0);
    const auto n = static_cast<double>(series.size());
    std::size_t best = 1;
    double most = -1;
    double sum = 0;
    for (std::size_t i = 1; i < series.size(); ++i) {
        sum += series[i - 1];
        const auto before = static_cast<double>(i);
        const double apart = sum / before - (total - sum) / (n - before);
        const double between = before * (n - before) * apart * apart;
        if (between > most) {
            most = between;
            best = i;
        }
    }
    return best;
}

/// Returns the residuals of a series about its mean before `at` and its mean from `at` on.
std::vector<double> residuals_of_step(std::span<const double> series, std::size_t at, double before,
                                      double after) {
    std::vector<double> residuals(series.begin(), series.end());
    for (std::size_t i = 0; i < residuals.size(); ++i) residuals[i] -= i < at ? before : after;
    return residuals;
}

}  // namespace

RankPosition position_of(double p, std::uint64_t n) {
    constexpr double kRounding = 1e-9;  // rounding: .95 · 20 must be exactly 19
    const double exact = std::clamp(p, 0.0, 1.0) * static_cast<double>(n - 1);
    const double lower = std::floor(exact + kRounding);
    const double fraction = exact - lower;
    return {static_cast<std::uint64_t>(lower), fraction < kRounding ? 0 : fraction};
}

double percentile(std::span<const double> sorted, double p) {
    assert(!sorted.empty());
    const auto position = position_of(p, sorted.size());
    const auto upper = std::min<std::size_t>(position.rank + 1, sorted.size() - 1);
    return between(sorted[position.rank], sorted[upper], position.fraction);
}

// With B ~ Binomial(n, p) values at or below the percentile: P(X_(l) ≤ it < X_(u)) = P(l ≤ B < u).
std::optional<Interval> percentile_interval(std::span<const double> sorted, double p, double confidence) {
    const auto n = static_cast<std::uint64_t>(sorted.size());
    const double tail = (1 - confidence) / 2;
    const auto lower = first_where(0, n, [&](std::uint64_t k) { return binomial_cdf(k, n, p) > tail; });
    const auto upper =
        first_where(0, n, [&](std::uint64_t k) { return binomial_cdf(k, n, p) >= 1 - tail; }) + 1;
    if (lower < 1 || upper > n) return std::nullopt;
    return Interval{sorted[lower - 1], sorted[upper - 1]};
}

void RunningMoments::add(double value, std::uint64_t weight) {
    if (!std::isfinite(value) || weight == 0) return;
    moments_.n += weight;
    const double off = value - moments_.mean;
    moments_.mean += off * static_cast<double>(weight) / static_cast<double>(moments_.n);
    squares_ += static_cast<double>(weight) * off * (value - moments_.mean);
}

Moments RunningMoments::result() const {
    Moments moments = moments_;
    if (moments.n > 1) moments.standard_deviation = std::sqrt(squares_ / static_cast<double>(moments.n - 1));
    return moments;
}

Moments moments_of(std::span<const double> values) {
    RunningMoments moments;
    for (const double value : values) moments.add(value);
    return moments.result();
}

std::uint64_t samples_to_certify(double p, std::uint64_t over, double confidence) {
    const auto certifies = [&](std::uint64_t n) { return binomial_cdf(over, n, 1 - p) <= 1 - confidence; };
    std::uint64_t enough = over + 1;
    while (!certifies(enough)) enough *= 2;
    return first_where(over + 1, enough, certifies);
}

std::optional<std::uint64_t> allowed_over(double p, std::uint64_t n, double confidence) {
    const auto refuted =
        first_where(0, n, [&](std::uint64_t over) { return binomial_cdf(over, n, 1 - p) > 1 - confidence; });
    if (refuted == 0) return std::nullopt;
    return refuted - 1;
}

std::optional<std::uint64_t> refuting_over(double p, std::uint64_t n, double confidence) {
    const auto refutes = [&](std::uint64_t over) {
        return 1 - binomial_cdf(over - 1, n, 1 - p) <= 1 - confidence;
    };
    const auto found = first_where(1, n + 1, refutes);
    if (found > n) return std::nullopt;
    return found;
}

double beta_share(double value, double a, double b) {
    return regularized_beta(a, b, value);
}

double beta_quantile(double probability, double a, double b) {
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (regularized_beta(a, b, middle) < probability ? low : high) = middle;
    }
    return (low + high) / 2;
}

double lag1_autocorrelation(std::span<const double> series) {
    const Autocovariance covariance(series);
    if (series.size() < 3 || covariance.is_constant()) return 0;
    return covariance.correlation(1);
}

// I_y(1/2, ν/2) = confidence with y = t²/(t² + ν), by bisection.
double student_t(double confidence, double degrees_of_freedom) {
    double low = 0;
    double high = 1;
    for (int i = 0; i < 200 && low < high; ++i) {
        const double middle = (low + high) / 2;
        (regularized_beta(0.5, degrees_of_freedom / 2, middle) < confidence ? low : high) = middle;
    }
    return std::sqrt(degrees_of_freedom * low / (1 - low));
}

// 1 − I_y(1/2, ν/2), computed as I_(1−y)(ν/2, 1/2), which loses no digits when it is small.
double student_t_p_value(double t, double degrees_of_freedom) {
    return regularized_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / (t * t + degrees_of_freedom));
}

Trend trend_of(std::span<const double> series) {
    constexpr std::size_t kFewest = 5;
    if (series.size() < kFewest) return {};
    const auto n = static_cast<double>(series.size());
    const auto line = fitted_line(series);
    const auto residuals = residuals_of(series, line);
    const double squares = std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
    const double change = line.slope * (n - 1);
    if (line.slope == 0) return {};
    const double dependence = std::clamp(lag1_autocorrelation(residuals), 0.0, 0.99);
    const double degrees = std::max(1.0, n * (1 - dependence) / (1 + dependence) - 2);
    const double slope_error = std::sqrt(squares / degrees / (n * (n * n - 1) / 12));
    if (slope_error == 0) return {change, 0, std::numeric_limits<double>::max(), squares};
    const double t = line.slope / slope_error;
    return {change, student_t_p_value(t, degrees), t, squares};
}

LevelShift level_shift_of(std::span<const double> series) {
    constexpr std::size_t kFewest = 5;
    if (series.size() < kFewest) return {};
    const auto n = static_cast<double>(series.size());
    LevelShift shift;
    shift.statistic = pettitt_statistic(ranks_of(series));
    if (shift.statistic == 0) return {};
    shift.at = best_step(series);
    const double before = moments_of(series.first(shift.at)).mean;
    const double after = moments_of(series.subspan(shift.at)).mean;
    const auto residuals = residuals_of_step(series, shift.at, before, after);
    const double dependence = std::clamp(lag1_autocorrelation(residuals), 0.0, 0.99);
    shift.change = after - before;
    shift.squares = std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
    shift.p_value = std::min(1.0, 2 * std::exp(-6 * shift.statistic * shift.statistic / (n * n * n + n * n) *
                                               (1 - dependence) / (1 + dependence)));
    return shift;
}

double rank_sum_p_value(std::span<const double> a, std::span<const double> b) {
    if (a.empty() || b.empty()) return 1;
    std::vector<double> all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    const auto ranks = ranks_of(all);
    const auto na = static_cast<double>(a.size());
    const auto nb = static_cast<double>(b.size());
    const double n = na + nb;
    const double sum =
        std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(a.size()), 0.0);
    std::map<double, double> sizes;  // equal values share a rank
    for (const double rank : ranks) ++sizes[rank];
    double ties = 0;
    for (const auto& [rank, t] : sizes) ties += t * t * t - t;
    const double variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
    if (!(variance > 0)) return 1;
    const double apart = std::max(0.0, std::abs(sum - na * (n + 1) / 2) - 0.5);
    return std::erfc(apart / std::sqrt(variance) / std::sqrt(2.0));
}

std::size_t start_to_cut(std::span<const double> series) {
    constexpr std::size_t kBatch = 5;
    const auto means = means_of_blocks(series, kBatch);
    if (means.size() < 2) return 0;
    double sum = 0;
    double squares = 0;
    std::size_t best = 0;
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t from = means.size(); from-- > 0;) {
        sum += means[from];
        squares += means[from] * means[from];
        const auto left = static_cast<double>(means.size() - from);
        const double error = (squares - sum * sum / left) / (left * left);
        if (from > means.size() / 2 || error > smallest) continue;
        smallest = error;
        best = from;
    }
    return best * kBatch;
}

Interval wilson_interval(double share, double n) {
    constexpr double kZ = 1.959964;
    const double z2 = kZ * kZ / n;
    const double centre = (share + z2 / 2) / (1 + z2);
    const double half = kZ / (1 + z2) * std::sqrt(share * (1 - share) / n + z2 / (4 * n));
    return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace paretoken
