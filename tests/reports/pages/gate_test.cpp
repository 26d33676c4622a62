#include "reports/pages/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "reports/analysis/gate/sections.h"
#include "reports/document/table.h"
#include "reports/pages/section_html.h"
#include "reports/pages/section_markdown.h"
#include "tests/reports/analysis/gate/gate_runs.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string markdown_of(const GateReport& report) {
    std::string text;
    for (const Section& section : gate_sections(report)) text += reports::markdown_of(section, 2);
    return text;
}

GateReport report_of_pairs(const sample::Factors& candidate, double noise = .004) {
    const GatePolicy policy = default_policy();
    GateReport report = decided(policy, {.baseline = sample::gate_runs(16, {}, noise, 1, "b"),
                                         .candidate = sample::gate_runs(16, candidate, noise, 1, "c"),
                                         .design = GateDesign::pairs,
                                         .looks = looks_of(policy)});
    report.baseline_name = "runs/main";
    report.candidate_name = "runs/<b>|x";
    return report;
}

TEST(GateConsole, ends_with_what_moved_and_what_to_do) {
    const std::string text = gate_console(report_of_pairs({{"ttft", 1.4}}), false);
    EXPECT_THAT(text, HasSubstr("\n\nFAIL: Time to first token"));
    EXPECT_THAT(text, Not(HasSubstr("output_length"))) << "what passed is shown with -v";
    EXPECT_THAT(gate_console(report_of_pairs({{"ttft", 1.4}}), true), HasSubstr("output_length"));
    EXPECT_THAT(text, HasSubstr("Do not roll out"));
    EXPECT_THAT(text, HasSubstr("TTFT is worse and ITL is not"));
    EXPECT_THAT(text, HasSubstr("interleaved pairs, of at most 16"));
}

TEST(GateConsole, fits_into_80_columns) {
    for (const auto& report :
         {report_of_pairs({}), report_of_pairs({{"ttft", 1.4}}), report_of_pairs({}, .1)}) {
        std::istringstream lines(gate_console(report, true));
        for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80U) << line;
    }
}

TEST(GateConsole, says_of_an_open_verdict_what_would_close_it) {
    const std::string text = gate_console(report_of_pairs({}, .1), false);
    EXPECT_THAT(text, HasSubstr("\n\nINCONCLUSIVE"));
    EXPECT_THAT(text, HasSubstr("pairs would decide"));
    EXPECT_THAT(text, HasSubstr("only a change of "));
}

TEST(GateConsole, says_once_what_is_the_same_of_several_metrics) {
    GateReport report{.verdict = GateVerdict::inconclusive, .design = GateDesign::two_sets};
    for (const char* title : {"A", "B", "C", "D"})
        report.rows.push_back({.metric = "ttft_p50", .title = title, .unit = "s", .reason = "too few runs"});
    EXPECT_THAT(gate_console(report, false), HasSubstr("  A; B; C and 1 more: too few runs\n"));
}

TEST(GateMarkdown, says_of_a_pass_what_is_excluded_and_draws_no_interval_beyond_the_bound) {
    GateReport report = report_of_pairs({});
    ASSERT_EQ(report.verdict, GateVerdict::pass);
    GateRow& row = report.rows[1];
    row.ci95->high = 2 * row.limit;
    row.at_most = .9 * row.limit;
    const std::string text = markdown_of(report);
    EXPECT_THAT(text, HasSubstr("beyond the tolerance is excluded for each metric that has an interval "
                                "(probability of error: at most 5 % each)"));
    EXPECT_THAT(text, HasSubstr("| at most, % |"));
    const std::size_t line = text.find("\nttft_p50 ");
    EXPECT_EQ(text.substr(line + 1, text.find('\n', line + 1) - line - 1).back(), '!');
}

