#include "reports/pages/headline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/validity/validity.h"
#include "reports/document/table.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Expects at most 12 entries. A line of which the text alone continues the entry above has no label.
void expect_short(const std::string& text) {
    const auto lines = lines_of(text);
    const auto continues = [](const std::string& line) { return line.starts_with(std::string(12, ' ')); };
    EXPECT_LE(lines.size() - std::ranges::count_if(lines, continues), 12) << text;
    for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 80U) << line;
}

TEST(RunHeadline, begins_with_the_verdict_and_ends_with_the_next_command) {
    const std::string text = run_headline(sample::run(16), {}, "paretoken report runs/c16");
    expect_short(text);
    EXPECT_THAT(text, StartsWith("valid  SmolLM2-135M"));
    EXPECT_THAT(lines_of(text).front(), HasSubstr(" · c=16 · 600 requests, none failed · 61.3 s"));
    RunResult left = sample::run(16);
    left.counts.abandoned = 4;
    EXPECT_THAT(lines_of(run_headline(left, {}, "")).front(),
                HasSubstr("600 requests, none failed, users hung up on 4"));
    EXPECT_EQ(lines_of(text).back(), "  next      paretoken report runs/c16");
    for (const char* const expected : {"tok/s", "req/s", "p50", "p95", "p99", "TTFT, ", "ITL, ", "E2E, "})
        EXPECT_THAT(text, HasSubstr(expected));
}

TEST(RunHeadline, shortens_the_name_of_the_model_and_never_the_counts) {
    RunResult run = sample::run(16);
    run.provenance.model = "/srv/models/of/a/long/directory/SmolLM2-135M-Instruct-q4_1.gguf";
    EXPECT_THAT(verdict_line(run),
                StartsWith("valid  SmolLM2-135M-Instruct-q4_1.… · c=16 · 600 requests, none"));
    run.validity.verdict = Verdict::invalid;
    run.counts.requests = 1234567;
    run.counts.failed = 123456;
    const std::string line = lines_of(verdict_line(run)).front();
    EXPECT_THAT(line, HasSubstr(" · 123,456 of 1,234,567 requests failed · 61.3 s"));
    EXPECT_LE(display_width(line), 80U);
    EXPECT_THAT(run_summary(run),
                AllOf(HasSubstr("SmolLM2-135M-Instruct-q4_1.gguf"), Not(HasSubstr("/srv"))));
}

TEST(RunHeadline, has_the_cost_with_the_price_card_if_it_is_known) {
    HeadlineCost cost{0.42, "2 × h100-sxm", 5.9, "on_demand", "2026-11-cloud"};
    EXPECT_THAT(run_headline(sample::run(16), cost, ""),
                HasSubstr("$0.420 per M output tokens (2 × h100-sxm at $5.90/h, 2026-11-cloud)"));
    cost.basis = "spot";
    EXPECT_THAT(run_headline(sample::run(16), cost, ""), HasSubstr(" at $5.90/h, spot,"));
    cost.basis = "$5.90/h";  // of --price 5.90
    EXPECT_THAT(run_headline(sample::run(16), cost, ""), HasSubstr(" at $5.90/h, 2026-11-cloud)"));
    EXPECT_THAT(run_headline(sample::run(16), {}, ""), Not(HasSubstr("$")));
    RunResult priced = sample::run(16);
    priced.provenance.hardware = "h100-sxm";
    priced.provenance.hardware_count = 2;
    ASSERT_TRUE(headline_cost(priced));
    EXPECT_EQ(headline_cost(priced)->hardware, "2 × h100-sxm");
    EXPECT_EQ(headline_cost(priced, {cards::price_card("2.50")})->basis, "$2.50/h");
    priced.provenance.hardware = "an abacus";
    EXPECT_FALSE(headline_cost(priced));
}

TEST(RunHeadline, answers_to_limits_of_good_requests) {
    RunResult run = sample::run(16);
    run.plan["goodput"] = "ttft:100, tpot:20";
    run.throughput.set(figure::kGoodput, 4.5);
    run.throughput.set(figure::kGoodputRatio, .25);
    EXPECT_THAT(run_headline(run, {}, ""),
                HasSubstr("  goodput   25 % of the requests are good, 4.50 req/s (ttft:100, tpot:20)\n"));
}

