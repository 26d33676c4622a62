#pragma once
// Decides whether requests have become slower or faster than a reference. It computes the ratio of the
// geometric mean of the latest values to that of the reference, with Welch's confidence interval on
// logarithms. Nothing here does I/O or reads a clock.
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/statistics.h"
#include "core/units.h"

namespace paretoken::experiments {

struct Drift {
    double ratio = 1;     ///< geometric mean of the latest values ÷ that of the reference
    Interval ci95;        ///< confidence interval of the ratio
    std::uint64_t n = 0;  ///< number of the latest values
    /// Whether the whole interval lies above 1.1 or below 1 / 1.1.
    bool drifted = false;

    bool operator==(const Drift&) const = default;
};

/// Compares two sets of values, given as the moments of their natural logarithms. Returns nothing for fewer
/// than two values on a side.
std::optional<Drift> drift_between(const Moments& reference, const Moments& now);

/// Follows one quantity through the intervals of a watch. If no reference is given, all values of the
/// first intervals form it, up to and including the interval that brings them to kReferenceValues values.
class DriftTracker {
  public:
    static constexpr std::uint64_t kReferenceValues = 20;
    /// The values of the latest interval are combined with those of earlier intervals, one by one, until
    /// there are at least this many values or kMostIntervals intervals. Two values are enough for a result.
    static constexpr std::uint64_t kFewestValues = 8;
    static constexpr std::size_t kMostIntervals = 5;  ///< most combined intervals, with the latest one

    explicit DriftTracker(std::optional<Moments> reference) : reference_(reference) {}

    /// Adds the values of the next interval, and compares the latest values with the reference. If an
    /// interval has more than 1000 values, only every second, third, … value is kept, so that at most 1000
    /// remain. Values that are not above 0 or not finite are then left out. If this interval has no values,
    /// the latest values are those of earlier intervals. Returns nothing for an interval that is part of the
    /// reference, and if there are fewer than two latest values.
    std::optional<Drift> add(std::span<const double> values);

    /// Returns the moments of the natural logarithms of those values that are finite and above 0.
    static Moments logarithmic(std::span<const double> values);

  private:
    std::optional<Moments> reference_;
    RunningMoments gathered_;  ///< moments of the reference so far
    std::deque<std::vector<double>> recent_;
};

}  // namespace paretoken::experiments
