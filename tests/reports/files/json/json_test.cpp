#include "reports/files/json/json_lines.h"
#include "reports/files/json/record_lines.h"
#include "reports/files/json/report_json.h"
#include "reports/files/json/run_json.h"
#include "reports/files/json/sweep_json.h"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/random.h"
#include "core/result/figures.h"
#include "core/run/server_figures.h"
#include "tests/reports/sample_report.h"
#include "tests/support/message_of.h"
#include "tests/support/paths.h"

namespace paretoken::reports {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A text that breaks JSON, HTML or a template if it is not escaped.
const std::string kHostile = "\"},\\ </script><!-- {{css}} \n\t\r |`$ é 漢 \x01 ' & %s {}";

// Makes the values of random results: absent or present, small or large, plain or hostile.
class Maker {
  public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}

    bool coin() { return random_.below(2) == 0; }
    std::uint64_t whole() { return random_() >> random_.below(64); }
    double number() {
        return (random_.uniform() - 0.3) * std::pow(10.0, static_cast<double>(random_.below(20)) - 10);
    }
    std::optional<double> maybe() { return coin() ? std::optional(number()) : std::nullopt; }
    std::string text() {
        return coin() ? kHostile.substr(0, 10 + random_.below(8)) : "text " + std::to_string(whole());
    }
    std::optional<Interval> interval() {
        if (coin()) return std::nullopt;
        return Interval{number(), coin() ? kInfinity : number()};
    }
    Figures throughput() {
        Figures held;
        for (const Figure& figure : figures())
            if (coin()) held.values.push_back({std::string(figure.key), number(), interval(), maybe()});
        return held;
    }
    Totals totals() {
        Totals held;
        held.seconds = number();
        held.requests = number();
        held.output_tokens = number();
        held.prefill_pairs = number();
        held.decoded_cached_tokens = number();
        for (double& sum : held.decoded_context_within.within) sum = number();
        for (double& sum : held.prefill_pairs_within.within) sum = number();
        return held;
    }
    Scope scope() {
        Scope s;
        s.counts = counts();
        for (const Metric& m : metrics())
            if (coin()) s.metrics.push_back(metric(key_of(m)));
        s.throughput = throughput();
        s.whole_run = throughput();
        s.totals = totals();
        s.whole_run_totals = totals();
        return s;
    }
    Counts counts() {
        return {.requests = whole(),
                .ok = whole(),
                .failed = whole(),
                .cancelled = whole(),
                .warmup = whole(),
                .in_window = whole(),
                .resent = whole(),
                .unstreamed = whole(),
                .by_outcome = {{"ok", whole()}, {"timed_out", whole()}},
                .example_errors = {{"timed_out", text()}}};
    }
    MetricSummary metric(std::string key) {
        MetricSummary summary{.key = std::move(key),
                              .n = whole(),
                              .mean = maybe(),
                              .std = maybe(),
                              .min = maybe(),
                              .max = maybe(),
                              .percentiles = {},
                              .failed_mass = random_.uniform()};
        for (const double p : {.5, .75, .9, .95, .99, .999})
            summary.percentiles.push_back({.p = p,
                                           .value = maybe(),
                                           .ci95 = interval(),
                                           .certified = coin(),
                                           .effective_n = maybe(),
                                           .enough_n = whole(),
                                           .decided = interval()});
        return summary;
    }
    RunResult result() {
        RunResult r;
        r.provenance = {.run_id = text(),
                        .version = text(),
                        .commit = text(),
                        .argv = {text(), text(), ""},
                        .command = text(),
                        .started_at = text(),
                        .host = text(),
                        .host_cpu = text(),
                        .host_cores = static_cast<std::uint32_t>(random_.below(512)),
                        .kernel = text(),
                        .clock = text(),
                        .url = text(),
                        .model = text(),
                        .server_kind = text(),
                        .hardware = text(),
                        .hardware_count = static_cast<std::uint32_t>(random_.below(9)),
                        .simulator = {{"step_s", number()}},
                        .metadata = {{text(), text()}}};
        r.plan = {{text(), text()}, {"b", text()}};
        r.workload = {.fingerprint = text(),
                      .dataset = text(),
                      .endpoint = text(),
                      .seed = random_(),
                      .salt = text(),
                      .prompt_form = text(),
                      .length_source = text(),
                      .text = text(),
                      .wanted_input_tokens = maybe(),
                      .wanted_output_tokens = maybe(),
                      .achieved_input_tokens = maybe(),
                      .achieved_output_tokens = maybe(),
                      .input_length = Asked{number(), number()},
                      .output_length = {},
                      .cached_by_template = maybe()};
        r.validity = {.verdict = coin() ? Verdict::warn : Verdict::invalid,
                      .reasons = {{Verdict::invalid, text(), text()}, {Verdict::warn, text(), ""}}};
        r.partial = coin();
        if (coin()) r.stop = StopReason{.rule = text(), .at_s = number(), .text = text()};
        r.window = {
            .begin_s = number(), .end_s = number(), .run_s = number(), .steady = coin(), .how = text()};
        static_cast<Scope&>(r) = scope();
        if (coin())
            r.server = ServerFigures{.engine = text(),
                                     .engines = whole(),
                                     .sources = {{text(), text()}},
                                     .window = {{text(), number()}},
                                     .whole_run = {{text(), number()}},
                                     .asked = {{text(), number()}},
                                     .accepted_per_position = {number(), number()},
                                     .config = {{text(), text()}},
                                     .scrapes = whole(),
                                     .failed_scrapes = whole(),
                                     .note = text()};
        if (coin())
            r.power = PowerFigures{.source = "rapl",
                                   .devices = static_cast<std::uint32_t>(random_.below(9)),
                                   .mean_w = maybe(),
                                   .energy_j = maybe(),
                                   .counter_j = maybe(),
                                   .j_per_output_token = maybe(),
                                   .j_per_token = maybe(),
                                   .output_tokens_per_s_per_w = maybe(),
                                   .throttled_share = maybe(),
                                   .utilization = maybe(),
                                   .readings = whole(),
                                   .note = text()};
        if (coin())
            r.alerts = {{.name = text(),
                         .series = text(),
                         .severity = coin() ? AlertSeverity::warn : AlertSeverity::fail,
                         .state = coin() ? AlertState::firing : AlertState::unknown,
                         .value = maybe(),
                         .threshold = maybe(),
                         .at_s = maybe(),
                         .note = text()}};
        if (coin()) r.classes = {{"interactive", scope()}, {text(), scope()}};
        for (std::optional<double>* field :
             {&r.client.kernel_stamp_share, &r.client.loop_lag_p50_s, &r.client.loop_lag_p99_s,
              &r.client.connection_wait_p99_s, &r.client.slot_wait_p99_s, &r.client.refill_lag_mean_s,
              &r.client.achieved_rate_ratio, &r.client.user_delay_p50_s, &r.client.user_delay_p99_s,
              &r.client.unstamped_delay_p99_s, &r.client.grouped_share, &r.client.late_grouped_share,
              &r.client.cpu_share, &r.client.cpu_windows_above_85, &r.client.hiccup_share,
              &r.client.retransmit_share, &r.client.clock_jump_max_s})
            *field = maybe();
        r.client.timing = text();
        r.client.connections_opened = whole();
        r.client.workers = static_cast<std::uint32_t>(random_.below(64));
        for (int i = 0; i < 3; ++i)
            r.series.push_back({.name = text(),
                                .unit = text(),
                                .source = text(),
                                .times_s = {number(), number()},
                                .values = {number(), number()}});
        if (coin()) r.concurrency = whole();
        if (coin()) r.request_rate = number();
        return r;
    }

