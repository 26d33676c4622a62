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

/// A quantity over time, as means over up to kMostParts parts of the run: equal groups of requests, or equal
/// intervals of time.
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
    /// The time in which the shift happened: from the beginning of the last part before the shift to the end
    /// of the first part after it. The exact moment is unknown, so a steady window must not include this
    /// time. If the first part after the shift is also the last part of the series, the time ends where that
    /// part begins. The change that `text` states is the difference of the means before and after the shift,
    /// which include these two parts. Absent if the quantity drifted over the whole time.
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
