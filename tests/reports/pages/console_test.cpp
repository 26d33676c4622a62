#include "reports/pages/console.h"

#include <gmock/gmock.h>

#include <sstream>

#include "reports/analysis/sweep/sweep.h"
#include "reports/document/table.h"
#include "reports/pages/headline.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void expect_at_most_80_columns(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80U) << line;
}

/// A result in which every string is long, has several lines, and contains control sequences for terminals.
RunResult hostile_run() {
    RunResult r = sample::failing_run(32, .012, 8);
    const std::string evil = "\x1b]0;owned\x07\x1b[2J\r\n" + std::string(300, 'x') +
                             " \xc2\x9b"
                             "31m {} %s";
    r.provenance.model = r.provenance.url = r.provenance.server_kind = r.provenance.hardware = evil;
    r.workload.dataset = r.workload.endpoint = r.workload.length_source = evil;
    r.counts.by_outcome[evil] = 2;
    r.counts.example_errors[evil] = evil;
    r.counts.example_errors["http_error"] = evil;
    r.validity.reasons.push_back({Verdict::warn, evil, evil});
    return r;
}

TEST(RunSummary, SaysTheHeadlineInEightyColumns) {
    const std::string text = run_summary(sample::run(16), {.directory = "runs/c16"});
    expect_at_most_80_columns(text);
    for (const char* expected :
         {"SmolLM2-135M", "c=16", "output tokens", "Time to first token, ms", "Inter-token latency, ms",
          "End-to-end latency, ms", "600 ended, none failed", "input 512.0 of 512.0 wanted",
          "output 127.6 of 128.0 wanted", "valid", "runs/c16", "steady"})
        EXPECT_THAT(text, HasSubstr(expected));
}

TEST(RunSummary, TellsFailuresByClassWithAnExampleAndTheReasonsOfTheVerdict) {
    const std::string text = run_summary(sample::failing_run(32, .012, 8));
    expect_at_most_80_columns(text);
    for (const char* expected : {"31 failed (5.17 %)", "28 http_error", "503 Service Unavailable", "INVALID",
                                 "loop_lag", "∞ so many"})
        EXPECT_THAT(text, HasSubstr(expected));
}

TEST(RunSummary, TellsHowManyProcessesMadeTheLoad) {
    RunResult result = sample::run(16);
    EXPECT_THAT(run_summary(result), Not(HasSubstr("processes")));
    result.shards = {{.number = 0, .host = "a"},
                     {.number = 1, .host = "b", .clock_error_s = 25e-6},
                     {.number = 2, .host = "b", .clock_error_s = 40e-6}};
    const std::string text = run_summary(result);
    expect_at_most_80_columns(text);
    EXPECT_THAT(text, HasSubstr("3 on 2 hosts; their clocks are known within 0.0400 ms"));
}

TEST(RunSummary, CallsAPercentileInfiniteOnlyIfItFallsAmongFailures) {
    const std::string text = run_summary(sample::withholding_run(32, .012, 8));
    EXPECT_THAT(text, HasSubstr("Time to first token"));
    EXPECT_THAT(text, Not(HasSubstr("∞")));
}

TEST(RunSummary, CountsTheRequestsThatUsersGaveUp) {
    RunResult r = sample::run(16);
    EXPECT_THAT(run_summary(r), Not(HasSubstr("abandoned")));
    r.counts.abandoned = 1234;
    const std::string text = run_summary(r);
    EXPECT_THAT(text, HasSubstr("1,234 abandoned"));
    expect_at_most_80_columns(text);
}

TEST(RunSummary, MarksPercentilesWithoutEnoughRequests) {
    EXPECT_THAT(run_summary(sample::run(16, .012, 8, 30)), HasSubstr("* not certified"));
    EXPECT_THAT(run_summary(sample::run(16, .012, 8, 6000)), Not(HasSubstr("* not certified")));
}