  private:
    Random random_;
};

TEST(RunJson, ReadsBackExactlyWhatWasWritten) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const RunResult result = Maker(seed).result();
        ASSERT_EQ(parse_run_json(run_json(result), "run.json"), result) << "seed " << seed << "\n"
                                                                        << run_json(result);
    }
}

TEST(RunJson, ReadsBackADefaultResult) {
    EXPECT_EQ(parse_run_json(run_json({}), "run.json"), RunResult{});
}

TEST(RunJson, a_plan_has_the_json_types_of_its_fields) {
    RunResult result;
    result.plan = {
        {"workers", "2"}, {"temperature", "0.7"}, {"virtual", "true"}, {"timeout", "600s"}, {"salt", "7"}};
    const std::string text = run_json(result);
    EXPECT_EQ(json::parse(text)["plan"],
              json::parse(
                  R"({"workers": 2, "temperature": 0.7, "virtual": true, "timeout": "600s", "salt": "7"})"));
    EXPECT_EQ(parse_run_json(text, "run.json").plan, result.plan);
}

TEST(RunJson, KeepsTheKeysThatAreForGood) {
    RunResult result = sample::run(16);
    result.throughput.set(figure::kGoodput, 3);
    result.throughput.set(figure::kGoodputRatio, .97);
    const json j = json::parse(run_json(result));
    EXPECT_EQ(j["schema"], "paretoken/run/3");
    EXPECT_EQ(j["definitions"], "paretoken/1");
    for (const char* key : {"provenance", "plan", "workload", "validity", "window", "counts", "metrics",
                            "throughput", "whole_run", "client", "series"})
        EXPECT_TRUE(j.contains(key)) << key;
    EXPECT_EQ(j["validity"]["verdict"], "valid");
    EXPECT_TRUE(j["validity"]["reasons"].is_array());
    for (const char* key : {"requests", "ok", "failed", "by_outcome"})
        EXPECT_TRUE(j["counts"].contains(key)) << key;
    for (const char* key : {"ttft_s", "itl_s", "tpot_s", "e2e_s", "interactivity_tok_per_s"})
        EXPECT_TRUE(j["metrics"].contains(key)) << key;
    const json& ttft = j["metrics"]["ttft_s"];
    for (const char* key : {"n", "mean", "std", "min", "p50", "p75", "p90", "p95", "p99", "p999", "max",
                            "ci95", "certified", "failed_mass"})
        EXPECT_TRUE(ttft.contains(key)) << key;
    EXPECT_EQ(ttft["ci95"]["p50"].size(), 2U);
    EXPECT_TRUE(ttft["certified"]["p90"].is_boolean());
    for (const char* key : {"requests_per_s", "input_tokens_per_s", "output_tokens_per_s",
                            "total_tokens_per_s", "goodput_per_s", "goodput_ratio"})
        EXPECT_TRUE(j["throughput"].contains(key)) << key;
}