TEST(RunHeadline, counts_a_single_request_in_the_singular) {
    RunResult run = sample::run(16);
    run.counts.requests = run.counts.ok = 1;
    EXPECT_THAT(lines_of(run_headline(run, {}, "")).front(), HasSubstr(" · 1 request, none failed"));
}

TEST(RunHeadline, says_of_a_summary_without_failures_that_they_are_not_known) {
    RunResult run = sample::run(16);
    run.reported = Reported{.by = "SGLang bench", .requests = 600};
    EXPECT_THAT(lines_of(run_headline(run, {}, "")).front(), HasSubstr("600 requests, failures not known"));
    run.reported->failed = 0;
    EXPECT_THAT(lines_of(run_headline(run, {}, "")).front(), HasSubstr("600 requests, none failed"));
}

TEST(RunHeadline, tells_failures_and_why_a_run_is_invalid_and_counts_what_is_left_out) {
    RunResult failing = sample::failing_run(32, .012, 8);
    std::string text = run_headline(failing, {}, "paretoken show d");
    expect_short(text);
    EXPECT_THAT(text, StartsWith("INVALID"));
    EXPECT_THAT(text, HasSubstr("failed"));
    EXPECT_THAT(text, HasSubstr("503 Service Unavailable"));
    for (int i = 0; i < 20; ++i)
        failing.validity.reasons.push_back({Verdict::invalid, "check", std::string(300, 'x')});
    text = run_headline(failing, HeadlineCost{1, "gpu", 1, "spot", "card"}, "paretoken show d");
    expect_short(text);
    EXPECT_THAT(text, HasSubstr("more; -v"));
    EXPECT_THAT(lines_of(text).back(), HasSubstr("paretoken show d"));
}

TEST(RunHeadline, names_the_causes_of_an_invalid_run_before_its_warnings) {
    RunResult run = sample::run(16);
    run.validity = {Verdict::invalid,
                    {{Verdict::warn, "no_steady_state", "short"}, {Verdict::invalid, "errors", "many"}}};
    const std::string text = run_headline(run, {}, "");
    EXPECT_THAT(text, HasSubstr("why       errors: many. Read the failures in the summary;"));
    EXPECT_THAT(text, HasSubstr("note      no_steady_state: short"));
    EXPECT_LT(text.find("errors"), text.find("no_steady_state"));
}

TEST(RunHeadline, says_what_to_do_about_a_busy_host_once) {
    RunResult run = sample::run(16);
    run.validity = {Verdict::warn,
                    {{Verdict::warn, "loop_lag", "late"}, {Verdict::warn, "hiccups", "paused"}}};
    const std::string text = run_headline(run, {}, "");
    EXPECT_THAT(text, HasSubstr("note      loop_lag: late. Close other programs"));
    EXPECT_THAT(text, HasSubstr("note      hiccups: paused\n"));
}

TEST(RunHeadline, explains_the_mark_of_a_percentile_under_the_table) {
    RunResult few = sample::run(16);
    for (MetricSummary& metric : few.metrics)
        for (PercentileValue& value : metric.percentiles) {
            value.certified = false;
            value.effective_n.reset();
        }
    few.window.steady = true;
    const std::string text = run_headline(few, {}, "");
    EXPECT_THAT(text, HasSubstr("\n            * too few requests\n"));
    EXPECT_THAT(text, Not(HasSubstr("p99  *")));
    for (MetricSummary& metric : few.metrics)
        for (PercentileValue& value : metric.percentiles) value.effective_n = 30;  // p95 needs 90, p99 459
    few.concurrency = 100'000;
    EXPECT_THAT(run_headline(few, {}, ""),
                HasSubstr("* too few requests: p95 needs about 3.0 times as many, p99 "
                          "15 times\n"));
    few.window.steady = false;
    EXPECT_THAT(run_headline(few, {}, ""),
                HasSubstr("* not certified, because the run has no steady window\n"));
    RunResult bare = sample::run(16);
    for (MetricSummary& metric : bare.metrics)
        for (PercentileValue& value : metric.percentiles) value.ci95.reset();
    EXPECT_THAT(run_headline(bare, {}, ""), Not(HasSubstr("CI")));
    EXPECT_THAT(run_headline(sample::run(16), {}, ""), HasSubstr("p50 (95 % CI)"));
}

