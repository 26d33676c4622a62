#pragma once
// Decides between two sides by pairs of runs, with looks and error rates that are fixed before the first
// pair. A shift is a mean logarithm of candidate ÷ baseline, positive if the candidate is worse. Every
// look spends a part of the allowed errors, and the parts add up to at most the whole, so that
// deciding early makes no more mistakes than deciding at the end. Pure.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// A number of pairs after which a decision may be made, and the error probabilities allowed there.
struct Look {
    std::uint64_t pairs = 0;
    double alpha = 0;  ///< probability of a false fail, over all metrics
    double beta = 0;   ///< probability of a false pass, of each metric

    bool operator==(const Look&) const = default;
};

/// Returns looks at 3, 4, 6, 8, 12, 16, 24, 32 … pairs up to `most_pairs`, which is always the last one. The
/// error spent until a look is the whole times (pairs ÷ most_pairs)². `most_pairs` is at least 3.
std::vector<Look> planned_looks(std::uint64_t most_pairs, double alpha, double beta);

/// A mean shift and its uncertainty.
struct Shift {
    double mean = 0;
    double standard_error = 0;
    double degrees_of_freedom = 1;

    bool operator==(const Shift&) const = default;
};

/// Returns the shift between the sides of interleaved pairs, from their log ratios; at least 2 finite values.
Shift paired_shift(std::span<const double> log_ratios);

/// Returns the shift between two sets of runs that were not interleaved, from logarithms of their values
/// (Welch 1947); at least 2 of each.
Shift unpaired_shift(std::span<const double> baseline, std::span<const double> candidate);

/// Returns the probability of a measured shift so far above `limit` if the true one is at the limit. A small
/// value means that the true shift is above.
double p_above(const Shift& shift, double limit);

/// Returns the probability of a measured shift so far below `limit` if the true one is at the limit.
double p_below(const Shift& shift, double limit);

/// Returns the upper bound of the true shift with error probability `error`. Infinite for an error of 0.
double upper_bound(const Shift& shift, double error);

/// Returns the two-sided interval of a shift, for a single look.
Interval interval_of(const Shift& shift, double confidence = 0.95);

/// Returns which of several hypotheses are rejected, so that the probability of rejecting any true one is at
/// most `alpha` under any dependence between them (Holm 1979).
std::vector<bool> rejected_by_holm(std::span<const double> p_values, double alpha);

/// The error probabilities of one metric's decision.
struct Errors {
    double fail = 0.01;
    double pass = 0.05;
};

/// Returns the smallest true shift above `limit` that data like these find in 80 % of cases.
double detectable_shift(const Shift& shift, double limit, const Errors& errors);

/// Returns the fewest pairs, up to `most`, after which such a shift would be on one side of `limit`, if its
/// mean and its spread stay the same; nothing when not even `most` suffice. `pairs`: the number it was
/// measured from.
std::optional<std::uint64_t> pairs_to_decide(const Shift& shift, std::uint64_t pairs, double limit,
                                             const Errors& errors, std::uint64_t most = 1000);

/// Failures among requests.
struct Failures {
    std::uint64_t failed = 0;
    std::uint64_t requests = 0;

    bool operator==(const Failures&) const = default;
    double share() const;
};

/// Returns the probability of so many or more failures of the candidate if both sides fail equally often
/// (Fisher's exact test, one-sided).
double p_fails_more(const Failures& baseline, const Failures& candidate);

/// Returns the upper bound of the true share of failures with error probability `error` (Clopper and Pearson
/// 1934); 1 without requests.
double share_upper_bound(const Failures& failures, double error);

/// A change over time that is robust against a few outliers.
struct RobustTrend {
    double change = 0;   ///< change from the first value to the last along the median slope (Theil and Sen)
    double p_value = 1;  ///< probability of such an order by chance (Mann and Kendall)

    bool operator==(const RobustTrend&) const = default;
};
/// Finds the trend; there is none (p_value 1) for fewer than 6 values, which cannot prove one.
RobustTrend robust_trend(std::span<const double> series);

/// Returns the two-sided significance of pairs that changed in opposite directions (McNemar's exact test).
double mcnemar_p_value(std::uint64_t better, std::uint64_t worse);

}  // namespace paretoken
