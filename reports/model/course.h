#pragma once
// The course of runs over time, second by second: charts with few points of the series in run.json. Pure.
#include <cstddef>
#include <vector>

#include "core/result/result.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The most points that a page draws of a series. A longer series is drawn as the means of stretches of equal
/// length.
inline constexpr std::size_t kMostCoursePoints = 120;

/// The most runs whose course a page shows.
inline constexpr std::size_t kMostCourses = 16;

/// The means of a series over at most `most` stretches of equal length, each at the mean time of its values.
/// A series of at most `most` values stays as it is.
Series thinned(const Series& series, std::size_t most);

/// The charts of one run: requests in flight, tokens per second, times to first token, failures if there were
/// any, and the values that the server and a power meter reported during the run.
std::vector<Picture> course_of(const RunResult& run);

/// The courses of the runs that have series, in the order of the report. If more than kMostCourses runs have
/// series, those on a front are preferred.
std::vector<RunCourse> courses_of(const std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
