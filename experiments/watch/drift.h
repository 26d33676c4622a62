#pragma once
// Whether requests have become slower or faster than a reference: geometric means of a few requests against
// those of the reference, by Welch's interval on logarithms. Pure.
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/statistics.h"
#include "core/units.h"

namespace paretoken::experiments {

struct Drift {
    double ratio = 1;  ///< geometric mean of now ÷ that of the reference
    Interval ci95;
    std::uint64_t n = 0;  ///< values of now
    /// The whole interval lies beyond a change by a tenth, up or down.
    bool drifted = false;

    bool operator==(const Drift&) const = default;
};

/// Moments of logarithms. Nothing for fewer than two values on a side.
std::optional<Drift> drift_between(const Moments& reference, const Moments& now);

/// Follows one quantity through the intervals of a watch. The reference is given, or is what the first
/// intervals with at least kReferenceValues values come to.
class DriftTracker {
  public:
    static constexpr std::uint64_t kReferenceValues = 20;
    static constexpr std::uint64_t kFewestValues =
        8;                                            ///< earlier intervals are added until there are so many
    static constexpr std::size_t kMostIntervals = 5;  ///< that are taken together

    explicit DriftTracker(std::optional<Moments> reference) : reference_(reference) {}

    /// The values of the next interval; those that are not above 0 are left out. Nothing while there is no
    /// reference or too few values.
    std::optional<Drift> add(std::span<const double> values);

    /// Moments of the logarithms of what is above 0.
    static Moments logarithmic(std::span<const double> values);

  private:
    std::optional<Moments> reference_;
    RunningMoments gathered_;  ///< for the reference
    std::deque<std::vector<double>> recent_;
};

}  // namespace paretoken::experiments
