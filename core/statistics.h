#pragma once
// Statistics of samples: percentiles with their intervals, early-stopping certificates, autocorrelation, blocks.
// Samples are sorted ascending where a function says so; a failed request is +infinity.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// Type 7 (linear interpolation; Hyndman and Fan 1996). `sorted` ascending and not empty, p in [0, 1].
/// +infinity when either neighbour that carries weight is.
double percentile(std::span<const double> sorted, double p);

/// Order-statistic (binomial) confidence interval of a percentile; nothing when n is too small to bound it on
/// both sides. An end that falls among failures is +infinity.
std::optional<Interval> percentile_interval(std::span<const double> sorted, double p, double confidence = 0.95);

struct Moments {
    std::uint64_t n = 0;
    double mean = 0;
    double standard_deviation = 0;  ///< n − 1 in the divisor; 0 for n < 2

    bool operator==(const Moments&) const = default;
};
/// Over the finite values only.
Moments moments_of(std::span<const double> values);

/// MLPerf's early-stopping rule (d = 0, confidence c): the fewest independent samples that certify percentile p when
/// `over` of them exceed the limit. p .90 → 44 at 0 over; p .99 → 459 at 0 over, 662 at 1.
std::uint64_t samples_to_certify(double p, std::uint64_t over = 0, double confidence = 0.99);

/// The most samples over the limit that still certify p with n samples; nothing when n is too small even for 0.
std::optional<std::uint64_t> allowed_over(double p, std::uint64_t n, double confidence = 0.99);

/// Integrated autocorrelation time (≥ 1) of a series in time order: n / this is the number of independent samples.
double autocorrelation_time(std::span<const double> series);

/// Lag-1 autocorrelation in [−1, 1]; 0 for fewer than 3 values or no variance.
double lag1_autocorrelation(std::span<const double> series);

/// Two-sided Student's t quantile (confidence .95, 9 degrees of freedom → 2.262).
double student_t(double confidence, double degrees_of_freedom);

/// Mean and its interval from equal blocks, merged in pairs until their lag-1 autocorrelation is below .2 (never
/// below 10 blocks; nothing for fewer than 10).
struct BlockMean {
    double mean = 0;
    Interval ci95;
    std::size_t blocks = 0;

    bool operator==(const BlockMean&) const = default;
};
std::optional<BlockMean> block_mean(std::span<const double> blocks);

/// Percentile interval of time-correlated values by a moving-block bootstrap: `blocks` are the values of consecutive
/// time blocks. Deterministic for a seed. Nothing for fewer than 10 blocks with values.
std::optional<Interval> block_bootstrap_interval(const std::vector<std::vector<double>>& blocks, double p,
                                                 std::uint64_t seed, double confidence = 0.95);

}  // namespace paretoken