TEST(RunSummary, LeadsWithTheIntendedStartInOpenLoop) {
    RunResult r = sample::run(16);
    r.concurrency.reset();
    r.request_rate = 4;
    const std::string text = run_summary(r);
    EXPECT_THAT(text, HasSubstr("4 req/s"));
    EXPECT_THAT(text, HasSubstr("Time to first token from due"));
    expect_at_most_80_columns(text);
}

TEST(RunSummary, ShowsNothingThatATerminalWouldObey) {
    const std::string text = run_summary(hostile_run(), {.directory = "d"});
    expect_at_most_80_columns(text);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(RunSummary, TellsWhatTheServerSaidOfItself) {
    RunResult run = sample::run(4);
    EXPECT_THAT(run_summary(run), Not(HasSubstr("/metrics")));
    run.server = ServerFigures{
        .engine = "vllm",
        .sources = {},
        .window = {{"running", 3.9}, {"running_max", 4}, {"kv_usage", 0.123}, {"queue_mean_s", 0.0021}},
        .whole_run = {},
        .asked = {},
        .scrapes = 9,
        .note = {}};
    const std::string text = run_summary(run);
    EXPECT_THAT(text, HasSubstr("Requests running 3.90, at most 4"));
    EXPECT_THAT(text, HasSubstr("12.3 %"));
    EXPECT_THAT(text, HasSubstr("2.10 ms"));
}

TEST(RunSummary, TellsTheAlertsThatFired) {
    RunResult run = sample::run(4);
    run.alerts = {{.name = "kv_cache_full",
                   .series = "kv_usage",
                   .state = AlertState::firing,
                   .value = .953,
                   .threshold = .9,
                   .at_s = 132},
                  {.name = "queue_long", .series = "waiting", .state = AlertState::inactive, .value = 2}};
    const std::string text = run_summary(run);
    EXPECT_THAT(text, HasSubstr("kv_cache_full: kv_usage is 95.3 % (threshold 90 %)"));
    EXPECT_THAT(text, HasSubstr("132 s"));
    EXPECT_THAT(text, Not(HasSubstr("queue_long")));
    expect_at_most_80_columns(text);
}

TEST(RunSummary, OfARunWithoutASingleAnswerStillReads) {
    RunResult r;
    r.validity = {Verdict::invalid, {{Verdict::invalid, "no_answers", "Not one request succeeded."}}};
    const std::string text = run_summary(r);
    EXPECT_THAT(text, HasSubstr("INVALID"));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    expect_at_most_80_columns(text);
}

TEST(RunSummary, IsColouredOnlyWhenAsked) {
    EXPECT_EQ(run_summary(sample::run(1)).find('\x1b'), std::string::npos);
    EXPECT_NE(run_summary(sample::run(1), {.colour = true}).find("\x1b["), std::string::npos);
}

TEST(SweepTable, IsOneLinePerLoadInEightyColumns) {
    std::vector<SweepPoint> points;
    for (const std::uint64_t load : {1, 8, 64, 512})
        points.push_back(
            sweep_point_of(sample::run(load), {.directory = "d", .load = static_cast<double>(load)}));
    points.push_back(sweep_point_of(sample::failing_run(1024, .012, 8), {.directory = "d", .load = 1024}));
    points.push_back({.directory = "d",
                      .load_label = "c=2048",
                      .load = 2048,
                      .state = PointState::failed,
                      .error = "connection refused\x1b[2J\n" + std::string(200, 'y')});
    points.push_back({.directory = "d", .load_label = "c=4096", .load = 4096});
    const std::string text = sweep_table(points);
    expect_at_most_80_columns(text);
    for (const char* expected : {"c=512", "invalid", "pending", "failed", "connection refused"})
        EXPECT_THAT(text, HasSubstr(expected));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(SweepTable, WithLimitsFailuresAndAKneeStillFitsEightyColumns) {
    std::vector<SweepPoint> points;
    const std::vector<SloVerdict> verdicts = {SloVerdict::met, SloVerdict::within, SloVerdict::insufficient,
                                              SloVerdict::missed};
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        SweepPoint point = sweep_point_of(sample::run(8 << (2 * i)), {.directory = "d"});
        point.load = static_cast<double>(8 << (2 * i));
        point.slo = verdicts[i];
        point.output_tokens_per_s = 12345;
        point.ttft_p50_s = point.ttft_p99_s = 12.3;
        points.push_back(point);
    }
    points.back().failed = 12;
    points.back().requests = 600;
    const std::string text = sweep_table(points);
    expect_at_most_80_columns(text);
    for (const char* expected : {"within, knee", "too few", "missed", "12 of 600 requests failed"})
        EXPECT_THAT(text, HasSubstr(expected));
    SweepFile sweep;
    sweep.points = points;
    EXPECT_THAT(sweep_summary(sweep), HasSubstr("knee: the highest load that meets all limits"));
    sweep.points.pop_back();
    EXPECT_THAT(sweep_summary(sweep), Not(HasSubstr("knee"))) << "no load misses a limit";
    points.back().load_label = "45.2548 req/s ×8";
    points.back().repeat = 2;
    EXPECT_THAT(sweep_table(points), HasSubstr("45.2548 req… ×8 #2"));
}

TEST(SweepTable, HasTheCostOfEachLoadAndWhatItIsComputedFrom) {
    SweepFile sweep;
    for (const std::uint64_t load : {8, 64, 512})
        sweep.points.push_back(
            sweep_point_of(sample::run(load), {.directory = "d", .load = static_cast<double>(load)}));
    EXPECT_THAT(sweep_summary(sweep), Not(HasSubstr("$/M")));
    const auto cost = [](const SweepPoint& point) -> std::optional<HeadlineCost> {
        if (point.load > 64) return std::nullopt;
        return HeadlineCost{16.384 / point.load, "h100-sxm", 2.95, "on_demand", "2026-11-cloud"};
    };
    const std::string text = sweep_summary(sweep, {}, cost);
    expect_at_most_80_columns(text);
    for (const char* expected :
         {"$/M", " 2.05 ", " 0.256 ", "$/M: dollars for a million output tokens (h100-sxm at $2.95/h,"})
        EXPECT_THAT(text, HasSubstr(expected));
    sweep.points.front().load_label = "123456 req/s";
    const std::string wide = sweep_summary(sweep, {}, cost);
    expect_at_most_80_columns(wide);
    EXPECT_THAT(wide, AllOf(HasSubstr("$/M"), Not(HasSubstr("per user"))));
}

TEST(SweepTable, SaysWhyLoadsAreNotValid) {
    std::vector<SweepPoint> points;
    for (const std::uint64_t load : {8, 16, 32, 64}) {
        points.push_back(sweep_point_of(sample::run(load), {.load = static_cast<double>(load)}));
        points.back().verdict = load == 8 ? Verdict::valid : Verdict::warn;
        points.back().note = "no steady state: 12 requests were made, and 16 are needed";
    }
    points.back().note = "the server restarted: twice";
    const std::string text = sweep_table(points);
    expect_at_most_80_columns(text);
    EXPECT_THAT(text, HasSubstr("  warn        c=16, c=32: in c=16, no steady state: 12 requests were made"));
    EXPECT_THAT(text, HasSubstr("  warn        c=64: the server restarted: twice\n"));
    EXPECT_THAT(text, Not(HasSubstr("c=8:")));
}

TEST(SweepTable, NamesTheLoadWithTheMostGoodRequests) {
    SweepFile sweep;
    for (const std::uint64_t load : {8, 16, 32}) {
        sweep.points.push_back(sweep_point_of(sample::run(load), {.load = static_cast<double>(load)}));
        sweep.points.back().goodput_per_s = load == 16 ? 12.5 : 3;
        sweep.points.back().goodput_ratio = load == 16 ? .97 : .2;
    }
    std::string text = sweep_summary(sweep);
    expect_at_most_80_columns(text);
    EXPECT_THAT(text, HasSubstr("good/s"));
    EXPECT_THAT(text, HasSubstr("c=16 has the most good requests: 12.5 per second, 97 % of its\n"));
    for (SweepPoint& point : sweep.points) point.goodput_per_s = 0;
    EXPECT_THAT(sweep_summary(sweep), HasSubstr("No request of any load meets every limit of --goodput."));
}

TEST(SweepTable, RoundsARateThatHasManyDigits) {
    RunResult run = sample::run(8);
    run.concurrency.reset();
    for (const auto& [rate, label] : std::map<double, std::string>{
             {56.568542, "56.6 req/s"}, {4, "4 req/s"}, {12345, "12345 req/s"}, {.0025, "0.0025 req/s"}}) {
        run.request_rate = rate;
        EXPECT_THAT(load_label_of(run), testing::EndsWith(label));
    }
}

TEST(SweepTable, ShowsThePercentilesWithLimitsBesideTheirLimits) {
    RunResult run = sample::run(8);
    run.slo = {{.key = "ttft_p95", .limit = .06, .value = .0383, .verdict = SloVerdict::met},
               {.key = "tpot_p95", .limit = .012, .value = .0125, .verdict = SloVerdict::missed}};
    const SweepPoint point = sweep_point_of(run, {.directory = "d", .load = 8, .repeat = 2});
    EXPECT_EQ(point.limits.at("tpot_p95"), (LimitedPercentile{.0125, .012}));
    SweepFile sweep;
    sweep.axis = "concurrency";
    sweep.points = {point};
    sweep.search.emplace();
    sweep.search->slos = {"ttft_p95:60"};
    sweep.search->pass = 41;
    sweep.search->saturation = 17.5;
    sweep.search->most_requests_per_s = 50;
    sweep.search->elasticity = {.1};
    sweep.search->saturated_from = 8;
    const std::string text = sweep_summary(sweep);
    expect_at_most_80_columns(text);
    for (const char* expected :
         {"tpot_p95 / 12  ttft_p95 / 60  verdict", "12.5", "38.3", "missed", "#2: the second run of a load"})
        EXPECT_THAT(text, HasSubstr(expected));
    EXPECT_THAT(text, HasSubstr("hardly grows above 8 in flight")) << "throughput stopped growing";
    EXPECT_LT(text.find("shown"), text.find("legend"));
}

TEST(SweepSummary, heads_every_table_if_one_has_a_heading) {
    SweepFile sweep;
    sweep.options = {{"osl", "20"}, {"isl", "100"}};
    sweep.points = {sweep_point_of(sample::run(8), {.directory = "a", .load = 8, .cell = {{"osl", "40"}}}),
                    sweep_point_of(sample::run(8), {.directory = "b", .load = 8})};
    const std::string text = sweep_summary(sweep);
    EXPECT_LT(text.find("osl 40\n"), text.find("osl 20\n"));
    EXPECT_NE(text.find("osl 20\n"), std::string::npos);
    sweep.options.clear();
    EXPECT_THAT(sweep_summary(sweep), HasSubstr("as first measured\n"));
    sweep.points.erase(sweep.points.begin());
    EXPECT_THAT(sweep_summary(sweep), Not(HasSubstr("as first measured")));
}

TEST(SweepSummary, says_why_requests_of_a_point_failed) {
    RunResult run = sample::run(8);
    run.counts.failed = 35;
    run.counts.by_outcome = {{"timeout", 3}, {"http_error", 32}};
    run.counts.example_errors = {{"http_error", "429 Too Many Requests"}};
    SweepFile sweep;
    sweep.points = {sweep_point_of(run, {.directory = "d", .load = 8})};
    EXPECT_THAT(sweep_summary(sweep),
                HasSubstr("35 of 600 requests failed: 32 http_error, e.g. 429 Too Many\n"));
    EXPECT_EQ(sweep.points.front().failures, "32 http_error, e.g. 429 Too Many Requests; 3 timeout");
}

}  // namespace
}  // namespace paretoken::reports
