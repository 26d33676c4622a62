#pragma once
// How runs went, second by second: the series that run.json holds, as charts of few points. Pure.
#include <cstddef>
#include <vector>

#include "core/result/result.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// Points of a series on a page: a longer one is drawn by the means of stretches of equal length.
inline constexpr std::size_t kMostCoursePoints = 120;

/// Runs whose course a page shows.
inline constexpr std::size_t kMostCourses = 16;

/// Means over at most `most` stretches of equal length, each at the mean time of its values. A series that is
/// no longer than that stays as it is.
Series thinned(const Series& series, std::size_t most);

/// The charts of one run: requests in flight, tokens per second, times to first token, failures where there
/// were any, and what the server and a power meter said meanwhile.
std::vector<Picture> course_of(const RunResult& run);

/// The courses of the runs that have series, at most kMostCourses, with those on a front preferred; in the
/// order of the report.
std::vector<RunCourse> courses_of(const std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
