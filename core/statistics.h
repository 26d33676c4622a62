#pragma once
// Statistics of samples. A parameter named `sorted` must be ascending. A failed request is +infinity.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// Returns a percentile of type 7 (linear interpolation; Hyndman and Fan 1996). `sorted` is ascending and not
/// empty, p in [0, 1]. The result is +infinity if one of the values that are interpolated is.
double percentile(std::span<const double> sorted, double p);

/// The position of a percentile between two neighbouring order statistics.
struct RankPosition {
    std::uint64_t rank = 0;  ///< rank of the lower neighbour, from 0
    double fraction = 0;     ///< share of the way to the upper one
};
/// Returns the position of percentile p (type 7, Hyndman and Fan 1996) among n values, at least one.
RankPosition position_of(double p, std::uint64_t n);

/// Returns the order-statistic (binomial) interval of a percentile of independent values; nothing when n is
/// too small to bound it on both sides. An end among failures is +infinity.
std::optional<Interval> percentile_interval(std::span<const double> sorted, double p,
                                            double confidence = 0.95);

struct Moments {
    std::uint64_t n = 0;
    double mean = 0;
    double standard_deviation = 0;  ///< n − 1 in the divisor; 0 for n < 2

    bool operator==(const Moments&) const = default;
};
/// Returns the moments of the finite values.
Moments moments_of(std::span<const double> values);

/// Computes the moments of the finite values of a stream, `weight` equal values at a time; n is the total
/// weight (Welford 1962; weights: West 1979).
class RunningMoments {
  public:
    void add(double value, std::uint64_t weight = 1);
    Moments result() const;

  private:
    Moments moments_;
    double squares_ = 0;  ///< Σ (value − mean)²
};

/// Returns the fewest independent samples that show with this confidence that percentile p meets a limit that
/// `over` of them exceed (MLPerf's early-stopping rule). At 99 %: p = .90 needs 44, p = .99 needs 459.
std::uint64_t samples_to_certify(double p, std::uint64_t over = 0, double confidence = 0.99);

/// Returns the most samples over the limit with which n still certify p; nothing if n is too small.
std::optional<std::uint64_t> allowed_over(double p, std::uint64_t n, double confidence = 0.99);

/// Returns the smallest number of samples over a limit with which n samples show that percentile p does not
/// meet the limit; nothing when even n samples over it would not show that.
std::optional<std::uint64_t> refuting_over(double p, std::uint64_t n, double confidence = 0.99);

/// Returns the 95 % confidence interval of a share that was found in `n` independent trials (Wilson 1927).
Interval wilson_interval(double share, double n);

/// Returns the share of a beta distribution that lies below `value`; a and b above 0, value in [0, 1].
double beta_share(double value, double a, double b);

/// Returns the value below which the share `probability` of a beta distribution lies; a and b above 0.
double beta_quantile(double probability, double a, double b);

/// Returns the lag-1 autocorrelation in [−1, 1]; 0 for fewer than 3 values or no variance.
double lag1_autocorrelation(std::span<const double> series);

/// Returns the two-sided quantile of Student's t (confidence .95, 9 degrees of freedom → 2.262).
double student_t(double confidence, double degrees_of_freedom);

/// Returns the two-sided significance of a value of Student's t.
double student_t_p_value(double t, double degrees_of_freedom);

/// A least-squares line through equally spaced values, with the two-sided significance of its slope, of which
/// autocorrelated residuals (lag-1 r) leave the share (1 − r)/(1 + r) of the evidence.
struct Trend {
    double change = 0;     ///< fitted last value − fitted first value
    double p_value = 1;    ///< probability of such a slope by chance
    double statistic = 0;  ///< Student's t of the slope
    double squares = 0;    ///< sum of the squared residuals

    bool operator==(const Trend&) const = default;
};
/// Fits the trend; there is none (p_value 1) for fewer than 5 values.
Trend trend_of(std::span<const double> series);

/// The most likely shift of a series' level. Its position is the one that leaves the smallest squared
/// residuals about the means before and after. Its significance is that of Pettitt's rank test for one change
/// point (Pettitt 1979, approximate). Autocorrelated residuals reduce the evidence, as in trend_of().
struct LevelShift {
    std::size_t at = 0;    ///< index of the first value after the shift
    double change = 0;     ///< mean after − mean before
    double p_value = 1;    ///< probability of such a shift by chance
    double statistic = 0;  ///< Pettitt's K
    double squares = 0;    ///< sum of the squared residuals about the two means

    bool operator==(const LevelShift&) const = default;
};
/// Finds the shift; there is none (p_value 1) for fewer than 5 values or values that are all equal.
LevelShift level_shift_of(std::span<const double> series);

/// Returns the two-sided significance of the difference between two samples by Mann and Whitney's rank sum
/// test (1947; normal approximation with corrections for ties and continuity). It is 1 when a sample is empty
/// or all values are equal. Values may be infinite.
double rank_sum_p_value(std::span<const double> a, std::span<const double> b);

/// Returns the number of values to cut from the start of a series: the multiple of 5, up to half of it, for
/// which the standard error of the mean of the others is smallest (MSER-5: White, Cobb and Spratt 2000).
std::size_t start_to_cut(std::span<const double> series);

}  // namespace paretoken
