#pragma once
// Makes charts of the time series in a run.json. Most series have one value per second. A long series is
// drawn with fewer points. The functions are pure.
#include <cstddef>
#include <vector>

#include "core/result/result.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The largest number of points that a page draws for one series. A series with more values is drawn as the
/// means of equal parts of its time.
inline constexpr std::size_t kMostCoursePoints = 120;

inline constexpr std::size_t kMostCourses = 16;

/// The series with at most `most` values. The time of a longer series is divided into parts of equal length,
/// which is a whole number of steps between values. Each part that has values gives one point, at the mean of
/// their times and with the mean of the values. The series is unchanged if it has at most `most` values, or
/// if `most` is 0.
Series thinned(const Series& series, std::size_t most);

/// The charts of one run: requests in flight, output tokens per second, the median time to first token of
/// each second, requests per second, failures if there were any, use of the KV cache, power, and one chart
/// for each further series of the run. There is no chart for a series that the run does not have.
std::vector<Picture> course_of(const RunResult& run);

/// The charts of the runs that have series, in the order of the report. If more than kMostCourses runs have
/// series, kMostCourses of them are chosen: first runs on the front over all configurations, then runs on the
/// front of their own configuration, then other runs.
std::vector<RunCourse> courses_of(const std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
