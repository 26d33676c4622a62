#include "reports/analysis/model/course.h"

#include <gmock/gmock.h>

#include <numeric>

#include "reports/analysis/sections/sections.h"
#include "reports/files/json/report_json.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

Series series(std::string name, std::string unit, std::vector<double> values,
              std::string source = "requests") {
    Series made{.name = std::move(name),
                .unit = std::move(unit),
                .source = std::move(source),
                .times_s = {},
                .values = {}};
    for (std::size_t i = 0; i < values.size(); ++i) made.times_s.push_back(static_cast<double>(i));
    made.values = std::move(values);
    return made;
}

std::vector<std::string> ids_of(const std::vector<Picture>& pictures) {
    std::vector<std::string> ids;
    ids.reserve(pictures.size());
    for (const Picture& picture : pictures) ids.push_back(picture.id);
    return ids;
}

RunResult run_with(std::vector<Series> all) {
    RunResult run = sample::run(4);
    run.series = std::move(all);
    return run;
}

std::vector<Configuration> configurations_of(std::size_t count) {
    Configuration configuration{};
    configuration.title = "m on h";
    for (std::size_t i = 0; i < count; ++i) {
        ReportPoint point{};
        point.load_label = "c=" + std::to_string(i + 1);
        point.load = static_cast<double>(i + 1);
        point.result = run_with({series("in_flight", "requests", {1, 2, 3})});
        configuration.points.push_back(std::move(point));
    }
    return {configuration};
}

TEST(ThinnedSeries, KeepsTheMeanAndTheEndsAndHasNoMorePointsThanAsked) {
    std::vector<double> values(4832);
    std::iota(values.begin(), values.end(), 0);
    const Series whole = series("x", "u", values);
    const Series few = thinned(whole, 120);
    ASSERT_THAT(few.values.size(), AllOf(Ge(100U), Le(120U)));
    EXPECT_EQ(few.name, "x");
    const double mean =
        std::accumulate(few.values.begin(), few.values.end(), 0.0) / static_cast<double>(few.values.size());
    EXPECT_NEAR(mean, 4831 / 2.0, 41);
    EXPECT_THAT(few.times_s, Each(AllOf(Ge(0), Le(4831))));
    EXPECT_TRUE(std::is_sorted(few.times_s.begin(), few.times_s.end()));
    EXPECT_LT(few.times_s.front(), 41);
    EXPECT_GT(few.times_s.back(), 4831 - 41);
    EXPECT_EQ(thinned(few, 120), few) << "what is short enough stays";
}

TEST(ThinnedSeries, OfEvenlySpacedValuesHasAsManyOfThemInEveryPoint) {
    std::vector<double> values(190);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 8 : 24;
    const Series few = thinned(series("x", "u", values), 120);
    EXPECT_EQ(few.values.size(), 95U);
    EXPECT_THAT(few.values, Each(16)) << "no pattern comes from the cut";
}

TEST(ThinnedSeries, LeavesOutStretchesWithoutValues) {
    Series gap = series("x", "u", std::vector<double>(300, 1));
    for (std::size_t i = 150; i < 300; ++i) gap.times_s[i] += 1000;
    const Series few = thinned(gap, 100);
    EXPECT_LT(few.values.size(), 40U);
    EXPECT_THAT(few.values, Each(1));
    EXPECT_EQ(thinned(Series{}, 10), Series{});
    Series same = series("x", "u", std::vector<double>(300, 7));
    for (double& time : same.times_s) time = 3;
    EXPECT_THAT(thinned(same, 10).values, ElementsAre(7)) << "all at one moment";
}

