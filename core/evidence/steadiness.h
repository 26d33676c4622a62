#pragma once
// Tests whether a quantity was steady over an interval of a run. Every series has two tests: one for a trend
// and one for a shift of its level. Both allow for autocorrelated values.
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken {

struct SteadyTest {
    std::string series;    ///< e.g. "ttft"
    std::string test;      ///< "trend" (Student's t of the slope) or "pettitt" (a shift of the level)
    double statistic = 0;  ///< Student's t, or Pettitt's K
    double p = 1;  ///< probability of such a statistic for a steady series; of a trend in order, at most .004
    /// The change as share of the mean: the rise of the fitted line from the first value to the last, or the
    /// mean after the shift less the mean before it.
    double change = 0;

    bool operator==(const SteadyTest&) const = default;
};

/// A quantity over time, as means over up to kMostParts groups of requests or intervals of time.
struct Course {
    static constexpr std::size_t kMostParts = 100;

    std::string series;  ///< e.g. "ttft"
    std::string title;   ///< subject of a sentence, e.g. "the time to first token"
    std::vector<double> means;
    std::vector<TimePoint> begins;  ///< begin of each group or interval
    double least_change = 0;        ///< an absolute change below this does not matter
};

/// A change that is beyond chance and large enough to matter.
struct Unsteady {
    std::string text;  ///< e.g. "the time to first token rose by 40 % of its mean"
    /// The time in which the shift happened, which a steady window must not include: from the last part
    /// before it to the end of the first part after it, or to its beginning if that is the last of the
    /// series. Absent if the quantity drifted over the whole time.
    std::optional<TimeSpan> shift;
    double p = 1;  ///< p-value of the test that found the change
};

/// The results of both tests of one series, and the change that they found. `change` is absent if the
/// series is steady. A constant series and one of fewer than 5 values count as steady.
struct SteadinessOf {
    std::vector<SteadyTest> tests;
    std::optional<Unsteady> change;
};

/// Tests a course for a trend and for a shift. If both count, the one that leaves the smaller squared
/// residuals is reported. A change counts only if it exceeds Course::least_change.
SteadinessOf steadiness_of(const Course& course);

}  // namespace paretoken
