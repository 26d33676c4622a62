#pragma once
// Statistics of samples: percentiles with their intervals, early-stopping certificates, autocorrelation,
// blocks. Samples are sorted ascending where a function says so; a failed request is +infinity.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// Type 7 (linear interpolation; Hyndman and Fan 1996). `sorted` ascending and not empty, p in [0, 1].
/// +infinity when either neighbour that carries weight is.
double percentile(std::span<const double> sorted, double p);

/// The position of a percentile between two neighbouring order statistics.
struct RankPosition {
    std::uint64_t rank = 0;  ///< of the lower neighbour, from 0
    double fraction = 0;     ///< of the way to the upper one
};
/// The position of percentile p (type 7, Hyndman and Fan 1996) among n values, at least one.
RankPosition position_of(double p, std::uint64_t n);

/// Order-statistic (binomial) confidence interval of a percentile of independent values
/// (core/evidence/evidence.h has those of requests, which are not); nothing when n is too small to bound it
/// on both sides. An end that falls among failures is +infinity.
std::optional<Interval> percentile_interval(std::span<const double> sorted, double p,
                                            double confidence = 0.95);

struct Moments {
    std::uint64_t n = 0;
    double mean = 0;
    double standard_deviation = 0;  ///< n − 1 in the divisor; 0 for n < 2

    bool operator==(const Moments&) const = default;
};
/// Over the finite values only.
Moments moments_of(std::span<const double> values);

/// Moments of a stream of values, `weight` equal values at a time; n is the total weight (Welford 1962;
/// weights: West 1979).
class RunningMoments {
  public:
    void add(double value, std::uint64_t weight = 1);
    Moments result() const;

  private:
    Moments moments_;
    double squares_ = 0;  ///< Σ (value − mean)²
};

/// MLPerf's early-stopping rule (d = 0, confidence c): the fewest independent samples that certify percentile
/// p when `over` of them exceed the limit. p .90 → 44 at 0 over; p .99 → 459 at 0 over, 662 at 1.
std::uint64_t samples_to_certify(double p, std::uint64_t over = 0, double confidence = 0.99);

/// The most samples over the limit that still certify p with n samples; nothing when n is too small even for
/// 0.
std::optional<std::uint64_t> allowed_over(double p, std::uint64_t n, double confidence = 0.99);

/// The fewest of n samples over the limit that refute percentile p with the same confidence; nothing when
/// even all of them would not.
std::optional<std::uint64_t> refuting_over(double p, std::uint64_t n, double confidence = 0.99);

/// The value below which a beta distribution's share `probability` lies; a and b above 0.
double beta_quantile(double probability, double a, double b);

/// Lag-1 autocorrelation in [−1, 1]; 0 for fewer than 3 values or no variance.
double lag1_autocorrelation(std::span<const double> series);

/// Two-sided Student's t quantile (confidence .95, 9 degrees of freedom → 2.262).
double student_t(double confidence, double degrees_of_freedom);

/// Two-sided significance of a value of Student's t.
double student_t_p_value(double t, double degrees_of_freedom);

/// A least-squares line through equally spaced values, with the two-sided significance of its slope;
/// residuals that follow each other (lag-1 autocorrelation r) leave (1 − r)/(1 + r) of the values as
/// evidence.
struct Trend {
    double change = 0;     ///< fitted last value − fitted first value
    double p_value = 1;    ///< probability of such a slope, were there none
    double statistic = 0;  ///< Student's t of the slope
    double squares = 0;    ///< sum of the squared residuals

    bool operator==(const Trend&) const = default;
};
/// No trend (p_value 1) for fewer than 5 values.
Trend trend_of(std::span<const double> series);

/// Finds the place where the level of a series most likely shifted, by Pettitt's rank test for one change
/// point (Pettitt 1979; its approximate significance). Residuals that follow each other leave fewer values as
/// evidence, as in trend_of.
struct LevelShift {
    std::size_t at = 0;    ///< the first value after the shift
    double change = 0;     ///< mean after − mean before
    double p_value = 1;    ///< probability of such a shift, were there none
    double statistic = 0;  ///< Pettitt's K
    double squares = 0;    ///< sum of the squared residuals about the two means

    bool operator==(const LevelShift&) const = default;
};
/// No shift (p_value 1) for fewer than 5 values or values that are all equal.
LevelShift level_shift_of(std::span<const double> series);

/// Two-sided significance of the difference between two samples by Mann's and Whitney's rank sum test (1947;
/// normal approximation with corrections for ties and continuity). 1 when a sample is empty or all values are
/// equal. Values may be infinite.
double rank_sum_p_value(std::span<const double> a, std::span<const double> b);

/// How many values at the start of a series differ from the rest: of the means of 5 values, as many are left
/// out as make the standard error of the mean of the others smallest (MSER-5: White, Cobb and Spratt 2000).
/// At most half of the series.
std::size_t start_to_cut(std::span<const double> series);

/// Mean and its interval from equal blocks, merged in pairs until their lag-1 autocorrelation is below .2
/// (never below 10 blocks; nothing for fewer than 10). Where merging ran out first, the interval is widened
/// by what is left.
struct BlockMean {
    double mean = 0;
    Interval ci95;
    std::size_t blocks = 0;

    bool operator==(const BlockMean&) const = default;
};
std::optional<BlockMean> block_mean(std::span<const double> blocks);

}  // namespace paretoken
