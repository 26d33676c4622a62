#pragma once
// Makes charts of the time series in a run.json. A long series is drawn with fewer points.
#include <cstddef>
#include <vector>

#include "core/result/result.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The most points that a page draws for a series; longer ones become means of equal parts.
inline constexpr std::size_t kMostCoursePoints = 120;

inline constexpr std::size_t kMostCourses = 16;

/// The series with at most `most` values (0: unchanged). A longer one becomes the means over equal parts of a
/// whole number of steps, at the means of their times.
Series thinned(const Series& series, std::size_t most);

/// The charts of one run: in flight, output tokens/s, median TTFT, requests/s, failures, KV cache, power, and
/// one for each further series, as far as the run has them.
std::vector<Picture> course_of(const RunResult& run);

/// The charts of at most kMostCourses runs, in the report's order, those on a front first.
std::vector<RunCourse> courses_of(const std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
