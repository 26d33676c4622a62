#pragma once
// Compares two sets of runs that were not measured in pairs. Runs of one day on one host form a session;
// errors include the variation within sessions and between them. Values are logarithms, higher is worse.
// Runs that did the same work are compared with each other, so that the effect of the work cancels.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/evidence/sequential.h"

namespace paretoken {

/// The value of one run. Runs with equal `work` had the same requests; it is 0 for all runs whose work is not
/// known, or is the same.
struct RunValue {
    RunValue(double value_of_run, std::uint64_t its_work = 0) : value(value_of_run), work(its_work) {}

    double value;
    std::uint64_t work;
};

using Session = std::vector<RunValue>;

/// An estimated variance, and the degrees of freedom of the estimate.
struct Variance {
    double value = 0;
    double degrees_of_freedom = 1;

    bool operator==(const Variance&) const = default;
};

/// Returns the variance between sessions: the variance of the sessions' means without the effects of the
/// work, less the part that the variation within the sessions explains if a session has several runs. The
/// work is not considered if it does not connect all sessions. Nothing for fewer than 3 sessions.
std::optional<Variance> variance_between(std::span<const Session> sessions);

/// Returns `measured` combined with an assumed standard deviation, which weighs as much as 8 degrees of
/// freedom. The assumption is taken as certain: only the measured part has an error of its own.
Variance with_assumed(const std::optional<Variance>& measured, double assumed_deviation);

/// The difference between two sets and the parts of its error.
struct SetDifference {
    double mean = 0;     ///< mean of the candidate − mean of the baseline, at equal work
    Variance baseline;   ///< variance of the baseline's mean, from the variation within its sessions
    Variance candidate;  ///< variance of one run of the candidate
    std::uint64_t candidate_runs = 0;
    std::uint64_t works = 1;       ///< number of the candidate's works
    std::uint64_t works_left = 0;  ///< number of other works of the baseline, which further runs would repeat
    /// The number of times that the variance between sessions is in the variance of `mean`: 2 for two sets of
    /// one session each, less if the baseline has several, and 0 if all runs are of one session.
    double sessions = 0;

    bool operator==(const SetDifference&) const = default;
};

/// Returns the difference by least squares: each value is the sum of an effect of its session, one of its
/// work, and noise. The work is not considered if that leaves fewer than 2 degrees of freedom to the noise.
/// Each side has at least 2 values; all are finite. `one_session`: whether all runs of both sides are of one
/// session.
SetDifference set_difference(std::span<const Session> baseline, const Session& candidate, bool one_session);

/// Returns the shift with its whole error for `runs` candidate runs, of which those that were not measured
/// repeat the baseline's works in turn; `between` sessions may be absent.
Shift shift_of(const SetDifference& difference, const std::optional<Variance>& between, std::uint64_t runs);

/// Returns the shift with the error that a fail must exceed: the larger one of that in shift_of() and that
/// with an assumed standard deviation between sessions. An assumption may prevent a fail, but not make one.
Shift cautious_shift(const SetDifference& difference, const std::optional<Variance>& between, double assumed,
                     std::uint64_t runs);

/// Returns the shift between two sets of at least 2 finite values of one session (Welch 1947).
Shift unpaired_shift(std::span<const double> baseline, std::span<const double> candidate);

}  // namespace paretoken
