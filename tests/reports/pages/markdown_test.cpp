#include "reports/pages/markdown.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MarkdownReport, SaysTheAnswerThenTheTableThenDrawsCharts) {
    const std::string text = markdown_report(sample::report());
    const std::size_t answer = text.find("the hardware floor is");
    const std::size_t table = text.find("| load |");
    const std::size_t chart = text.find("```mermaid");
    ASSERT_NE(chart, std::string::npos);
    EXPECT_LT(answer, table);
    EXPECT_LT(table, chart);
    for (const char* expected :
         {"xychart-beta", "x-axis \"load\" [\"c=1\", \"c=2\"", "TTFT p50, ms", "$/M output",
          "--concurrency 8", "2026-11-01", "; price band: ", "0.8 to 1.25 times the costs"})
        EXPECT_THAT(text, HasSubstr(expected));
}

TEST(MarkdownReport, SaysBesideThePricesWhichShareOfTheTimeEarns) {
    ReportModel model = sample::report();
    EXPECT_THAT(markdown_report(model), Not(HasSubstr("earns")));
    for (ReportPoint& point : model.configurations[1].points) point.cost->earning_share = .599;
    EXPECT_THAT(markdown_report(model), HasSubstr("times the costs; 59.9 % of the time earns.\n"));
}

TEST(MarkdownReport, HasAsManyCellsInEveryRowAsInTheHead) {
    ReportModel model = sample::report();
    model.configurations[0].points[0].load_label = "c|=|1";
    std::istringstream lines(markdown_report(model));
    std::ptrdiff_t head = 0;  // bars in the head of the table; 0 outside of tables
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] != '|') {
            head = 0;
            continue;
        }
        std::ptrdiff_t bars = std::count(line.begin(), line.end(), '|');
        for (std::size_t at = 0; (at = line.find("\\|", at)) != std::string::npos; ++at) --bars;
        if (head == 0) head = bars;
        EXPECT_EQ(bars, head) << line;
    }
}

TEST(MarkdownReport, CannotBeBrokenOutOfByWhatUsersAndServersSay) {
    const std::string evil =
        "</details><script>x</script>\n# head\n```\n[link](http://x) @everyone | `code` ![i](http://x/i.png)";
    ReportModel model = sample::report();
    model.title = evil;
    Configuration& c = model.configurations[0];
    c.title = c.answer = c.workload = evil;
    c.errors = c.missing = {evil};
    model.notes = {evil};
    model.price->card = model.price->source = model.price->as_of = model.price->basis = evil;
    for (ReportPoint& point : c.points) {
        point.load_label = evil;
        point.result.provenance.command = evil;
        point.result.validity.reasons = {{Verdict::warn, evil, evil}};
    }
    const std::string text = markdown_report(model);
    EXPECT_EQ(text.find("\n# head"), std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("    ")) continue;  // a code block, in which no markup counts
        EXPECT_EQ(line.find("<script"), std::string::npos) << line;
        EXPECT_EQ(line.find("@everyone"), std::string::npos) << line;
        EXPECT_EQ(line.find("[link](http"), std::string::npos) << line;
        EXPECT_EQ(line.find("![i]("), std::string::npos) << line;
        if (line.starts_with("```")) {
            EXPECT_TRUE(line == "```" || line == "```mermaid") << line;
        }
    }
}

TEST(MarkdownReport, LeavesOutChartsWithoutTwoPointsAndColumnsWithoutValues) {
    ReportModel model = sample::report();
    model.configurations.resize(1);
    model.configurations[0].points.resize(1);
    model.configurations[0].points[0].cost.reset();
    const std::string text = markdown_report(model);
    EXPECT_THAT(text, Not(HasSubstr("mermaid")));
    EXPECT_THAT(text, Not(HasSubstr("$/M")));
    EXPECT_THAT(markdown_report({}), Not(HasSubstr("mermaid")));
}

}  // namespace
}  // namespace paretoken::reports
