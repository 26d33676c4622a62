#pragma once
// Compares a candidate with a baseline by pairs of runs, with decisions only at looks. A shift is a mean
// logarithm of candidate ÷ baseline, positive if the candidate is worse.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// A number of pairs after which a decision may be made, with the error probabilities that it adds.
struct Look {
    std::uint64_t pairs = 0;
    double alpha = 0;  ///< probability of a false fail, over all metrics
    double beta = 0;   ///< probability of a false pass, of each metric

    bool operator==(const Look&) const = default;
};

/// Returns the looks after 3, 4, 6, 8, 12, 16, 24, 32 … pairs below `most_pairs` (at least 3), and after
/// `most_pairs`. Those up to n pairs spend `alpha` · (n ÷ most_pairs)² together, and as much of `beta`.
std::vector<Look> planned_looks(std::uint64_t most_pairs, double alpha, double beta);

struct Shift {
    double mean = 0;
    double standard_error = 0;
    double degrees_of_freedom = 1;
    /// Correlation of successive pairs by which the error is enlarged; 0 if it is not known.
    double correlation = 0;

    bool operator==(const Shift&) const = default;
};

/// Returns the shift of interleaved pairs from ln(candidate ÷ baseline), with the sign changed if higher
/// values are better; at least 2 values, all finite. From 8 on, the error allows for a correlation of
/// successive ones (AR(1): variance × (1 + ρ) ÷ (1 − ρ)).
Shift paired_shift(std::span<const double> log_ratios);

/// Returns the probability of a shift this far above `limit`, or farther, if the true shift is at the limit.
/// Without a standard error it is 0 for a mean above the limit, and otherwise 1.
double p_above(const Shift& shift, double limit);

/// The same for a shift this far below `limit`.
double p_below(const Shift& shift, double limit);

/// Returns what the true shift exceeds with at most the probability `error` (below a half; 0: infinity).
double upper_bound(const Shift& shift, double error);

/// Returns the two-sided confidence interval of a shift. It does not allow for several looks.
Interval interval_of(const Shift& shift, double confidence = 0.95);

/// Tests several hypotheses together (Holm 1979): element i tells whether the one with `p_values[i]` is
/// rejected. Any true one is rejected with a probability of at most `alpha`, under any dependence.
std::vector<bool> rejected_by_holm(std::span<const double> p_values, double alpha);

struct Errors {
    double fail = 0.01;  ///< probability of a false fail
    double pass = 0.05;  ///< probability of a false pass
};

/// Returns the smallest true shift that would be shown to be above `limit` (p_above() at most `errors.fail`,
/// which is below a half) with a probability of about 80 %. The mean of `shift` is not used.
double detectable_shift(const Shift& shift, double limit, const Errors& errors);

/// Returns the smallest number of pairs, from 2 to `most`, at which a single test would decide if mean and
/// deviation of the pairs of `shift` stay the same; nothing if `most` are not enough.
std::optional<std::uint64_t> pairs_to_decide(const Shift& shift, std::uint64_t pairs, double limit,
                                             const Errors& errors, std::uint64_t most = 1000);

struct Failures {
    std::uint64_t failed = 0;
    std::uint64_t requests = 0;

    bool operator==(const Failures&) const = default;
    double share() const;  ///< failed ÷ requests; 0 without requests
};

/// Returns the one-sided p-value of Fisher's exact test that the candidate fails more often.
double p_fails_more(const Failures& baseline, const Failures& candidate);

/// Returns the upper limit on the share of failures with the error `error` (Clopper and Pearson 1934).
double share_upper_bound(const Failures& failures, double error);

struct RobustTrend {
    double change = 0;   ///< change from the first value to the last along the median slope (Theil and Sen)
    double p_value = 1;  ///< two-sided probability of such an order by chance (Mann and Kendall)

    bool operator==(const RobustTrend&) const = default;
};
/// Finds the trend; none (p_value 1) for fewer than 6 values, which cannot show one at the 1 % level.
RobustTrend robust_trend(std::span<const double> series);

/// Returns the two-sided p-value of McNemar's exact test from the pairs that became better and worse.
double mcnemar_p_value(std::uint64_t better, std::uint64_t worse);

}  // namespace paretoken
