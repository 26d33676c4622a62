#pragma once
// Draws how a run went over time: charts of the series in run.json, which mostly have one value per second. A
// long series is drawn with fewer points. Pure.
#include <cstddef>
#include <vector>

#include "core/result/result.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The most points that a page draws of a series. A longer series is drawn as means over equal parts of its
/// time.
inline constexpr std::size_t kMostCoursePoints = 120;

/// The most runs whose course a page shows.
inline constexpr std::size_t kMostCourses = 16;

/// The series with at most `most` values: its time is cut into parts of equal length, and each part gives the
/// mean of its values at the mean of their times. A series of at most `most` values stays as it is.
Series thinned(const Series& series, std::size_t most);

/// The charts of one run: requests in flight, tokens per second, times to first token, requests per second,
/// failures if there were any, and the values that the server and a power meter reported. There is no chart
/// for a series that the run does not have.
std::vector<Picture> course_of(const RunResult& run);

/// The charts of the runs that have series, in the order of the report. If more than kMostCourses runs have
/// series, runs on the front over all configurations are chosen first, then runs on the front of their own
/// configuration.
std::vector<RunCourse> courses_of(const std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