TEST(RunJson, WritesWhatFallsAmongFailuresAsNull) {
    const json j = json::parse(run_json(sample::failing_run(32, .012, 8)));
    const json& ttft = j["metrics"]["ttft_s"];
    EXPECT_TRUE(ttft["p99"].is_null());
    EXPECT_TRUE(ttft["ci95"]["p99"][1].is_null());
    EXPECT_TRUE(ttft["ci95"]["p99"][0].is_number());
    EXPECT_GT(ttft["failed_mass"].get<double>(), 0);
}

TEST(RunJson, LeavesOutWhatWasNotMeasured) {
    RunResult result = sample::run(16);
    result.client.retransmit_share.reset();
    const json j = json::parse(run_json(result));
    EXPECT_FALSE(j["client"].contains("retransmit_share"));
    EXPECT_FALSE(j["throughput"].contains("goodput_per_s"));
    EXPECT_FALSE(j["metrics"].contains("cache_hit_ratio"));
}

TEST(RunJson, ToleratesKeysOfLaterVersions) {
    json j = json::parse(run_json(sample::run(4)));
    j["server"] = {{"kv_usage", 0.5}};
    j["metrics"]["ttft_s"]["p42"] = 0.1;
    j["provenance"]["moon_phase"] = "full";
    j["client"]["loop_lag_p75_s"] = 1e-5;
    EXPECT_EQ(parse_run_json(j.dump(), "run.json").counts, sample::run(4).counts);
}

TEST(RunJson, of_the_version_before_is_read_if_its_run_had_ended) {
    json j = json::parse(run_json(sample::run(4)));
    const RunResult now = parse_run_json(j.dump(), "a/run.json");
    j["schema"] = "paretoken/run/2";
    j["state"] = "finished";
    EXPECT_EQ(parse_run_json(j.dump(), "a/run.json"), now);
    j["state"] = "running";
    EXPECT_THAT(message_of<UsageError>([&] { parse_run_json(j.dump(), "a/run.json"); }),
                AllOf(HasSubstr("a/run.json: the run was killed"), HasSubstr("measure again")));
}