TEST(Course, DrawsTheClientsAndTheServersAccountTogether) {
    const RunResult run = run_with(
        {series("requests_per_s", "req/s", {3, 4}), series("output_tokens_per_s", "tok/s", {30, 40}),
         series("in_flight", "requests", {8, 8}), series("ttft_p50_s", "s", {.1, .2}),
         series("failed", "requests", {0, 0}), series("waiting", "requests", {0, 5}, "server"),
         series("running", "requests", {8, 3}, "server"), series("kv_usage", "ratio", {.25, .5}, "server"),
         series("news", "units", {1, 2}, "server")});
    const std::vector<Picture> pictures = course_of(run);
    EXPECT_THAT(ids_of(pictures), ElementsAre("load", "tokens", "ttft", "requests", "kv", "more-8"))
        << "no request failed, and what no chart knows has one of its own";
    const Picture& load = pictures[0];
    ASSERT_EQ(load.series.size(), 3U);
    EXPECT_EQ(load.series[1].name, "running, by the server");
    EXPECT_EQ(load.series[2].points[1].y, 5);
    EXPECT_EQ(pictures[2].series[0].points[0].y, 100) << "milliseconds";
    EXPECT_EQ(pictures[4].series[0].points[1].y, 50) << "per cent";
    ASSERT_FALSE(load.marks.empty());
    EXPECT_EQ(load.marks[0].x, run.window.begin_s) << "where the measured part begins";
    RunResult failing = run;
    failing.series[4].values = {0, 2};
    EXPECT_THAT(ids_of(course_of(failing)), ::testing::Contains("failed"));
    EXPECT_TRUE(course_of(run_with({})).empty());
}

TEST(Course, DrawsJobsAndRequestsInFlightBesideEachOther) {
    const std::vector<Picture> pictures =
        course_of(run_with({series("in_flight", "requests", {4, 12}), series("live_jobs", "jobs", {4, 4})}));
    ASSERT_EQ(pictures.size(), 1U);
    ASSERT_EQ(pictures[0].series.size(), 2U);
    EXPECT_EQ(pictures[0].series[1].name, "live jobs");
    EXPECT_EQ(pictures[0].series[0].points[1].y, 12);
    EXPECT_EQ(pictures[0].series[1].points[1].y, 4);
}

TEST(Courses, AreOfTheRunsOnAFrontFirstWhereThereAreMany) {
    auto configurations = configurations_of(40);
    configurations[0].points[31].on_front = true;
    configurations[0].points[35].on_own_front = true;
    configurations[0].points[2].result.series.clear();
    const std::vector<RunCourse> courses = courses_of(configurations);
    ASSERT_EQ(courses.size(), kMostCourses);
    std::vector<std::size_t> points;
    points.reserve(courses.size());
    for (const RunCourse& course : courses) points.push_back(course.at.point);
    EXPECT_THAT(points, ElementsAre(0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 31, 35));
    EXPECT_EQ(courses_of(configurations_of(3)).size(), 3U);
}

ReportModel page_of(std::size_t runs) {
    ReportModel model;
    model.title = "t";
    model.generated_at = "2026-11-22T10:00:00Z";
    model.configurations = configurations_of(runs);
    model.courses = courses_of(model.configurations);
    return model;
}

TEST(CoursePage, OffersEveryRunThatItHasAndSaysHowManyItHasNot) {
    const std::string few = html_report(page_of(3));
    EXPECT_THAT(
        few, AllOf(HasSubstr("<select id=\"course-menu\" data-menu=\"course\">"), HasSubstr(">c=3</option>"),
                   HasSubstr("data-option=\"course-2\""), Not(HasSubstr("of 3 runs"))));
    EXPECT_THAT(html_report(page_of(1)), AllOf(HasSubstr("course-title"), Not(HasSubstr("<select"))));
    EXPECT_THAT(html_report(page_of(40)), HasSubstr("16 of 40 runs"));
    EXPECT_THAT(chart_json(page_of(1), course_sections(page_of(1))), HasSubstr(R"("ys":[1,2,3])"));
}

TEST(CoursePage, IsALineOfBlocksInMarkdownForASingleRun) {
    EXPECT_THAT(markdown_report(page_of(1)),
                AllOf(HasSubstr("## How a run went"),
                      HasSubstr("| in\\_flight | requests | 1.00 | 2.00 | 3.00 | ▃▆█ |")));
    EXPECT_THAT(markdown_report(page_of(2)), Not(HasSubstr("How a run went")));
}

TEST(CoursePage, ShowsHostileNamesAsText) {
    ReportModel model = page_of(2);
    model.configurations[0].points[0].load_label = "</option><script>";
    model.configurations[0].points[0].result.series[0].name = "<img>";
    model.courses = courses_of(model.configurations);
    EXPECT_THAT(html_report(model), AllOf(Not(HasSubstr("<img>")), Not(HasSubstr("</option><script>"))));
}

}  // namespace
}  // namespace paretoken::reports