TEST(RunHeadline, shows_each_limit_in_one_of_the_three_words) {
    RunResult run = sample::run(16);
    run.slo = {
        {.key = "ttft_p95", .p = .95, .limit = .8, .value = .5, .verdict = SloVerdict::met, .shown = true},
        {.key = "tpot_p95",
         .p = .95,
         .limit = .02,
         .value = .01,
         .verdict = SloVerdict::within,
         .times_enough = 3}};
    const std::string text = run_headline(run, {}, "");
    EXPECT_THAT(text, HasSubstr("met: ttft_p95 500 ms, limit 800 ms"));
    EXPECT_THAT(text, HasSubstr("within: tpot_p95 10 ms, limit 20 ms; 7.2 times as many requests"));
    expect_short(text);
}

TEST(RunHeadline, says_that_a_limit_counts_as_missed_because_the_server_did_not_keep_up) {
    RunResult run = sample::run(16);
    run.request_rate = 20;
    run.window.overloaded = true;
    run.throughput.set(figure::kRequests, 13.1);
    run.slo = {{.key = "tpot_p90", .p = .9, .limit = .02, .value = .009, .verdict = SloVerdict::missed}};
    EXPECT_THAT(run_headline(run, {}, ""),
                AllOf(HasSubstr("missed: tpot_p90 9 ms, limit 20 ms; the server does not keep up"),
                      HasSubstr("(served 13.1 of 20 req/s)")));
}

TEST(RunHeadline, names_the_stop_rule_that_ended_the_run_once) {
    RunResult run = sample::run(16);
    run.stop = StopReason{.rule = "tokens", .at_s = 12.34, .text = "5000 output tokens came"};
    const std::string line = "after 12.3 s by --stop tokens: 5000 output tokens came";
    EXPECT_THAT(run_headline(run, {}, ""), HasSubstr("stopped   " + line));
    EXPECT_THAT(run_summary(run), HasSubstr(line));
    run.stop->rule = "requests";
    EXPECT_EQ(stop_text(run), "") << "the run ended as it was planned";
    run.stop = StopReason{.rule = "errors", .at_s = 2, .text = "12 % of 25 requests failed"};
    run.validity = {Verdict::invalid, {{Verdict::invalid, "errors", "12 % of the requests failed"}}};
    EXPECT_EQ(stop_text(run), "after 2.00 s by --stop errors: 12 % of 25 requests failed")
        << "the share of failures does not say that the load was cut short";
    run.stop = StopReason{.rule = "diverging", .at_s = 12.34, .text = "the queue grew"};
    run.validity = validity_of(run, {});
    EXPECT_THAT(run_headline(run, {}, ""),
                AllOf(Not(HasSubstr("--stop")), HasSubstr("diverging: the run was ended after 12.3 s")));
}

TEST(RunHeadline, breaks_long_notes_into_lines_and_cuts_none_of_them) {
    RunResult run = sample::run(16);
    const std::string note =
        "the client may have read or sent late: median of ttft_intended_s could truly be 5.07 % lower (limit "
        "2 %)";
    run.validity = {Verdict::warn, {{Verdict::warn, "instrument", note}}};
    run.slo = {{.key = "ttft_p95",
                .p = .95,
                .limit = .06,
                .value = .0176,
                .verdict = SloVerdict::within,
                .times_enough = 2.5}};
    std::string text = run_headline(run, {}, "");
    expect_short(text);
    for (std::size_t at = text.find("\n            "); at != std::string::npos;
         at = text.find("\n            "))
        text.replace(at, 13, " ");
    EXPECT_THAT(text, HasSubstr("  note      instrument: " + note + ". Close other programs on"));
    EXPECT_THAT(text, HasSubstr("limit 60 ms; 6.0 times as many requests may decide it\n"));
    run.slo.front().times_enough = 470;
    run.window.run_s = 60;
    EXPECT_THAT(run_headline(run, {}, ""), HasSubstr("hours: measure another load, or set another limit\n"));
}

TEST(RunHeadline, is_coloured_only_if_the_style_says_so) {
    EXPECT_EQ(run_headline(sample::run(1), {}, "").find('\x1b'), std::string::npos);
    EXPECT_THAT(run_headline(sample::run(1), {}, "", {.colour = true}), StartsWith("\x1b[32mvalid\x1b[0m"));
}

}  // namespace
}  // namespace paretoken::reports