TEST(RunJson, RefusesAnotherSchemaOrOtherDefinitionsByName) {
    json j = json::parse(run_json(sample::run(4)));
    j["schema"] = "paretoken/run/1";
    EXPECT_THAT(message_of<UsageError>([&] { parse_run_json(j.dump(), "a/run.json"); }),
                AllOf(HasSubstr("a/run.json"), HasSubstr("\"schema\""), HasSubstr("paretoken/run/3"),
                      HasSubstr("paretoken/run/1")));
    j["schema"] = kRunSchema;
    j["definitions"] = "paretoken/9";
    EXPECT_THAT(message_of<UsageError>([&] { parse_run_json(j.dump(), "a/run.json"); }),
                AllOf(HasSubstr("definitions"), HasSubstr("paretoken/9")));
    EXPECT_THAT(message_of<UsageError>([&] { parse_run_json("{}", "a/run.json"); }),
                AllOf(HasSubstr("schema"), HasSubstr("missing")));
    EXPECT_THAT(message_of<UsageError>([&] { parse_run_json("[1]", "a/run.json"); }), HasSubstr("schema"));
}

TEST(RunJson, NamesFileAndKeyOfWhatIsWrong) {
    const json good = json::parse(run_json(sample::run(4)));
    const auto spoiled = [&](const char* pointer, const json& value) {
        json j = good;
        j[json::json_pointer(pointer)] = value;
        return message_of<UsageError>([&] { parse_run_json(j.dump(), "d/run.json"); });
    };
    EXPECT_THAT(
        spoiled("/throughput/requests_per_s", "fast"),
        AllOf(HasSubstr("d/run.json"), HasSubstr("throughput.requests_per_s"), HasSubstr("a string")));
    EXPECT_THAT(spoiled("/metrics/ttft_s/p90", "x"), HasSubstr("metrics.ttft_s.p90"));
    EXPECT_THAT(spoiled("/metrics/ttft_s/n", -1),
                AllOf(HasSubstr("metrics.ttft_s.n"), HasSubstr("whole number")));
    EXPECT_THAT(spoiled("/metrics", json::array()), HasSubstr("\"metrics\""));
    EXPECT_THAT(spoiled("/metrics/ttft_s", 3), HasSubstr("metrics.ttft_s"));
    EXPECT_THAT(spoiled("/validity/verdict", "splendid"),
                AllOf(HasSubstr("validity.verdict"), HasSubstr("splendid")));
    EXPECT_THAT(spoiled("/provenance/argv/1", 7), HasSubstr("provenance.argv[1]"));
    EXPECT_THAT(spoiled("/metrics/ttft_s/ci95/p50", json::array({1})), HasSubstr("metrics.ttft_s.ci95.p50"));
    EXPECT_THAT(spoiled("/provenance/host_cores", 1e10), HasSubstr("provenance.host_cores"));
    json without = good;
    without.erase("workload");
    EXPECT_THAT(message_of<UsageError>([&] { parse_run_json(without.dump(), "d/run.json"); }),
                AllOf(HasSubstr("d/run.json"), HasSubstr("\"workload\" is missing")));
}

TEST(RunJson, refuses_a_file_that_nests_without_end) {
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    json j = json::parse(run_json(sample::run(8)));
    std::string text = j.dump();
    const std::string plan = "\"plan\":{";
    text.insert(text.find(plan) + plan.size(), "\"x\":" + deep + ",");
    EXPECT_THAT(message_of<UsageError>([&] { parse_run_json(text, "d/run.json"); }),
                AllOf(HasSubstr("d/run.json"), HasSubstr("nested deeper")));
}

TEST(RunJson, RefusesEveryPrefixOfAFile) {
    const std::string text = run_json(sample::run(2));
    for (std::size_t size = 0; size + 2 < text.size(); size += 397)
        EXPECT_THROW(parse_run_json(text.substr(0, size), "run.json"), UsageError) << size;
}

TEST(RunJson, StaysJsonWhateverBytesAServerSent) {
    RunResult result = sample::run(2);
    result.counts.example_errors["http_error"] = "\xff\xfe\x80 broken";
    EXPECT_TRUE(is_complete_json(run_json(result)));
}

// ---- the schema, as far as it is used: type, required, properties, additionalProperties, items, enum, $ref

