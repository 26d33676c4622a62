#pragma once
// Decides whether an interval's requests became slower or faster than a reference. The unit of evidence is an
// interval, because requests of one interval queue together and resemble each other.
#include <optional>
#include <span>

#include "core/statistics.h"
#include "core/units.h"

namespace paretoken::experiments {

struct Drift {
    double ratio = 1;     ///< geometric mean of the interval's values ÷ that of the reference
    Interval ci95;        ///< interval of the ratio that an equal server's next interval keeps to with 95 %
    std::uint64_t n = 0;  ///< number of the interval's values
    /// Whether the whole 99 % interval lies above 1.1 or below 1 / 1.1, in this interval and the one before.
    bool drifted = false;

    bool operator==(const Drift&) const = default;
};

/// What an interval is compared with: the means of the natural logarithms of the values of several intervals
/// or parts of a run, and the mean variance of the logarithms within these.
struct DriftReference {
    Moments means;
    double variance_within = 0;
};

/// Makes a reference of a run's values in their order, in ten equal parts, or parts of two values below 20,
/// without those that are not finite and above 0; nothing for fewer than four.
std::optional<DriftReference> drift_reference(std::span<const double> values);

/// Follows one quantity through the intervals of a watch. If no reference is given, the first
/// kReferenceIntervals intervals that have values form it.
class DriftTracker {
  public:
    static constexpr std::uint64_t kReferenceIntervals = 10;

    explicit DriftTracker(std::optional<DriftReference> reference) : reference_(reference) {}

    /// Compares the next interval with the reference, without values that are not finite and above 0; nothing
    /// for an interval of the reference, and for one without values.
    std::optional<Drift> add(std::span<const double> values);

  private:
    std::optional<DriftReference> reference_;
    RunningMoments gathered_;       ///< means of the reference's intervals so far
    double gathered_variance_ = 0;  ///< sum of the variances within them
    bool was_beyond_ = false;       ///< whether the interval before lay beyond the limits
};

}  // namespace paretoken::experiments
