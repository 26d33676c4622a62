#include "reports/analysis/model/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/pages/html.h"
#include "reports/pages/markdown.h"

namespace paretoken::reports {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

LoadedSearch search() {
    SweepSearch found{.slos = {"ttft_p95:500"}, .pass = 8, .fail = 16, .binding = "ttft_p95:500", .runs = 5};
    found.ended = "the passing level was measured twice";
    found.narrow = "paretoken sweep u --out d --max-runs 13";
    found.certify = "paretoken run u --num-prompts 9000 --require met";
    return {"d", "concurrency", found};
}

/// A run with a TTFT p95 of `value` that decides limits outside of the interval `decided`.
LoadedRun run_at(std::uint64_t concurrency, double value, Interval decided) {
    LoadedRun run;
    run.directory = "d/c" + std::to_string(concurrency);
    run.sweep = "d";
    run.result.concurrency = concurrency;
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.n = 100;
    ttft.percentiles = {{.p = 0.95, .value = value, .decided = decided}};
    run.result.metrics = {ttft};
    return run;
}

std::vector<LoadedRun> runs() {
    std::vector<LoadedRun> all = {run_at(16, 0.9, {0.8, 1.0}), run_at(8, 0.3, {0.2, 0.4}),
                                  run_at(12, 0.49, {0.4, 0.6}), run_at(4, 0.1, {0.05, 0.15})};
    all.push_back(run_at(1, 9, {8, 10}));
    all.back().sweep = "another";
    return all;
}

TEST(SearchPicture, holds_each_run_by_what_it_says_of_the_limit) {
    const SearchPicture picture = picture_of(search(), runs());
    ASSERT_EQ(picture.pictures.size(), 1U);
    const Picture& chart = picture.pictures.front();
    ASSERT_EQ(chart.series.size(), 5U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(chart.series[i].style, "points");
    EXPECT_EQ(chart.series[4].style, "fit") << "one line goes through the runs of all verdicts";
    EXPECT_EQ(chart.series[4].points.size(), 4U);
    EXPECT_EQ(chart.series[0].name, "meets the limit");
    ASSERT_EQ(chart.series[0].points.size(), 2U) << "runs of another sweep are left out";
    EXPECT_EQ(chart.series[0].points[0].x, 4);
    EXPECT_DOUBLE_EQ(chart.series[0].points[1].y, 300) << "in milliseconds";
    ASSERT_EQ(chart.series[1].points.size(), 1U);
    EXPECT_EQ(chart.series[1].points[0].x, 16);
    ASSERT_EQ(chart.series[2].points.size(), 1U);
    EXPECT_EQ(chart.series[2].name, "within the limit, not shown at 99 %");
    EXPECT_EQ(chart.series[2].points[0].note, "not shown at 99 %");
    EXPECT_TRUE(chart.series[3].points.empty());
    EXPECT_THAT(chart.lines, ElementsAre(PictureLine{"limit", 500}));
    EXPECT_THAT(chart.marks, ElementsAre(PictureMark{"shown to meet all", 8}, PictureMark{"misses", 16}));
}

TEST(SearchPicture, draws_nothing_of_a_limit_that_no_run_measured) {
    LoadedSearch other = search();
    other.search.slos = {"tpot_p95:20"};
    EXPECT_TRUE(picture_of(other, runs()).pictures.empty());
}

TEST(SearchText, says_what_was_shown_and_what_was_measured_within_the_limits) {
    SweepSearch found = search().search;
    EXPECT_EQ(shown_text(found, "concurrency"),
              "8 in flight is the highest load that was shown to meet ttft_p95:500.");
    found.within = 8;
    found.within_text = "ttft_p95: 0 of 640 requests miss it, the worst is at 37 % of it";
    EXPECT_EQ(within_text(found, "concurrency"),
              "No higher load was measured within them; 16 misses ttft_p95:500.");
    EXPECT_EQ(search_text(found, "concurrency"), "5 runs; the passing level was measured twice.");
    found.saturation = 17.5;
    found.most_requests_per_s = 50.2;
    EXPECT_EQ(search_text(found, "concurrency"), "5 runs; the passing level was measured twice.")
        << "one load says nothing about saturation";
    found.elasticity = {.6, .36};
    EXPECT_EQ(search_text(found, "concurrency"),
              "5 runs; the passing level was measured twice. The most that was measured is 50.2 req/s.");
    EXPECT_THAT(search_text(found, "request_rate"), EndsWith(" The most that was served is 50.2 req/s."));
    found.within = 41;
    EXPECT_THAT(within_text(found, "concurrency"), HasSubstr("the worst is at 37 % of it); 16 misses"));
    found.saturated_from = 128;
    EXPECT_THAT(search_text(found, "concurrency"),
                HasSubstr(" Throughput hardly grows above 128 in flight: more requests only wait longer."));
    EXPECT_THAT(search_text(found, "request_rate"), EndsWith(" The server saturates near 50.2 req/s."));
    found.slos = {"job_p95<=20s"};
    EXPECT_THAT(shown_text(found, "concurrency"), testing::StartsWith("8 jobs at once is the highest load"));
    found.slos = {"ttft_p95:500"};
    found.fail.reset();
    EXPECT_THAT(within_text(found, "concurrency"),
                EndsWith("no measured load missed the limits, so that the highest load may be above 41."));
    found.saturated_from.reset();
    EXPECT_THAT(within_text(found, "concurrency"), EndsWith("may be above 41: measure higher loads."));
    found.fail = 16;
    found.pass.reset();
    found.within = 12;
    found.certify_minutes = 3.5;
    found.binding = "the server does not keep up with the arrivals";
    EXPECT_EQ(shown_text(found, "request_rate"), "No load was shown at 99 % to meet ttft_p95:500.");
    EXPECT_THAT(within_text(found, "request_rate"),
                AllOf(HasSubstr("12 req/s is the highest load"),
                      HasSubstr("at 16, the server does not keep up with the arrivals. A run of about 3.5 "
                                "minutes may show that 12 meets them.")));
    found.certify_minutes = 1980;
    EXPECT_THAT(within_text(found, "request_rate"), HasSubstr("A run of about 33 hours may show"));
    found.within.reset();
    found.certify_minutes.reset();
    EXPECT_THAT(within_text(found, "request_rate"), HasSubstr("No load was measured within them; at 16,"));
}

TEST(SearchPicture, stands_on_the_page_and_in_Markdown_with_the_command_that_narrows_it) {
    ReportModel model;
    model.configurations.emplace_back();
    EXPECT_THAT(html_report(model), Not(HasSubstr("search-title")));
    model.searches = {picture_of(search(), runs())};
    const std::string html = html_report(model);
    EXPECT_THAT(html, HasSubstr("id=\"search-0-ttft_p95\""));
    EXPECT_THAT(html, HasSubstr("Dashed: limit 500, shown to meet all at 8, misses at 16."));
    EXPECT_THAT(html, HasSubstr("<span>--max-runs</span> <span>13</span>"));
    const std::string markdown = markdown_report(model);
    EXPECT_THAT(markdown, HasSubstr("(limit 500, shown to meet all at 8, misses at 16)"));
    EXPECT_THAT(markdown, HasSubstr("| 12 |  |  | 490"));
    EXPECT_THAT(markdown, HasSubstr("    paretoken sweep u --out d --max-runs 13\n"));
    EXPECT_THAT(markdown, HasSubstr("    paretoken run u --num-prompts 9000 --require met\n"));
}

}  // namespace
}  // namespace paretoken::reports
