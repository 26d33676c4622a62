#pragma once
// Decides whether requests have become slower or faster than a reference. It compares geometric means of a
// few requests with those of the reference, by Welch's interval on logarithms. Pure.
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/statistics.h"
#include "core/units.h"

namespace paretoken::experiments {

struct Drift {
    double ratio = 1;  ///< geometric mean of now ÷ geometric mean of the reference
    Interval ci95;
    std::uint64_t n = 0;  ///< number of values of now
    /// Whether the whole interval lies above 1.1 or below 1 / 1.1.
    bool drifted = false;

    bool operator==(const Drift&) const = default;
};

/// Compares two sets of values, given as the moments of their natural logarithms. Returns nothing for fewer
/// than two values on a side.
std::optional<Drift> drift_between(const Moments& reference, const Moments& now);

/// Follows one quantity through the intervals of a watch. If no reference is given, it consists of the first
/// intervals that together have at least kReferenceValues values.
class DriftTracker {
  public:
    static constexpr std::uint64_t kReferenceValues = 20;
    /// The last interval is combined with earlier ones until there are this many values; two are enough for
    /// a result.
    static constexpr std::uint64_t kFewestValues = 8;
    static constexpr std::size_t kMostIntervals = 5;  ///< most intervals that are combined, even if these
                                                      ///< have fewer values

    explicit DriftTracker(std::optional<Moments> reference) : reference_(reference) {}

    /// Adds the values of the next interval. If an interval has more than 1000 values, an evenly spaced part
    /// of them, at most 1000, is kept. Of these, values that are not above 0 or not finite are left out.
    /// Returns the comparison of the latest intervals, combined as described at kFewestValues, with the
    /// reference. If this interval has no values, the result is based on earlier intervals only. Returns
    /// nothing for the intervals that form the reference, and if the combined intervals have fewer than two
    /// values.
    std::optional<Drift> add(std::span<const double> values);

    /// Returns the moments of the logarithms of the values above 0.
    static Moments logarithmic(std::span<const double> values);

  private:
    std::optional<Moments> reference_;
    RunningMoments gathered_;  ///< moments of the reference so far
    std::deque<std::vector<double>> recent_;
};

}  // namespace paretoken::experiments
