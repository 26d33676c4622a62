// Tests that a figure of the table in core/result/figures.cpp appears in every output without changes
// elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/result/figures.h"
#include "reports/files/json/run_json.h"
#include "reports/pages/console.h"
#include "reports/pages/report_columns.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;

/// A run that has measured every figure of the table.
RunResult run_with_every_figure() {
    RunResult run = sample::run(4);
    for (const Figure& figure : figures()) {
        run.throughput.set(figure.key, 0.5);
        run.whole_run.set(figure.key, 0.5);
    }
    return run;
}

TEST(FiguresShown, every_row_of_the_table_is_in_the_result_file) {
    const std::string json = run_json(run_with_every_figure());
    for (const Figure& figure : figures())
        EXPECT_THAT(json, HasSubstr("\"" + std::string(figure.key) + "\""));
}

TEST(FiguresShown, every_row_of_the_table_is_on_the_console) {
    const std::string summary = run_summary(run_with_every_figure());
    for (const Figure& figure : figures()) {
        EXPECT_THAT(summary, HasSubstr(std::string(figure.title)));
    }
}

TEST(FiguresShown, every_row_of_the_table_is_a_column_of_the_report) {
    for (const Figure& figure : figures()) {
        bool shown = false;
        for (const ReportColumn& column : report_columns()) shown = shown || column.key == figure.key;
        EXPECT_TRUE(shown) << figure.key;
    }
}

TEST(FiguresShown, a_number_without_a_unit_is_rounded_and_counts_are_whole) {
    ReportPoint point;
    point.result = sample::run(4);
    const auto cell = [&](std::string_view key) {
        const auto column = std::ranges::find(report_columns(), key, &ReportColumn::key);
        return cell_of(*column, point);
    };
    EXPECT_EQ(cell("requests"), "600");
    point.result.counts.requests = 12345;
    EXPECT_EQ(cell("requests"), "12,345");
    point.result.jobs.emplace();
    point.result.jobs->jobs_per_hour = 996.986;
    EXPECT_EQ(cell("jobs_per_hour"), "997");
    point.result.jobs->jobs_per_hour = 0.9;
    EXPECT_EQ(cell("jobs_per_hour"), "0.900");
}

}  // namespace
}  // namespace paretoken::reports
