#pragma once
// Deciding between two sides by pairs of runs, with looks and error rates that are fixed before the first
// pair. A shift is a mean logarithm of candidate ÷ baseline, positive where the candidate is worse. Every
// look spends a part of the errors that it may make, and the parts add up to no more than the whole, so that
// deciding early makes no more mistakes than deciding at the end. Pure.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// Pairs after which a decision may be made, and the errors that it may make there.
struct Look {
    std::uint64_t pairs = 0;
    double alpha = 0;  ///< probability of a false fail, over all metrics
    double beta = 0;   ///< probability of a false pass, of each metric

    bool operator==(const Look&) const = default;
};

/// Looks at 3, 4, 6, 8, 12, 16, 24, 32 … pairs up to `most_pairs`, which is always the last one. The error
/// spent until a look is the whole times (pairs ÷ most_pairs)². `most_pairs` at least 3.
std::vector<Look> planned_looks(std::uint64_t most_pairs, double alpha, double beta);

/// A mean shift and how well it is known.
struct Shift {
    double mean = 0;
    double standard_error = 0;
    double degrees_of_freedom = 1;

    bool operator==(const Shift&) const = default;
};

/// The shift between the sides of interleaved pairs, from their log ratios; at least 2 finite values.
Shift paired_shift(std::span<const double> log_ratios);

/// The shift between two sets of runs that were not interleaved, from logarithms of their values (Welch
/// 1947); at least 2 of each.
Shift unpaired_shift(std::span<const double> baseline, std::span<const double> candidate);

/// Probability of a shift so far above `limit`, were the true one at the limit. Small: it is above.
double p_above(const Shift& shift, double limit);

/// The probability, were the true shift at the limit, of a measured shift so far below it.
double p_below(const Shift& shift, double limit);

/// The value that the true shift is below, but for an error of `error`. Infinite for an error of 0.
double upper_bound(const Shift& shift, double error);

/// Two-sided interval of a shift that is looked at once.
Interval interval_of(const Shift& shift, double confidence = 0.95);

/// Which of several hypotheses are rejected so that the probability of rejecting any true one is at most
/// `alpha`, however they depend on each other (Holm 1979).
std::vector<bool> rejected_by_holm(std::span<const double> p_values, double alpha);

/// The errors that one metric's decision may make.
struct Errors {
    double fail = 0.01;
    double pass = 0.05;
};

/// The smallest true shift above `limit` that data like these would have found in 80 % of cases.
double detectable_shift(const Shift& shift, double limit, const Errors& errors);

/// The fewest pairs after which such a shift would be on one side of `limit`, if its mean and its spread stay
/// as they are, up to `most`. Nothing when not even `most` would do. `pairs` is how many it is known from.
std::optional<std::uint64_t> pairs_to_decide(const Shift& shift, std::uint64_t pairs, double limit,
                                             const Errors& errors, std::uint64_t most = 1000);

/// Failures among requests.
struct Failures {
    std::uint64_t failed = 0;
    std::uint64_t requests = 0;

    bool operator==(const Failures&) const = default;
    double share() const;
};

/// Probability of so many failures of the candidate or more, did both sides fail equally often (Fisher's
/// exact test, one-sided).
double p_fails_more(const Failures& baseline, const Failures& candidate);

/// The share that the true share of failures is below, but for an error of `error` (Clopper and Pearson
/// 1934). 1 without requests.
double share_upper_bound(const Failures& failures, double error);

/// A change over time that a few odd values neither make nor hide.
struct RobustTrend {
    double change = 0;   ///< from the first value to the last, along the median slope (Theil and Sen)
    double p_value = 1;  ///< probability of so much order, were there none (Mann and Kendall)

    bool operator==(const RobustTrend&) const = default;
};
/// No trend (p_value 1) for fewer than 6 values, which cannot show one beyond chance.
RobustTrend robust_trend(std::span<const double> series);

/// Two-sided significance of pairs that changed in opposite directions (McNemar's exact test).
double mcnemar_p_value(std::uint64_t better, std::uint64_t worse);

}  // namespace paretoken