void expect_matches(const json& schema, const json& whole, const json& value, const std::string& where) {
    if (schema.contains("$ref")) {
        expect_matches(whole[json::json_pointer(schema["$ref"].get<std::string>().substr(1))], whole, value,
                       where);
        return;
    }
    const std::string kind = value.is_number_integer() ? "integer"
                             : value.is_number()       ? "number"
                                                       : value.type_name();
    if (schema.contains("type")) {
        const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
        const bool matches = std::any_of(types.begin(), types.end(), [&](const json& t) {
            return t == kind || (t == "number" && kind == "integer");
        });
        EXPECT_TRUE(matches) << where << " is a " << kind;
    }
    if (schema.contains("enum")) {
        EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end())
            << where;
    }
    if (schema.contains("const")) {
        EXPECT_EQ(schema["const"], value) << where;
    }
    for (const json& key : schema.value("required", json::array()))
        EXPECT_TRUE(value.contains(key)) << where << "." << key;
    if (value.is_object())
        for (const auto& [key, element] : value.items()) {
            if (schema.contains("properties") && schema["properties"].contains(key))
                expect_matches(schema["properties"][key], whole, element, where + "." + key);
            else if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
                expect_matches(schema["additionalProperties"], whole, element, where + "." + key);
            else
                ADD_FAILURE() << where << "." << key << " is written, and not in schema.json";
        }
    if (value.is_array() && schema.contains("items"))
        for (const json& element : value) expect_matches(schema["items"], whole, element, where + "[]");
}

TEST(RunJson, WithANumberThatNoDoubleHoldsIsRefused) {
    try {
        (void)parse_run_json("{\"schema\":1e999}", "run.json");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("run.json: a number is beyond"), std::string::npos);
    }
}

TEST(RunJson, MatchesThePublishedSchemaKeyForKey) {
    std::ifstream file(paretoken::paths::source_dir() + "/reports/schema.json");
    const json schema = json::parse(file);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const json run = json::parse(run_json(Maker(seed).result()));
        expect_matches(schema["$defs"]["run"], schema, run, "run");
    }
    const json sweep =
        json::parse(sweep_json({.axis = "concurrency",
                                .started_at = "",
                                .command = "",
                                .options = {},
                                .points = {sweep_point_of(sample::run(2), {.directory = "c2", .load = 2})}}));
    expect_matches(schema["$defs"]["sweep"], schema, sweep, "sweep");
    std::string line;
    RequestRecord record;
    record.sent = record.headers = record.first_event = record.first_answer = record.last_event =
        record.finished = TimePoint{};
    record.connect.emplace();
    record.usage = {.prompt = 1, .cached_prompt = 2, .completion = 3, .reasoning = 4};
    record.longest_gap.emplace();
    record.wanted_input_tokens = record.wanted_output_tokens = 1;
    record.id = record.request_class = record.error = record.finish_reason = "x";
    record.warmup = record.resent = true;
    record.first_early = record.last_early = std::chrono::milliseconds(2);
    append_record_line(line, record, {}, "0123456789abcdef0123456789abcdef");
    expect_matches(schema["$defs"]["request"], schema, json::parse(line), "request");
}

// ---- sweep.json

TEST(SweepJson, ReadsBackExactlyWhatWasWritten) {
    SweepFile sweep{.axis = "request_rate",
                    .started_at = "2026-11-21T09:38:00Z",
                    .command = kHostile.substr(0, 12),
                    .options = {{"isl", "512"}},
                    .points = {}};
    sweep.points.push_back(sweep_point_of(sample::run(2), {.directory = "c2", .load = 2}));
    sweep.points.push_back(sweep_point_of(sample::failing_run(4, .012, 8), {.directory = "c4", .load = 4}));
    sweep.points.push_back(
        {.directory = "c8", .load_label = "c=8", .load = 8, .state = PointState::running, .error = {}});
    sweep.points.push_back({.directory = "c16",
                            .load_label = "c=16",
                            .load = 16,
                            .state = PointState::failed,
                            .error = "connection refused"});
    sweep.points.push_back({.directory = "c32", .load_label = "c=32", .load = 32});
    EXPECT_EQ(parse_sweep_json(sweep_json(sweep), "sweep.json"), sweep);
}

