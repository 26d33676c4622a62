#include "reports/pages/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/result/result.h"
#include "reports/document/table.h"
#include "reports/model/answer.h"
#include "reports/model/course.h"
#include "reports/pages/html.h"
#include "reports/pages/picture.h"

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
    const double most = *std::max_element(few.values.begin(), few.values.end());
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
           std::all_of(series.values.begin(), series.values.end(), [](double v) { return std::isfinite(v); });
}

/// The table of a run's series. It counts every value, also where a chart shows means.
Table table_of(const RunResult& run, bool with_blocks) {
    Table table{{{"Series", Align::left}, {"Unit", Align::left}, {"least"}, {"mean"}, {"most"}}, {}};
    if (with_blocks) table.columns.push_back({"over the run", Align::left});
    for (const Series& series : run.series) {
        if (!has_values(series)) continue;
        const auto [least, most] = std::minmax_element(series.values.begin(), series.values.end());
        const double mean = std::accumulate(series.values.begin(), series.values.end(), 0.0) /
                            static_cast<double>(series.values.size());
        table.rows.push_back(
            {series.name, series.unit, significant(*least), significant(mean), significant(*most)});
        if (with_blocks) table.rows.back().push_back(blocks_of(series));
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

std::string choice_of(const ReportModel& model, std::size_t shown) {
    if (model.courses.size() < 2) return "";
    std::string options;
    for (std::size_t i = 0; i < model.courses.size(); ++i)
        options += fmt::format("<option value=\"{}\"{}>{}</option>\n", i, i == shown ? " selected" : "",
                               html_escaped(name_of(model, model.courses[i])));
    return "<p class=\"chooser\"><label for=\"course-run\">Run</label> <select id=\"course-run\">\n" +
           options + "</select></p>\n";
}

}  // namespace

std::string course_section(const ReportModel& model) {
    if (model.courses.empty()) return "";
    const std::size_t shown = first_shown(model);
    std::string html =
        "<section aria-labelledby=\"course-title\">\n<h2 id=\"course-title\">How a run went</h2>\n<p "
        "class=\"lead\">Series over the time of a run. A longer run is drawn by means of equal stretches; "
        "the "
        "table counts every value.";
    if (const std::size_t all = count_runs(model); model.courses.size() < all)
        html +=
            fmt::format(" {} of {} runs, those on a front first: the run.json of each run has its series.",
                        grouped(model.courses.size()), grouped(all));
    html += "</p>\n" + choice_of(model, shown) + "<div class=\"pair course\" id=\"course-charts\"></div>\n";
    for (std::size_t i = 0; i < model.courses.size(); ++i)
        html += fmt::format("<div class=\"part\" data-course=\"{}\"><h3>{}</h3>\n{}</div>\n", i,
                            html_escaped(name_of(model, model.courses[i])),
                            html_of(table_of(point_of(model, model.courses[i]).result, false)));
    return html + "</section>\n";
}

std::string course_markdown(const ReportModel& model) {
    if (model.courses.size() != 1 || count_runs(model) != 1) return "";
    return fmt::format("## How the run went\n\n{}\n",
                       markdown_of(table_of(point_of(model, model.courses.front()).result, true)));
}

}  // namespace paretoken::reports
