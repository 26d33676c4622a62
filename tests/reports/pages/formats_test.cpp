#include "reports/pages/formats.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/error.h"
#include "reports/pages/csv.h"
#include "reports/pages/report_columns.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;

TEST(Formats, WriteEachInItsOwnLanguage) {
    const ReportModel model = sample::report();
    EXPECT_THAT(formats_named("html")[0]->write(model), testing::StartsWith("<!doctype html>"));
    EXPECT_THAT(formats_named("md")[0]->write(model), testing::StartsWith("# "));
    EXPECT_THAT(formats_named("json")[0]->write(model), testing::StartsWith("{"));
    EXPECT_THAT(formats_named("csv")[0]->write(model), testing::StartsWith("configuration,"));
}

TEST(Formats, AreNamedInAListWithoutRepeats) {
    const auto formats = formats_named("md,html,md");
    ASSERT_EQ(formats.size(), 2U);
    EXPECT_EQ(formats[0]->name, "md");
    EXPECT_EQ(formats[1]->name, "html");
}

TEST(Formats, ThatAreUnknownAreRefusedWithTheKnownOnes) {
    for (const char* list : {"pdf", "html,pdf", "html,", ""}) {
        try {
            formats_named(list);
            FAIL() << list;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr("html, md, json, csv"));
        }
    }
}

TEST(Formats, AllTakeAReportWithoutAnything) {
    ReportModel one;
    one.configurations.resize(1);
    one.configurations[0].points.resize(1);
    for (const ReportFormat& format : report_formats()) {
        EXPECT_FALSE(format.write({}).empty()) << format.name;
        EXPECT_FALSE(format.write(one).empty()) << format.name;
    }
}

TEST(ReportColumns, HaveKeysOfTheirOwnAndDefinitions) {
    std::vector<std::string_view> keys;
    for (const ReportColumn& column : report_columns()) {
        keys.push_back(column.key);
        EXPECT_FALSE(column.definition.empty()) << column.key;
    }
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST(ReportColumns, WithoutAValueAnywhereAreLeftOut) {
    ReportModel model = sample::report();
    const std::size_t with_cost = columns_in_use(model).size();
    for (Configuration& c : model.configurations)
        for (ReportPoint& point : c.points) point.cost.reset();
    EXPECT_EQ(columns_in_use(model).size(), with_cost - 4);
}

TEST(Csv, HasALinePerPointWithEveryColumnAndQuotesWhatNeedsIt) {
    ReportModel model = sample::report();
    model.configurations[0].title = "a \"b\", c";
    model.configurations[1].title = "=HYPERLINK(\"http://x\")";
    const std::string text = csv_report(model);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 13);
    EXPECT_THAT(text, HasSubstr("\"a \"\"b\"\", c\""));
    EXPECT_THAT(text, HasSubstr("\"'=HYPERLINK"));
    const std::string head = text.substr(0, text.find('\r'));
    EXPECT_EQ(static_cast<std::size_t>(std::count(head.begin(), head.end(), ',')),
              report_columns().size() + 5);
    EXPECT_THAT(text, HasSubstr(",inf,"));  // tail of the failing run
}

TEST(Csv, CallsAPercentileInfiniteOnlyIfItFallsAmongFailures) {
    ReportModel model;
    model.configurations.resize(1);
    model.configurations[0].points = {sample::point(sample::run(32), "runs/32", 2.4e-5)};
    model.configurations[0].points[0].result = sample::withholding_run(32, .012, 8);
    EXPECT_THAT(csv_report(model), testing::Not(HasSubstr(",inf,")));
}

}  // namespace
}  // namespace paretoken::reports