TEST(GateConsole, prints_no_figures_beyond_a_hundredfold_change) {
    GateReport report = report_of_pairs({}, .1);
    for (GateRow& row : report.rows) row.ci95 = Interval{-.5, 18.9};
    EXPECT_THAT(gate_console(report, true), AllOf(HasSubstr(">+10000"), Not(HasSubstr("e+"))));
    EXPECT_THAT(markdown_of(report), AllOf(HasSubstr("to >×1000"), Not(HasSubstr("e+"))));
}

TEST(GateMarkdown, has_a_row_and_a_drawn_interval_per_metric_and_escapes_names) {
    const std::string text = markdown_of(report_of_pairs({{"ttft", 1.4}}));
    EXPECT_THAT(text, HasSubstr("- **fail**: TTFT is worse and ITL is not"));
    EXPECT_THAT(text, HasSubstr("| Time to first token, p50, ms |"));
    EXPECT_THAT(text, HasSubstr("\nttft_p50 "));
    EXPECT_THAT(text, HasSubstr("runs/&lt;b>\\|x"));
}

TEST(GateHtml, has_the_verdict_a_picture_of_each_shift_and_every_run) {
    const GateReport report = report_of_pairs({{"ttft", 1.4}});
    std::string html;
    for (const Section& section : gate_sections(report)) html += html_of(section);
    EXPECT_THAT(html, HasSubstr("<span class=\"badge invalid\">fail</span>"));
    EXPECT_THAT(html, HasSubstr("runs/&lt;b&gt;|x"));
    std::size_t pictures = 0;
    for (std::size_t at = html.find("<svg class=\"shift"); at != std::string::npos;
         at = html.find("<svg class=\"shift", at + 1))
        ++pictures;
    EXPECT_EQ(pictures, static_cast<std::size_t>(std::count_if(report.rows.begin(), report.rows.end(),
                                                               [](const GateRow& row) { return row.ci95; })));
    // A shift of 40 % is beyond twice the tolerance of 5 %: an arrow at the end of the scale.
    EXPECT_THAT(html, HasSubstr("M194 4L199 10L194 16"));
    for (const GateRunNote& run : report.runs)
        EXPECT_THAT(html, HasSubstr("<th class=\"text\" scope=\"row\">" + run.directory + "<td"));
    EXPECT_EQ(report.runs.size(), 32U);
}

TEST(SelfTestConsole, fits_into_80_columns_and_ends_with_the_answer) {
    const SelfTest test = self_test_of(default_policy(), report_of_pairs({}), std::nullopt);
    const std::string text = self_test_console(test);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80U) << line;
    EXPECT_THAT(text, HasSubstr("\n\nA gate of 16 pairs shows shifts from "));
}

TEST(GateJunit, counts_failures_and_open_metrics_and_escapes_what_it_holds) {
    GateReport report = report_of_pairs({{"ttft", 1.4}});
    report.headline += " <&\">";
    const std::string text = gate_junit(report);
    EXPECT_THAT(text,
                HasSubstr("name=\"ttft_p50\">\n      <failure type=\"fail\" message=\"Time to first token"));
    EXPECT_THAT(text, HasSubstr("name=\"failures\"/>"));
    EXPECT_THAT(text, HasSubstr("&lt;&amp;&quot;&gt;"));
    EXPECT_THAT(gate_junit(report_of_pairs({}, .1)), HasSubstr("<error type=\"inconclusive\""));
    EXPECT_THAT(gate_junit(report_of_pairs({})), HasSubstr("failures=\"0\" errors=\"0\""));
}

TEST(GateAnnotations, are_an_error_per_failed_metric_on_one_line_with_its_escapes) {
    const std::string text = gate_annotations(report_of_pairs({{"ttft", 1.4}}));
    EXPECT_THAT(text, StartsWith("::error title=paretoken gate::Time to first token, p50: 4"));
    EXPECT_THAT(text, HasSubstr(" %25"));
    EXPECT_THAT(text, Not(HasSubstr(" % ")));
    EXPECT_THAT(gate_annotations(report_of_pairs({})), StartsWith("::notice"));
}

}  // namespace
}  // namespace paretoken::reports
