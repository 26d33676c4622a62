#pragma once
// Whether a quantity held still over a stretch of a run. Two tests are made of every series: one for a trend
// and one for a shift of its level. Both allow for values that follow each other.
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// One test of one series over the window.
struct SteadyTest {
    std::string series;    ///< e.g. "ttft"
    std::string test;      ///< "trend" (Student's t of the slope) or "pettitt" (a shift of the level)
    double statistic = 0;  ///< Student's t, or Pettitt's K
    double p = 1;          ///< probability of such a statistic, had the series held still
    double change = 0;  ///< from the first to the last value, or from before to after; as a share of the mean

    bool operator==(const SteadyTest&) const = default;
};

/// A quantity over time: means over equal stretches of requests, or of time.
struct Course {
    static constexpr std::size_t kMostStretches = 100;

    std::string series;  ///< e.g. "ttft"
    std::string title;   ///< the subject of a sentence, e.g. "the time to first token"
    std::vector<double> means;
    std::vector<TimePoint> begins;  ///< of each stretch
    double least_change = 0;        ///< an absolute change below this does not matter
};

/// A change that is beyond chance and large enough to matter.
struct Unsteady {
    std::string text;  ///< e.g. "the time to first token rose by 40 %"
    /// The stretches between which the level shifted, which belong to neither level; nothing: a drift over
    /// all.
    std::optional<TimeSpan> shift;
    double p = 1;
};

/// The results of the tests of one series. Both tests are always reported; a constant or a very short series
/// holds still.
struct SteadinessOf {
    std::vector<SteadyTest> tests;
    std::optional<Unsteady> change;
};

/// A trend counts when its significance is below .005 and it changes the mean by more than 10 % over the
/// stretch, a shift when its significance is below .01 and it is more than 5 % of the mean; both must exceed
/// `least_change`. Where both count, the one that leaves the smaller residuals is told.
SteadinessOf steadiness_of(const Course& course);

}  // namespace paretoken
