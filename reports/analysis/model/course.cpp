#include "reports/analysis/model/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/stable_sort.h"
#include "core/text/number_text.h"

namespace paretoken::reports {
namespace {

/// A chart and the series that it shows. A series that no row of this table names gets a chart of its own.
struct CourseChart {
    std::string_view id;
    std::string_view title;
    std::string_view y_title;
    double factor = 1;
    std::array<std::string_view, 4> series;  ///< names in run.json; an empty name ends the list
    std::array<std::string_view, 4> names;   ///< names that the chart shows
    bool only_if_any = false;                ///< whether it is left out if every value is 0
};

constexpr std::array kCharts{
    CourseChart{.id = "load",
                .title = "Requests in flight",
                .y_title = "requests",
                .series = {"in_flight", "running", "waiting", "live_jobs"},
                .names = {"by the client", "running, by the server", "waiting, by the server", "live jobs"}},
    CourseChart{.id = "tokens",
                .title = "Output tokens per second",
                .y_title = "tokens/s",
                .series = {"output_tokens_per_s"},
                .names = {"output tokens"}},
    CourseChart{.id = "ttft",
                .title = "Time to first token, median of each second",
                .y_title = "ms",
                .factor = 1e3,
                .series = {"ttft_p50_s"},
                .names = {"p50"}},
    CourseChart{.id = "requests",
                .title = "Requests per second",
                .y_title = "requests/s",
                .series = {"requests_per_s"},
                .names = {"ended"}},
    CourseChart{.id = "failed",
                .title = "Failed requests per second",
                .y_title = "requests/s",
                .series = {"failed"},
                .names = {"failed"},
                .only_if_any = true},
    CourseChart{.id = "kv",
                .title = "KV cache in use, by the server",
                .y_title = "%",
                .factor = 100,
                .series = {"kv_usage"},
                .names = {"KV cache"}},
    CourseChart{
        .id = "power", .title = "Power drawn", .y_title = "W", .series = {"power_w"}, .names = {"power"}}};

bool is_drawable(const Series& series) {
    return !series.values.empty() && series.values.size() == series.times_s.size();
}

PictureSeries drawn(const Series& series, std::string name, double factor) {
    PictureSeries result{.name = std::move(name), .style = "line"};
    const Series few = thinned(series, kMostCoursePoints);
    for (std::size_t i = 0; i < few.values.size(); ++i)
        result.points.push_back({.x = few.times_s[i], .y = factor * few.values[i], .valid = true});
    return result;
}

/// An empty chart of a run in which the ends of the measured window are marked.
Picture empty_picture(const RunResult& run, std::string id, std::string title, std::string y_title) {
    Picture picture{.id = std::move(id),
                    .title = std::move(title),
                    .x_title = "Seconds since the start",
                    .y_title = std::move(y_title),
                    .linear_x = true};
    const Window& window = run.window;
    if (window.begin_s > 0) picture.marks.push_back({"measured from", window.begin_s});
    if (window.end_s < window.run_s) picture.marks.push_back({"to", window.end_s});
    return picture;
}

/// Adds to the title how many seconds one point stands for, if the longest series was thinned.
void tell_thinning(Picture& picture, std::size_t most_values, double length_s) {
    if (most_values <= kMostCoursePoints) return;
    const auto values = static_cast<double>(most_values);
    const double stretch_s = std::ceil(values / kMostCoursePoints) * length_s / values;
    picture.title += fmt::format(", means of {} s", number_text(stretch_s));
}

}  // namespace

Series thinned(const Series& series, std::size_t most) {
    const std::size_t size = std::min(series.times_s.size(), series.values.size());
    if (size <= most || most == 0) return series;
    Series few{.name = series.name, .unit = series.unit, .source = series.source};
    const double begin = series.times_s.front();
    const double length = series.times_s[size - 1] - begin;
    // The width is a whole number of steps between values, so that evenly spaced values fall evenly into the
    // stretches.
    const double step = length / static_cast<double>(size - 1);
    const double width = step > 0 ? step * std::ceil(length / static_cast<double>(most) / step) : 0;
    std::size_t i = 0;
    for (std::size_t stretch = 1; stretch <= most && i < size; ++stretch) {
        const double end = begin + width * static_cast<double>(stretch);
        double time = 0;
        double value = 0;
        double count = 0;
        for (; i < size && (stretch == most || series.times_s[i] < end); ++i, ++count) {
            time += series.times_s[i];
            value += series.values[i];
        }
        if (count == 0) continue;
        few.times_s.push_back(time / count);
        few.values.push_back(value / count);
    }
    return few;
}

std::vector<Picture> course_of(const RunResult& run) {
    std::vector<Picture> pictures;
    std::vector<bool> used(run.series.size());
    const auto add = [&](Picture picture, std::size_t most_values) {
        tell_thinning(picture, most_values, run.window.run_s);
        pictures.push_back(std::move(picture));
    };
    for (const CourseChart& chart : kCharts) {
        Picture picture =
            empty_picture(run, std::string(chart.id), std::string(chart.title), std::string(chart.y_title));
        std::size_t most_values = 0;
        bool any = false;
        for (std::size_t place = 0; place < chart.series.size() && !chart.series[place].empty(); ++place)
            for (std::size_t i = 0; i < run.series.size(); ++i) {
                const Series& series = run.series[i];
                if (series.name != chart.series[place]) continue;
                used[i] = true;
                if (!is_drawable(series)) continue;
                any = any || std::ranges::any_of(series.values, [](double value) { return value != 0; });
                most_values = std::max(most_values, series.values.size());
                picture.series.push_back(drawn(series, std::string(chart.names[place]), chart.factor));
            }
        if (picture.series.empty() || (chart.only_if_any && !any)) continue;
        add(std::move(picture), most_values);
    }
    for (std::size_t i = 0; i < run.series.size(); ++i) {
        const Series& series = run.series[i];
        if (used[i] || !is_drawable(series)) continue;
        Picture picture = empty_picture(run, fmt::format("more-{}", i), series.name, series.unit);
        picture.series.push_back(drawn(series, series.source.empty() ? series.name : series.source, 1));
        add(std::move(picture), series.values.size());
    }
    return pictures;
}

std::vector<RunCourse> courses_of(const std::vector<Configuration>& configurations) {
    struct Candidate {
        int rank = 0;
        PointAt at;
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < configurations.size(); ++i)
        for (std::size_t k = 0; k < configurations[i].points.size(); ++k) {
            const ReportPoint& point = configurations[i].points[k];
            if (std::ranges::none_of(point.result.series, is_drawable)) continue;
            candidates.push_back({point.on_front ? 0 : point.on_own_front ? 1 : 2, {i, k}});
        }
    if (candidates.size() > kMostCourses) {
        sort_stably(candidates, {}, &Candidate::rank);
        candidates.resize(kMostCourses);
        std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
            return std::pair(a.at.configuration, a.at.point) < std::pair(b.at.configuration, b.at.point);
        });
    }
    std::vector<RunCourse> courses;
    for (const Candidate& one : candidates) {
        const ReportPoint& point = configurations[one.at.configuration].points[one.at.point];
        std::vector<Picture> pictures = course_of(point.result);
        if (!pictures.empty()) courses.push_back({one.at, std::move(pictures)});
    }
    return courses;
}

}  // namespace paretoken::reports