TEST(SweepJson, HoldsTheHeadlineOfARun) {
    const SweepPoint point = sweep_point_of(sample::run(16), {.directory = "c16", .load = 16});
    EXPECT_EQ(point.load_label, "c=16");
    EXPECT_EQ(point.ttft_p99_s, sample::run(16).metric("ttft_s")->at(.99)->value);
    EXPECT_EQ(point.verdict, Verdict::valid);
    EXPECT_EQ(sweep_point_of(sample::failing_run(16, .012, 8), {.directory = "c16", .load = 16}).ttft_p99_s,
              std::nullopt);
}

TEST(SweepJson, RefusesAnUnknownStateByName) {
    json j = json::parse(sweep_json({.axis = "concurrency",
                                     .started_at = "",
                                     .command = "",
                                     .options = {},
                                     .points = {{.directory = "a"}}}));
    j["points"][0]["state"] = "asleep";
    EXPECT_THAT(message_of<UsageError>([&] { parse_sweep_json(j.dump(), "s/sweep.json"); }),
                AllOf(HasSubstr("s/sweep.json"), HasSubstr("points[0].state"), HasSubstr("asleep")));
}

// ---- the report

TEST(ReportJson, HoldsEveryPointWithItsRunButNoTimeSeries) {
    const json j = json::parse(report_json(sample::report()));
    EXPECT_EQ(j["schema"], "paretoken/report/1");
    ASSERT_EQ(j["configurations"].size(), 2U);
    const json& point = j["configurations"][0]["points"][3];
    EXPECT_EQ(point["load_label"], "c=8");
    EXPECT_TRUE(point["cost"]["usd_per_m_output"].is_number());
    EXPECT_TRUE(point["run"]["metrics"]["ttft_s"]["p99"].is_number());
    EXPECT_FALSE(point["run"].contains("series"));
    EXPECT_EQ(j["price"]["as_of"], "2026-11-01");
}

/// A report that has a value for everything that a report may hold.
ReportModel full_report() {
    ReportModel model = sample::report();
    Maker maker(7);
    Configuration& configuration = model.configurations[0];
    configuration.labels = {{"precision", "q4_1"}};
    configuration.quality = Quality{.score = .5, .n = 400, .ci95 = {.45, .55}, .source = "scores.json"};
    configuration.errors = {"c=8: above the limit"};
    for (auto* curve : {&configuration.datasheet, &configuration.size_aware, &configuration.no_overlap,
                        &configuration.reachable})
        *curve = configuration.hard_limit;
    ReportPoint& point = configuration.points[0];
    point.result = maker.result();
    point.result.slo = {{}};
    point.result.server.emplace();
    point.result.provenance.model_card.emplace();
    point.result.provenance.server.emplace();
    point.limit_tolerance = .01;
    point.cost->usd_per_m_cached_split = point.cost->usd_per_m_goodput = 1;
    point.utilisation = Utilisation{.mfu = .1, .mbu = .2};
    point.gap =
        Gap{.step_ms = 3, .usd_per_m_output = 1, .parts = {{.name = "residual", .ms = 3, .usd_per_m = 1}}};
    model.choice = {.slos = {"ttft_p95:800"},
                    .ranked = {{.load_label = "c=8",
                                .usd_per_m_output = 1,
                                .output_tokens_per_s = 2,
                                .interactivity = 3,
                                .margins = {"ttft_p95 48 ms of 800 ms"},
                                .within = "c=16 is cheaper"}}};
    model.cost = CostSheet{.hit = .5, .target_usd_per_m = 1, .needed_output_tokens_per_s = 2};
    model.cost->apis = {
        {.name = "api", .as_of = "2026-11-01", .cached = .1, .break_even_tokens_per_month = 1e9}};
    model.measurement_usd = .1;
    Picture chart{.id = "ttft_p95",
                  .title = "ttft_p95 against load",
                  .x_title = "c",
                  .y_title = "ms",
                  .series = {},
                  .lines = {}};
    chart.series = {{"meets the limit", {{.x = 1, .y = 2, .row = "d/c1", .note = "n"}}}};
    chart.lines = {{"limit", 500}};
    chart.marks = {{"misses", 16}};
    model.searches = {{.directory = "d",
                       .slos = {"ttft_p95:500"},
                       .text = "found",
                       .certify = "paretoken run",
                       .narrow = "paretoken sweep",
                       .pictures = {chart}}};
    model.what_ifs = {{.asked = "gpu=h200",
                       .title = "llama on H200",
                       .points = {{.load_label = "c=8", .interactivity = 1, .usd_per_m_output = 2}}}};
    model.front = {.x = "interactivity_p90", .y = "usd_per_m", .separate = {"B has another workload."}};
    model.devices = {
        {.title = "CPU",
         .facts = {},
         .pictures = {{.id = "weights",
                       .title = "Weight bandwidth by batch",
                       .x_title = "Batch",
                       .y_title = "GB/s",
                       .series = {{.name = "bf16", .points = {{.x = 1, .y = 2, .row = "a", .note = "b"}}}},
                       .lines = {{.name = "read", .y = 3}}}},
         .layers = {{.name = "layer",
                     .operations = {{.name = "qkv", .group = "attention", .seconds = 1}},
                     .seconds = 1}},
         .ceilings = {{.name = "read", .value = 3, .unit = "GB/s", .note = "b"}}}};
    return model;
}

