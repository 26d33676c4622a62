#include "reports/analysis/model/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/result/result.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kBlocks = 24;  // blocks per line

const ReportPoint& point_of(const ReportModel& model, const RunCourse& course) {
    return model.configurations[course.at.configuration].points[course.at.point];
}

/// A series as text: "▁▃█▅". Each block is the mean of a stretch; the scale begins at zero.
std::string blocks_of(const Series& series) {
    constexpr std::array<std::string_view, 8> kHeights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const Series few = thinned(series, kBlocks);
    const double most = *std::ranges::max_element(few.values);
    std::string text;
    for (const double value : few.values) {
        const double height = most > 0 && value > 0 ? value / most : 0;
        text += kHeights[std::min(kHeights.size() - 1,
                                  static_cast<std::size_t>(height * static_cast<double>(kHeights.size())))];
    }
    return text;
}

bool has_values(const Series& series) {
    return !series.values.empty() &&
           std::ranges::all_of(series.values, [](double v) { return std::isfinite(v); });
}

/// The number of values that are of whole seconds, or of as many as each value covers. The last value of the
/// requests' series may be of a part, whose rate may be far off.
std::size_t whole_seconds(const Series& series, const RunResult& run) {
    std::size_t count = series.values.size();
    if (series.source == "requests" && count > 1) {
        const double length_s = series.times_s[1] - series.times_s[0];
        while (count > 1 && series.times_s[count - 1] + length_s > run.window.run_s) --count;
    }
    return count;
}

/// The table of a run's series. It counts every value, also where a chart shows means.
Table series_table(const RunResult& run) {
    Table table{{{"Series", Align::left},
                 {"Unit", Align::left},
                 {"least"},
                 {"mean"},
                 {"most"},
                 {.title = "over the run", .align = Align::left, .text_only = true}},
                {}};
    for (const Series& series : run.series) {
        if (!has_values(series)) continue;
        const auto end = series.values.begin() + static_cast<std::ptrdiff_t>(whole_seconds(series, run));
        const auto [least, most] = std::minmax_element(series.values.begin(), end);
        const double mean = std::accumulate(series.values.begin(), end, 0.0) /
                            static_cast<double>(end - series.values.begin());
        table.rows.push_back({series.name, series.unit, significant(*least), significant(mean),
                              significant(*most), blocks_of(series)});
    }
    return table;
}

std::string name_of(const ReportModel& model, const RunCourse& course) {
    const Configuration& configuration = model.configurations[course.at.configuration];
    const std::string& load = point_of(model, course).load_label;
    if (model.configurations.size() < 2) return load;
    return fmt::format("{}, {}", load, configuration.name.empty() ? configuration.title : configuration.name);
}

/// The index of the run that is shown first: the run of the first answer whose course is on the page, or else
/// the first run.
std::size_t first_shown(const ReportModel& model) {
    for (const Configuration& configuration : model.configurations) {
        const ReportPoint* const answer = answer_point(configuration);
        for (std::size_t i = 0; i < model.courses.size(); ++i)
            if (&point_of(model, model.courses[i]) == answer) return i;
    }
    return 0;
}

std::size_t count_runs(const ReportModel& model) {
    std::size_t count = 0;
    for (const Configuration& configuration : model.configurations) count += configuration.points.size();
    return count;
}

Part course_part(const ReportModel& model, std::size_t index) {
    const RunCourse& course = model.courses[index];
    Charts charts;
    for (const Picture& picture : course.pictures)
        charts.items.push_back(
            {.id = fmt::format("course-{}-{}", index, picture.id), .picture = picture, .drawn_only = true});
    return {.title = name_of(model, course),
            .blocks = {{std::move(charts)}, {series_table(point_of(model, course).result)}}};
}

}  // namespace

std::vector<Section> course_sections(const ReportModel& model) {
    if (model.courses.empty()) return {};
    std::string lead = fmt::format(
        "The charts show the series of a run over time. Series of more than {} values are averaged over "
        "equal "
        "spans of time; the table uses every second.",
        kMostCoursePoints);
    if (const std::size_t all = count_runs(model); model.courses.size() < all)
        lead += fmt::format(
            " {} of {} runs are shown. Runs without series are left out, and if more than {} runs have "
            "series, runs on a front are preferred. The series of a run are in its run.json.",
            grouped(model.courses.size()), grouped(all), kMostCourses);
    Menu menu{.label = "Run", .shown = first_shown(model)};
    for (std::size_t i = 0; i < model.courses.size(); ++i) menu.options.push_back(course_part(model, i));
    return {{"course", "How a run went", {{Paragraph{std::move(lead)}}, {std::move(menu)}}}};
}

}  // namespace paretoken::reports