TEST(ReportJson, MatchesThePublishedSchemaKeyForKey) {
    std::ifstream file(paretoken::paths::source_dir() + "/reports/schema.json");
    const json schema = json::parse(file);
    for (const ReportModel& model : {ReportModel{}, sample::report(), full_report()})
        expect_matches(schema["$defs"]["report"], schema, json::parse(report_json(model)), "report");
}

TEST(ChartJson, CannotEndTheScriptElementItStandsIn) {
    ReportModel model = sample::report();
    model.configurations[0].title = "</script><script>alert(1)</script><!--";
    const std::string text = chart_json(model, {});
    EXPECT_EQ(text.find('<'), std::string::npos);
    EXPECT_EQ(json::parse(text)["configurations"][0]["title"], model.configurations[0].title);
}

TEST(ChartJson, HoldsACommandThatManyRunsShareOnce) {
    ReportModel model = sample::report();
    for (Configuration& configuration : model.configurations)
        for (ReportPoint& point : configuration.points)
            point.result.provenance.command = "paretoken sweep " + configuration.title;
    const json drawn = json::parse(chart_json(model, {}));
    ASSERT_EQ(drawn["commands"].size(), 2U);
    for (std::size_t i = 0; i < 2; ++i)
        for (const json& point : drawn["configurations"][i]["points"])
            EXPECT_EQ(drawn["commands"][point["command"].get<std::size_t>()],
                      "paretoken sweep " + model.configurations[i].title);
}

TEST(ChartJson, HoldsTheDateOfEveryRunAndOpensWithItWhereItWasAskedFor) {
    ReportModel model = sample::report();
    model.front.x = "interactivity_p90";
    EXPECT_EQ(json::parse(chart_json(model, {}))["axes"]["x"], "interactivity_p90");
    model.front.over_time = true;
    const json drawn = json::parse(chart_json(model, {}));
    EXPECT_EQ(drawn["axes"]["x"], "date");
    EXPECT_EQ(drawn["configurations"][0]["points"][0]["at"], "2026-11-21T09:38:00Z");
}

TEST(ChartJson, DrawsNoLoadThatWasNeverReached) {
    ReportModel model = sample::report();
    const std::size_t points = model.configurations[0].points.size();
    const std::string label = model.configurations[0].points[0].load_label;
    model.configurations[0].points[0].reached = false;
    const json drawn = json::parse(chart_json(model, {}))["configurations"][0]["points"];
    // The point keeps its index, because other points refer to it, and is marked as hidden.
    ASSERT_EQ(drawn.size(), points);
    EXPECT_EQ(drawn[0]["label"], label);
    EXPECT_EQ(drawn[0]["hidden"], true);
    EXPECT_FALSE(drawn[1].contains("hidden"));
}

TEST(ChartJson, DrawsOpenLoopLatencyFromTheIntendedStart) {
    ReportModel model = sample::report();
    ReportPoint& point = model.configurations[0].points[0];
    point.open_loop = true;
    for (MetricSummary& metric : point.result.metrics)
        if (metric.key == "ttft_intended_s") metric.percentiles[0].value = 77;
    EXPECT_EQ(json::parse(chart_json(model, {}))["configurations"][0]["points"][0]["ttft"]["values"][0], 77);
}

}  // namespace
}  // namespace paretoken::reports
