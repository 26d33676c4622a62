#include "reports/analysis/model/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/gap.h"
#include "reports/analysis/model/join/gaps.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

PercentileValue percentile(double p, double value, bool certified = true) {
    return {.p = p,
            .value = value,
            .ci95 = Interval{value * 0.98, value * 1.02},
            .certified = certified,
            .decided = Interval{value * 0.98, value * 1.02}};
}

MetricSummary metric(const std::string& key, double p90, bool certified = true) {
    MetricSummary summary;
    summary.key = key;
    summary.n = 500;
    summary.mean = p90;
    summary.percentiles = {percentile(.5, p90), percentile(.9, p90, certified),
                           percentile(.99, p90, certified)};
    return summary;
}

/// A run of a local llama.cpp server on two cores: each user gets `per_user` tokens/s, all users together
/// `output`.
LoadedRun run(std::uint64_t concurrency, double per_user, double output) {
    LoadedRun loaded;
    loaded.directory = "runs/c" + std::to_string(concurrency);
    RunResult& r = loaded.result;
    r.provenance.model = "smollm2";
    r.provenance.host_cpu = "AMD EPYC";
    r.provenance.host_cores = 2;
    r.provenance.hardware = "AMD EPYC";
    r.provenance.started_at = "2026-11-21T09:38:00Z";
    r.workload.fingerprint = "9f86d081884c7d65";
    r.workload.endpoint = "chat";
    r.workload.achieved_input_tokens = 512;
    r.workload.achieved_output_tokens = 128;
    r.concurrency = concurrency;
    r.counts.requests = r.counts.ok = 500;
    r.metrics = {metric("interactivity_tok_per_s", per_user), metric("ttft_s", 0.1)};
    r.throughput.set(figure::kOutputTokens, output, Interval{output * 0.95, output * 1.05});
    r.throughput.set(figure::kInputTokens, output * 4);
    r.throughput.set(figure::kTotalTokens, output * 5);
    r.throughput.set(figure::kMeanInFlight, static_cast<double>(concurrency));
    return loaded;
}

LoadedRun simulated(std::uint64_t concurrency, double per_user, double output) {
    LoadedRun loaded = run(concurrency, per_user, output);
    loaded.result.provenance.hardware = "sim:llama3-8b-h100-bf16";
    loaded.result.provenance.model = "llama3-8b";
    loaded.result.provenance.simulator = {{"weight_bytes", 15.0e9},
                                          {"weight_bytes_per_s", 2.31e12},
                                          {"kv_bytes_per_token", 131072},
                                          {"kv_bytes_per_s", 2.9e12},
                                          {"linear_s_per_token", 21.8e-6},
                                          {"lm_head_s_per_sequence", 1.75e-6},
                                          {"attention_flops_per_token_pair", 524288},
                                          {"attention_flops_per_s", 450e12},
                                          {"max_num_seqs", 256},
                                          {"kv_capacity_tokens", 441600}};
    return loaded;
}

MicroResults epyc_micro(double read_bytes_per_s = 40e9) {
    MicroResults micro;
    micro.device = {.id = "cpu", .name = "AMD EPYC", .cores = 2};
    micro.date = "2026-11-21T09:40:00Z";
    micro.read_bytes_per_s = MeasuredFigure{read_bytes_per_s, "ceiling/read/backend:cpu/threads:2"};
    micro.flops_per_s = {{"int8_dot", {1.6e12, "ceiling/flops/kind:int8_dot/backend:cpu/threads:2"}}};
    return micro;
}

JoinOptions cpu_options() {
    JoinOptions options;
    options.micro = {epyc_micro()};
    options.models = {{.card = cards::model_card("smollm2-135m")}};
    options.prices = cards::default_price_cards();
    return options;
}

const ReportPoint& point_at(const Configuration& configuration, double load) {
    for (const ReportPoint& point : configuration.points)
        if (point.load == load) return point;
    throw std::out_of_range("no such load");
}

TEST(Join, PutsRunsOfOneWorkloadOnOneCurveByLoad) {
    const ReportModel model = build_report({run(8, 20, 160), run(1, 60, 60), run(2, 45, 90)}, cpu_options());
    ASSERT_EQ(model.configurations.size(), 1u);
    const Configuration& c = model.configurations.front();
    ASSERT_EQ(c.points.size(), 3u);
    EXPECT_EQ(c.points[0].load, 1);
    EXPECT_EQ(c.points[2].load_label, "c=8");
    EXPECT_EQ(c.title, "smollm2-135m bf16 on AMD EPYC (2 cores)");
    EXPECT_THAT(c.workload, HasSubstr("512 in : 128 out, chat"));
}

TEST(Join, RefusesACopyOfARun) {
    LoadedRun first = run(1, 60, 60);
    first.result.provenance.run_id = "4711";
    LoadedRun copy = first;
    copy.directory = "runs/copy";
    EXPECT_THROW((void)build_report({first, copy}, cpu_options()), UsageError);
}

TEST(Join, DrawsALimitThatNoRunExceedsWhereTheirRequestsDifferInLength) {
    LoadedRun long_prompts = simulated(1, 60, 60);
    long_prompts.result.workload.achieved_input_tokens = 4096;
    JoinOptions options;
    options.gpu = "h100-sxm";
    const ReportModel model = build_report({long_prompts, simulated(64, 40, 2500)}, options);
    ASSERT_EQ(model.configurations.size(), 1u);
    const Configuration& c = model.configurations.front();
    EXPECT_THAT(c.workload, StartsWith("512 to 4,096 in : 128 out, chat"));
    for (const ReportPoint& point : c.points) {
        ASSERT_TRUE(point.of_limit);
        const double own_limit = point.output_tokens_per_s.value() / *point.of_limit;
        double highest = 0;
        for (const LimitPoint& at : c.hard_limit) highest = std::max(highest, at.output_tokens_per_s);
        EXPECT_LE(own_limit, highest * 1.0001) << point.load_label;
    }
}

TEST(Join, SeparatesWorkloadsModelsAndHardware) {
    LoadedRun other_workload = run(1, 60, 60);
    other_workload.result.workload.fingerprint = "other";
    LoadedRun other_model = run(1, 60, 60);
    other_model.result.provenance.model = "qwen";
    LoadedRun other_hardware = run(1, 60, 60);
    other_hardware.result.provenance.hardware = "NVIDIA H200";
    LoadedRun more_hardware = other_hardware;
    more_hardware.result.provenance.hardware_count = 2;
    LoadedRun same_hardware = other_hardware;
    same_hardware.result.provenance.hardware = "h200";
    const ReportModel model = build_report(
        {run(1, 60, 60), other_workload, other_model, other_hardware, more_hardware, same_hardware},
        cpu_options());
    ASSERT_EQ(model.configurations.size(), 5u);
    EXPECT_EQ(model.configurations[3].points.size(), 2u);
    EXPECT_THAT(model.notes, Contains(HasSubstr("applied to every real run")));
}

/// A run on one H200, with the power that `source` measured meanwhile.
LoadedRun run_on_h200(std::uint64_t concurrency, double output, double watts, const std::string& source) {
    LoadedRun loaded = run(concurrency, 40, output);
    RunResult& r = loaded.result;
    r.provenance.hardware = "NVIDIA H200";
    r.provenance.hardware_count = 1;
    r.window.end_s = 100;
    r.power = PowerFigures{.source = source, .devices = 1, .mean_w = watts, .energy_j = watts * 100};
    r.power->j_per_output_token = watts / output;
    return loaded;
}

JoinOptions h200_options() {
    JoinOptions options;
    options.prices = {cards::parse_price_card(R"({"schema": 1, "as_of": "2026-08-20", "currency": "USD",
        "source": "test", "gpus": {"h200": {"on_demand": 3.50, "tdp_w": 700}},
        "power_in_rate": false, "usd_per_kwh": 0.10, "pue": 1.3})",
                                              "test.json")};
    return options;
}

TEST(Join, PricesMeasuredJoulesInPlaceOfTheCardsWatts) {
    LoadedRun unmeasured = run_on_h200(8, 1000, 600, "nvml");
    unmeasured.result.power.reset();
    const ReportModel model = build_report({run_on_h200(4, 1000, 600, "nvml"), unmeasured}, h200_options());
    const auto& points = model.configurations.at(0).points;
    // 3.50 $/h + 0.600 kW × 1.3 × 0.10 $/kWh = 3.578 $/h, at 1000 tokens/s.
    EXPECT_NEAR(points[0].cost->usd_per_m_output, 3.578 / 3.6, 1e-9);
    EXPECT_NEAR(points[0].cost->usd_per_h, 3.578, 1e-9);
    EXPECT_EQ(points[0].cost->power, "measured by NVML");
    EXPECT_NEAR(points[0].cost->power_w.value(), 780, 1e-9);
    // 0.6 J per token at the board are 0.78 J at the plug; the cost beyond the rent is the cost of these
    // joules.
    EXPECT_NEAR(points[0].cost->usd_per_m_output - 3.50 / 3.6, 0.6 * 1.3 / 3.6 * 0.10, 1e-9);
    EXPECT_NEAR(points[1].cost->usd_per_m_output, (3.50 + 0.700 * 1.3 * 0.10) / 3.6, 1e-9);
    EXPECT_EQ(points[1].cost->power, "card");
    ASSERT_TRUE(model.price);
    EXPECT_EQ(model.price->power, "measured by NVML, card");
    ASSERT_EQ(model.price->rates.size(), 2u) << "the lowest and the highest";
    EXPECT_THAT(model.price->rates[0].name, HasSubstr("c=4"));
    EXPECT_THAT(model.price->rates[0].source, HasSubstr("600 W measured by NVML × PUE 1.3"));
    EXPECT_NEAR(model.price->rates[1].value, 3.591, 1e-9);
}

TEST(Join, SplitsAndSumsTheCostOfMeasuredJoules) {
    const ReportModel model = build_report({run_on_h200(4, 1000, 600, "nvml")}, h200_options());
    const PointCost cost = model.configurations.at(0).points.at(0).cost.value();
    EXPECT_NEAR(cost.usd_per_m_input_split.value() * 4000 + cost.usd_per_m_output_split.value() * 1000,
                3.578 / 3600 * 1e6, 1e-6)
        << "prices × rates are the cost";
    ASSERT_TRUE(model.cost);
    EXPECT_NEAR(model.cost->usd_per_month, 3.578 * 720, 1e-6);
}

TEST(Join, DoesNotPriceThePowerOfOtherDevicesOrOfAPartOfTheWindow) {
    LoadedRun several = run_on_h200(8, 1000, 2400, "nvml");
    several.result.power->devices = 4;
    LoadedRun gap = run_on_h200(16, 1000, 600, "nvml");
    gap.result.power->energy_j.reset();
    const ReportModel model = build_report({run_on_h200(4, 1000, 90, "rapl"), several, gap}, h200_options());
    for (const ReportPoint& point : model.configurations.at(0).points) {
        EXPECT_NEAR(point.cost->usd_per_h, 3.591, 1e-9) << point.load_label;
        EXPECT_EQ(point.cost->power, "card") << point.load_label;
    }
    EXPECT_EQ(model.price->rates.size(), 1u);

    LoadedRun stand_in = simulated(4, 40, 1000);
    stand_in.result.provenance.hardware = "sim:ideal";
    stand_in.result.power = PowerFigures{.source = "nvml", .devices = 1, .mean_w = 50, .energy_j = 5000};
    JoinOptions options = h200_options();
    options.gpu = "h200";
    EXPECT_NEAR(build_report({stand_in}, options).configurations.at(0).points.at(0).cost->usd_per_h, 3.591,
                1e-9)
        << "the power of the host of a simulated server is not that of the GPU it stands for";
}

TEST(Join, PricesTheWholeMachinePerOutputToken) {
    const ReportModel model = build_report({run(2, 45, 90)}, cpu_options());
    const PointCost cost = model.configurations.front().points.front().cost.value();
    const double usd_per_s = 0.10 / 3600;
    EXPECT_NEAR(cost.usd_per_m_output, usd_per_s * 1e6 / 90, 1e-9);
    EXPECT_NEAR(cost.usd_per_m_output_ci95->low, usd_per_s * 1e6 / (90 * 1.05), 1e-9);
    EXPECT_NEAR(cost.usd_per_m_output_ci95->high, usd_per_s * 1e6 / (90 * 0.95), 1e-9);
    EXPECT_NEAR(cost.usd_per_m_total.value(), usd_per_s * 1e6 / 450, 1e-9);
    EXPECT_NEAR(cost.price_band->low, cost.usd_per_m_output * 0.6, 1e-9);
    EXPECT_NEAR(cost.usd_per_m_input_split.value() * 360 + cost.usd_per_m_output_split.value() * 90,
                usd_per_s * 1e6, 1e-9);
    EXPECT_FALSE(cost.usd_per_m_goodput);
    ASSERT_TRUE(model.price);
    EXPECT_EQ(model.price->card, "2026-11-cpu");
    ASSERT_EQ(model.price->rates.size(), 1u);
    EXPECT_NEAR(model.price->rates.front().value, 0.10, 1e-12);
}

TEST(Join, SplitsTheCostWhenARatioIsGiven) {
    JoinOptions options = cpu_options();
    options.split.output_ratio = 4;
    LoadedRun good = run(2, 45, 90);
    const PointCost cost = build_report({good}, options).configurations.front().points.front().cost.value();
    EXPECT_NEAR(cost.usd_per_m_output_split.value(), 4 * cost.usd_per_m_input_split.value(), 1e-9);
    EXPECT_NEAR(cost.usd_per_m_input_split.value() * 360 + cost.usd_per_m_output_split.value() * 90,
                0.10 / 3600 * 1e6, 1e-9);
}

/// The dollars per second that a point's three prices give at its own rates.
double sum_of_split(const ReportPoint& point) {
    const Figures& rates = point.result.throughput;
    const double input = rates.at(figure::kInputTokens).value();
    const double cached = input * rates.at(figure::kCachedPromptRatio).value_or(0);
    const PointCost& cost = point.cost.value();
    return (cost.usd_per_m_input_split.value() * (input - cached) +
            cost.usd_per_m_cached_split.value() * cached +
            cost.usd_per_m_output_split.value() * rates.at(figure::kOutputTokens).value()) /
           1e6;
}

TEST(Join, EverySplitAddsUpToTheCost) {
    struct Rates {
        double fresh, cached, output;
    };
    std::vector<LoadedRun> runs;  // as if a cached token cost 0.1 and an output token 4 fresh ones
    for (const Rates& rates : std::vector<Rates>{{400, 1000, 125}, {100, 0, 225}, {800, 500, 37.5}}) {
        LoadedRun one = run(runs.size() + 1, 45, rates.output);
        one.result.throughput.set(figure::kInputTokens, rates.fresh + rates.cached);
        one.result.throughput.set(figure::kCachedPromptRatio, rates.cached / (rates.fresh + rates.cached));
        runs.push_back(one);
    }
    for (const char* split : {"4", "8", "api:deepseek-flash", "prefill-share:0.3", "mixes"}) {
        JoinOptions options = cpu_options();
        options.split = parse_split(split, options.prices);
        const ReportModel model = build_report(runs, options);
        EXPECT_EQ(model.split_source, options.split.source);
        for (const ReportPoint& point : model.configurations.front().points)
            EXPECT_NEAR(sum_of_split(point), 0.10 / 3600, 1e-12) << split;
    }
    JoinOptions options = cpu_options();
    options.split = parse_split("mixes", {});
    EXPECT_THROW(build_report({runs[0], runs[1]}, options), UsageError);
}

TEST(Join, PutsTheChosenRunBesideApisAtItsMixAndRefusesABreakEvenBeyondCapacity) {
    JoinOptions options = cpu_options();
    cards::ApiPrice dear;
    dear.input = 3;
    dear.output = 15;
    cards::ApiPrice cheap;
    cheap.input = 0.001;
    cheap.output = 0.002;
    options.apis = {{"dear", dear}, {"cheap", cheap}};
    options.target_usd_per_m = 1.0;
    LoadedRun one = run(2, 45, 90);
    one.result.window.run_s = 1800;
    const ReportModel model = build_report({one}, options);
    const CostSheet& sheet = model.cost.value();
    EXPECT_EQ(sheet.load_label, "c=2");
    EXPECT_NEAR(sheet.usd_per_month, 72, 1e-9);
    EXPECT_NEAR(sheet.needed_output_tokens_per_s.value(), 0.10 / 3600 * 1e6, 1e-9);
    EXPECT_NEAR(model.measurement_usd.value(), 0.05, 1e-9);
    ASSERT_EQ(sheet.apis.size(), 2u);
    EXPECT_EQ(sheet.apis[0].name, "cheap");
    EXPECT_FALSE(sheet.apis[0].break_even_tokens_per_month);
    EXPECT_NEAR(sheet.apis[1].usd_per_m_at_mix, (3 * 360 + 15 * 90) / 450.0, 1e-9);
    EXPECT_NEAR(sheet.apis[1].break_even_tokens_per_month.value(), 72 / 5.4 * 1e6, 1);
}

TEST(Join, DividesByTheShareOfTimeThatEarns) {
    JoinOptions options = cpu_options();
    options.prices = {cards::parse_price_card(
        R"({"schema": 1, "as_of": "2026-11-01", "currency": "USD", "source": "s", "utilization": 0.5,
            "cpus": {"cpu": {"on_demand": 0.10, "cores": 2}}})",
        "own.json")};
    const ReportModel model = build_report({run(2, 45, 90)}, options);
    EXPECT_NEAR(model.configurations.front().points.front().cost->usd_per_m_output,
                2 * 0.10 / 3600 * 1e6 / 90, 1e-9);
    EXPECT_THAT(model.price->rates.front().source, HasSubstr("50.0 % of the time earns"));
    EXPECT_THAT(model.configurations.front().answer, HasSubstr("per hour; 50.0 % of the time earns)"));
}

TEST(Join, HoldsEveryPointAgainstTheLimitAtItsOwnLoad) {
    const ReportModel model = build_report({run(1, 60, 60), run(8, 20, 160)}, cpu_options());
    const Configuration& c = model.configurations.front();
    // A single request reads all weights and its own cache for every token.
    const double context = 512 + 64;
    const double step_s = (268959744 + context * 23040) / 40e9 * 127 / 128;  // prefill yields the first token
    EXPECT_NEAR(point_at(c, 1).limit_output_tokens_per_s.value(), 1 / step_s, 0.1);
    EXPECT_NEAR(point_at(c, 1).of_limit.value(), 60 * step_s, 1e-3);
    EXPECT_GT(point_at(c, 8).limit_output_tokens_per_s.value(), 3 / step_s);
    EXPECT_LT(point_at(c, 8).limit_interactivity.value(), point_at(c, 1).limit_interactivity.value());
    EXPECT_THAT(c.errors, IsEmpty());
    ASSERT_FALSE(c.hard_limit.empty());
    ASSERT_EQ(c.hard_limit.size(), c.no_overlap.size());
    EXPECT_TRUE(c.hard_limit.front().usd_per_m_output.has_value());
    EXPECT_THAT(c.dropped_terms, ElementsAre("memory for the KV cache"));
}

TEST(Join, CallsAPointAboveTheLimitAnError) {
    JoinOptions options = cpu_options();
    options.micro = {epyc_micro(10e9)};
    LoadedRun unusable = run(4, 50, 400);
    unusable.result.validity.verdict = Verdict::invalid;
    const ReportModel model = build_report({run(1, 60, 60), unusable}, options);
    ASSERT_EQ(model.configurations.front().errors.size(), 1u);
    EXPECT_THAT(model.configurations.front().errors.front(), HasSubstr("c=1: measured 60.0 output tok/s"));
}

TEST(Join, GivesTheRangeOfTheCachedShareOverTheRuns) {
    LoadedRun few = run(1, 60, 60);
    LoadedRun many = run(8, 20, 160);
    few.result.throughput.set(figure::kCachedPromptRatio, 0.72);
    many.result.throughput.set(figure::kCachedPromptRatio, 0.62);
    EXPECT_THAT(build_report({few, many}, cpu_options()).configurations.front().workload,
                HasSubstr("62 to 72 % of input cached"));
}

TEST(Join, HasNoCostOfGoodTokensWhereAClassHasNoSlos) {
    LoadedRun judged = run(2, 45, 90);
    judged.result.throughput.set(figure::kGoodOutputTokens, 45);
    const auto goodput = [](const LoadedRun& of) {
        return build_report({of}, cpu_options())
            .configurations.front()
            .points.front()
            .cost->usd_per_m_goodput;
    };
    EXPECT_TRUE(goodput(judged));
    for (const char* const name : {"chat", "batch"}) {
        judged.result.classes[name].counts.ok = 10;
        judged.result.classes[name].totals.judged = 10;
    }
    EXPECT_TRUE(goodput(judged));
    judged.result.classes["batch"].totals.judged = 0;
    EXPECT_FALSE(goodput(judged));
}

// Long prompts hit the cache and short ones do not, so the mean of their hit ratios is not the cached share
// of tokens.
TEST(Join, CountsTheCachedShareByTokens) {
    LoadedRun mixed = run(2, 45, 90);
    MetricSummary hit;
    hit.key = "cache_hit_ratio";
    hit.n = 2;
    hit.mean = 0.5;
    mixed.result.metrics.push_back(hit);
    mixed.result.throughput.set(figure::kInputTokens, 1000);
    mixed.result.throughput.set(figure::kCachedPromptRatio, 0.97);
    mixed.result.totals = work_of_request(30, 970, 128);
    JoinOptions options = cpu_options();
    options.split.output_ratio = 4;
    const Configuration c = build_report({mixed}, options).configurations.front();
    EXPECT_THAT(c.workload, HasSubstr("97 % of input cached"));
    const PointCost cost = c.points.front().cost.value();
    EXPECT_NEAR(cost.usd_per_m_input_split.value() * (30 + 0.1 * 970 + 4 * 90), 0.10 / 3600 * 1e6, 1e-9);
}

// Short answers meet an SLO and long ones miss it, so most of the requests earn, but only few of the tokens.
TEST(Join, ChargesGoodputToTheTokensOfGoodRequests) {
    LoadedRun loaded = simulated(64, 60, 4138.6);
    loaded.result.throughput.set(figure::kGoodputRatio, 0.9);
    loaded.result.throughput.set(figure::kGoodOutputTokens, 1969.8);
    const PointCost cost =
        build_report({loaded}, cpu_options()).configurations.front().points.front().cost.value();
    EXPECT_NEAR(cost.usd_per_m_output, 0.198, 5e-4);
    EXPECT_NEAR(cost.usd_per_m_goodput.value(), 0.416, 5e-4);
    loaded.result.throughput.set(figure::kGoodOutputTokens, 0);
    EXPECT_FALSE(
        build_report({loaded}, cpu_options()).configurations.front().points.front().cost->usd_per_m_goodput);
}

TEST(Join, HoldsAWindowAgainstTheSumsOfTheSameWindowWithinItsEdges) {
    LoadedRun fixed = simulated(4, 100, 406);
    fixed.result.provenance.hardware = "sim:ideal?ttft=0&itl=10ms";
    fixed.result.provenance.simulator = {{"fixed_ttft_s", 0.0}, {"fixed_itl_s", 0.010}};
    Totals& window = fixed.result.totals;
    for (int i = 0; i < 80; ++i) window += work_of_request(100, 0, 101);
    window.seconds = window.output_tokens / 406;
    window.time_in_system_s = 4 * window.seconds;
    const auto report = [&] { return build_report({fixed}, cpu_options()).configurations.front(); };
    const ReportPoint point = report().points.front();
    EXPECT_NEAR(point.limit_output_tokens_per_s.value(), 404, 1e-6);
    EXPECT_NEAR(point.limit_tolerance.value(), 4 / 80.0, 1e-12);
    EXPECT_GT(*point.of_limit, 1);
    EXPECT_THAT(report().errors, IsEmpty());
    EXPECT_THAT(report().answer,
                HasSubstr("16 requests in flight, the most for which this report computes it"));
    bool stated = false;
    for (const SourcedTerm& term : report().limit_terms)
        stated = stated || (term.name.find("tolerance") != std::string::npos && term.value == 5);
    EXPECT_TRUE(stated);
    fixed.result.throughput.set(figure::kOutputTokens, 404 * 1.06);
    ASSERT_EQ(report().errors.size(), 1u);
    EXPECT_THAT(report().errors.front(),
                HasSubstr("106 % of the hardware limit (the window's edges explain"));
}

TEST(Join, RefusesAGpuThatContradictsTheRunsOwnNumber) {
    JoinOptions options = cpu_options();
    options.gpu = "h200";
    LoadedRun two = simulated(1, 100, 100);
    two.result.provenance.hardware = "sim:llama3-70b/h200x2/fp8";
    two.result.provenance.hardware_count = 2;
    const auto message_of = [&](const LoadedRun& run) -> std::string {
        try {
            build_report({run}, options);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(message_of(two),
                HasSubstr("--gpu h200: that is 1 GPU, and the run in runs/c1 was made on 2 "));
    EXPECT_THAT(message_of(two), HasSubstr("h200x2"));
    LoadedRun real = run(1, 60, 60);
    real.result.provenance.hardware = "NVIDIA H200";
    real.result.provenance.hardware_count = 2;
    EXPECT_THAT(message_of(real), HasSubstr("made on 2 (NVIDIA H200)"));
    options.gpu = "h200x2";
    EXPECT_EQ(message_of(two), "");
    EXPECT_EQ(message_of(real), "");
    LoadedRun unnamed = run(1, 60, 60);
    unnamed.result.provenance.hardware.clear();
    EXPECT_EQ(message_of(unnamed), "");
}

std::string refusal_of(const std::vector<LoadedRun>& runs, const std::string& gpu) {
    JoinOptions options = cpu_options();
    options.gpu = gpu;
    try {
        build_report(runs, options);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

TEST(Join, RefusesAGpuThatContradictsTheGpuOfTheRuns) {
    EXPECT_THAT(refusal_of({simulated(1, 60, 60)}, "l40s"),
                AllOf(HasSubstr("--gpu l40s: the run in runs/c1 says h100-sxm (sim:llama3-8b-h100-bf16)"),
                      HasSubstr("--what-if gpu=l40s")));
    EXPECT_EQ(refusal_of({simulated(1, 60, 60)}, "H100 SXM"), "");
    LoadedRun stated = run(1, 60, 60);
    stated.result.provenance.hardware = "h100-sxm";
    stated.result.plan["gpu"] = "h100";
    EXPECT_THAT(refusal_of({stated}, "l40s"), HasSubstr("says h100-sxm, which --gpu contradicts"));
    LoadedRun stated_cpu = run(1, 60, 60);
    stated_cpu.result.plan["gpu"] = "AMD EPYC";
    EXPECT_THAT(refusal_of({stated_cpu}, "l40s"), HasSubstr("says AMD EPYC, which --gpu contradicts"));
    LoadedRun unnamed = run(4, 60, 240);
    unnamed.result.provenance.hardware.clear();
    EXPECT_EQ(refusal_of({stated, unnamed}, "l40s"), "") << "one of the runs needs --gpu";
}

TEST(Join, RefusesAGpuThatNoCardAndNoPriceKnows) {
    EXPECT_THAT(refusal_of({run(1, 60, 60)}, "nosuch"), AllOf(HasSubstr("nosuch"), HasSubstr("h100-sxm")));
    EXPECT_EQ(refusal_of({run(1, 60, 60)}, "other:nosuch"), "");
    EXPECT_EQ(refusal_of({run(1, 60, 60)}, "amd epyc"), "");
}

TEST(Join, TakesTheGpuThatIsNamedForAServerBehindALoopbackAddress) {
    JoinOptions options = cpu_options();  // it has results of the CPU, on which the client runs
    options.gpu = "h200x2";
    const Configuration c = build_report({run(1, 60, 60)}, options).configurations.front();
    EXPECT_THAT(c.title, HasSubstr("on 2 × NVIDIA H200"));
    EXPECT_NEAR(c.points.front().cost->usd_per_m_output, 2 * 3.50 / 3600 * 1e6 / 60, 1e-9);
    EXPECT_EQ(c.points.front().cost->priced_as, "2 × h200");
}

TEST(Join, LetsTheLongerOfTwoRunsStandForTheirLoad) {
    LoadedRun lucky = run(8, 20.1, 160.2);
    lucky.result.counts.requests = lucky.result.counts.ok = 50;
    lucky.result.metrics[1].percentiles[1].decided.reset();
    LoadedRun longer = run(8, 20, 160);
    longer.directory = "runs/c8-r2";
    JoinOptions options = cpu_options();
    options.slos = {{"ttft", 0.2}};
    const ReportModel model = build_report({lucky, longer}, options);
    const Configuration& c = model.configurations.front();
    EXPECT_EQ(c.points[1].load_label, "c=8, run 2");
    EXPECT_EQ(c.points[0].why_not, "c=8, run 2 measured this load better");
    EXPECT_FALSE(c.points[0].fits);
    EXPECT_TRUE(c.points[1].on_front);
    const Choice& choice = model.choice.ranked.front();
    EXPECT_EQ(choice.load_label, "c=8, run 2");
    EXPECT_EQ(choice.within, "");
    EXPECT_EQ(choice.missed, "");

    longer.result.validity.verdict = Verdict::invalid;
    EXPECT_EQ(build_report({lucky, longer}, options).configurations.front().points[0].why_not, "");
}

TEST(Join, UsesMicroResultsOfTheSameHardwareOnly) {
    JoinOptions options = cpu_options();
    options.micro.front().device.name = "Intel Xeon";
    const Configuration c = build_report({run(1, 60, 60)}, options).configurations.front();
    EXPECT_THAT(c.hard_limit, IsEmpty());
    EXPECT_FALSE(c.points.front().of_limit);
    EXPECT_THAT(c.missing, Contains(HasSubstr("measured on Intel Xeon, not on AMD EPYC")));
    EXPECT_THAT(c.missing, Contains(HasSubstr("--micro micro.json")));
    options.micro.front().device.name = "amd epyc ";
    EXPECT_FALSE(build_report({run(1, 60, 60)}, options).configurations.front().hard_limit.empty());
}

TEST(Join, TakesADatasheetWhereNothingWasMeasured) {
    JoinOptions options = cpu_options();
    LoadedRun remote = run(1, 60, 60);
    remote.result.provenance.hardware.clear();
    options.gpu = "h200x2";
    const Configuration c = build_report({remote}, options).configurations.front();
    EXPECT_THAT(c.title, HasSubstr("2 × NVIDIA H200"));
    bool labelled = false;
    for (const SourcedTerm& term : c.limit_terms)
        labelled = labelled || term.source.starts_with("datasheet: 2 × ");
    EXPECT_TRUE(labelled);
    EXPECT_NEAR(c.points.front().cost->usd_per_m_output, 2 * 3.50 / 3600 * 1e6 / 60, 1e-9);
    EXPECT_THAT(c.missing, Contains(HasSubstr("not on h200")));
}

TEST(Join, HoldsSimulatedRunsAgainstTheirProfileAlone) {
    JoinOptions options = cpu_options();
    options.micro = {epyc_micro(1e6)};  // would be far too low as a limit
    const ReportModel model = build_report({simulated(1, 100, 100), simulated(64, 60, 4000)}, options);
    const Configuration& c = model.configurations.front();
    EXPECT_THAT(c.errors, IsEmpty());
    EXPECT_NEAR(point_at(c, 1).limit_output_tokens_per_s.value(),
                128 / 127.0 / (15.0 / 2310 + 576 * 131072 / 2.9e12), 0.5);
    for (const SourcedTerm& term : c.limit_terms) EXPECT_EQ(term.source, "profile");
    EXPECT_EQ(c.hard_limit.back().batch, 256);
    EXPECT_EQ(c.title, "llama3-8b on sim:llama3-8b-h100-bf16");
    EXPECT_NEAR(point_at(c, 64).cost->usd_per_m_output, 2.95 / 3600 * 1e6 / 4000, 1e-9);
    EXPECT_THAT(model.notes, Contains(HasSubstr("was not used")));
    options.what_ifs = {parse_what_if("gpu=l40s")};
    EXPECT_THAT(build_report({simulated(1, 100, 100)}, options).notes,
                Not(Contains(HasSubstr("was not used"))))
        << "the estimates use it";
}

TEST(Join, TellsOfAPriceCardBehindAnotherOneOfTheSameHardware) {
    JoinOptions options = cpu_options();
    EXPECT_THAT(build_report({run(2, 45, 90)}, options).notes, Not(Contains(HasSubstr("price card"))));
    options.prices.push_back(cards::price_card("4"));
    EXPECT_THAT(
        build_report({run(2, 45, 90)}, options).notes,
        Contains("the price card --price 4 has no effect on the cost of the runs, because 2026-11-cpu "
                 "before it has prices of the same hardware"));
    std::rotate(options.prices.begin(), options.prices.end() - 1, options.prices.end());
    EXPECT_THAT(build_report({run(2, 45, 90)}, options).notes,
                Contains(HasSubstr("2026-11-cpu has no effect on the cost of the runs")));
}

TEST(Join, PricesASimulatedRunOfNoKnownGpuAsTheGpuThatIsNamed) {
    JoinOptions options = cpu_options();
    LoadedRun ideal = simulated(1, 100, 100);
    ideal.result.provenance.hardware = "sim:ideal";
    ideal.result.provenance.simulator = {{"fixed_ttft_s", 0}, {"fixed_itl_s", 0}};
    options.gpu = "h200x2";
    const Configuration priced = build_report({ideal}, options).configurations.front();
    EXPECT_NEAR(priced.points.front().cost->usd_per_m_output, 2 * 3.50 / 3600 * 1e6 / 100, 1e-9);
    EXPECT_THAT(priced.answer, HasSubstr("sim:ideal priced as 2 × h200: $19.44 per million output tokens at "
                                         "100 tok/s per user, c=1 (2 × h200 at $7.00 per hour)"));
    options.gpu.reset();
    const Configuration c = build_report({ideal}, options).configurations.front();
    EXPECT_FALSE(c.points.front().cost);
    EXPECT_THAT(c.missing, Contains(HasSubstr("--gpu NAME")));
    EXPECT_THAT(c.missing, Contains(HasSubstr("no times of its own")));
}

TEST(Join, SaysWhatIsMissingAndTheFlagThatAddsIt) {
    JoinOptions options;
    const Configuration bare = build_report({run(1, 60, 60)}, options).configurations.front();
    EXPECT_THAT(bare.missing, Contains(HasSubstr("--price CARD")));
    EXPECT_THAT(bare.missing, Contains(HasSubstr("--model-card MODEL")));
    EXPECT_THAT(bare.answer, HasSubstr("60.0 output tok/s in all"));
    options.models = {{.card = cards::model_card("smollm2-135m")}};
    options.prices = {cards::price_card("2026-11-cloud")};
    const Configuration unpriced = build_report({run(1, 60, 60)}, options).configurations.front();
    EXPECT_THAT(unpriced.missing, Contains(HasSubstr("2026-11-cloud has no price for AMD EPYC")));
    EXPECT_THAT(unpriced.missing, Contains(HasSubstr("--micro micro.json measured on AMD EPYC")));
}

TEST(Join, RefusesABasisThatTheCardLacks) {
    JoinOptions options = cpu_options();
    options.basis = "owned_tco";
    EXPECT_THROW(build_report({run(1, 60, 60)}, options), UsageError);
}

TEST(Join, PutsTheBestOfTheUsableOnTheFrontAndSaysWhyNotTheRest) {
    LoadedRun invalid = run(4, 90, 900);
    invalid.result.validity = {Verdict::invalid,
                               {{Verdict::invalid, "loop_lag", "late"}, {Verdict::warn, "errors", "x"}}};
    LoadedRun silent = run(32, 5, 0);
    LoadedRun failing = run(64, 5, 200);
    failing.result.metrics.front().percentiles[1].value.reset();
    LoadedRun uncertified = run(1, 60, 60);
    uncertified.result.metrics.front().percentiles[1].certified = false;
    const Configuration c =
        build_report({uncertified, run(8, 20, 160), run(16, 15, 150), invalid, silent, failing},
                     cpu_options())
            .configurations.front();
    EXPECT_TRUE(point_at(c, 1).on_front);
    EXPECT_FALSE(point_at(c, 1).certified);
    EXPECT_TRUE(point_at(c, 8).on_front);
    EXPECT_TRUE(point_at(c, 8).certified);
    EXPECT_EQ(point_at(c, 16).why_not, "dominated by c=8");
    EXPECT_EQ(point_at(c, 4).why_not, "invalid: loop_lag");
    EXPECT_THAT(point_at(c, 32).why_not, HasSubstr("no output tokens"));
    EXPECT_THAT(point_at(c, 64).why_not, HasSubstr("falls among failures"));
    for (const double load : {4.0, 16.0, 32.0, 64.0}) EXPECT_FALSE(point_at(c, load).on_front);
}

TEST(Join, KeepsOffTheFrontALoadThatTheRunNeverReached) {
    LoadedRun small = run(64, 30, 900);
    small.result.counts.requests = small.result.counts.ok = 10;
    const Configuration c = build_report({run(8, 20, 160), small}, cpu_options()).configurations.front();
    EXPECT_TRUE(point_at(c, 8).reached);
    EXPECT_TRUE(point_at(c, 8).on_front);
    EXPECT_FALSE(point_at(c, 64).reached);
    EXPECT_FALSE(point_at(c, 64).on_front);
    EXPECT_THAT(point_at(c, 64).why_not, HasSubstr("10 requests were never that many in flight"));
}

// In an open loop the waiting time begins at the intended start. The table shows this time, and an SLO judges
// it.
TEST(Join, JudgesAnOpenLoopByTheFigureThatItsTableShows) {
    LoadedRun open = run(1, 60, 60);
    open.result.concurrency.reset();
    open.result.request_rate = 5;
    open.result.metrics.push_back(metric("ttft_intended_s", 22.4));
    JoinOptions options = cpu_options();
    options.slos = {{"ttft", 0.5}};
    const ReportPoint point = build_report({open}, options).configurations.front().points.front();
    EXPECT_FALSE(point.on_front);
    EXPECT_THAT(point.why_not, HasSubstr("ttft_p90 is 22,400 ms, the limit 500 ms"));
}

TEST(Join, KeepsAPointOnTheFrontWhoseIntervalMeetsTheSloThoughItsPercentileIsNotCertified) {
    LoadedRun uncertified = run(1, 60, 60);
    for (MetricSummary& held : uncertified.result.metrics) held.percentiles[1].certified = false;
    JoinOptions options = cpu_options();
    options.slos = {{"ttft", 0.2}};
    EXPECT_TRUE(build_report({uncertified}, options).configurations.front().points.front().on_front);
}

TEST(Join, KeepsOffTheFrontWhatMissesTheSlos) {
    JoinOptions options = cpu_options();
    options.slos = {{"ttft", 0.101}};
    EXPECT_TRUE(build_report({run(1, 60, 60)}, options).configurations.front().points.front().on_front)
        << "measured within the limit";
    options.slos = {{"ttft", 0.05}};
    EXPECT_THAT(build_report({run(1, 60, 60)}, options).configurations.front().points.front().why_not,
                HasSubstr("misses the SLO"));
    options.slos = {{"ttft", 0.2}};
    EXPECT_TRUE(build_report({run(1, 60, 60)}, options).configurations.front().points.front().on_front);
}

TEST(Join, AnswersInASentence) {
    const ReportModel model = build_report({run(1, 60, 60), run(8, 20, 160)}, cpu_options());
    const Configuration& c = model.configurations.front();
    EXPECT_THAT(c.answer,
                StartsWith(c.title + ": $0.174 per million output tokens at 20.0 tok/s per user, c=8 (2 "
                                     "CPU cores at $0.100 per hour). At "));
    EXPECT_THAT(c.answer, ::testing::ContainsRegex("At [0-9.]+ tok/s per user, the hardware's limit is "
                                                   ".[0-9.]+ with 16 requests in flight, the most for which"))
        << "20 tok/s per user are the limit of more requests than twice those of the runs";
    EXPECT_THAT(c.answer, HasSubstr("Valid, 2 points, 2026-11-21."));
    LoadedRun invalid = run(8, 20, 160);
    invalid.result.validity.verdict = Verdict::invalid;
    EXPECT_THAT(build_report({run(1, 60, 60), invalid}, cpu_options()).configurations.front().answer,
                HasSubstr("1 of 2 points valid"));
    EXPECT_THAT(build_report({invalid}, cpu_options()).configurations.front().answer,
                AllOf(HasSubstr("no point can be used; c=8: invalid"), HasSubstr(". Not valid: 1 point")));
    JoinOptions strict = cpu_options();
    strict.slos = {{"ttft", 0.05}};
    EXPECT_THAT(
        build_report({run(1, 60, 60)}, strict).configurations.front().answer,
        AllOf(HasSubstr("no point can be used; ttft_p90 100 ms of 50.0 ms, even at the smallest load, c=1"),
              HasSubstr(". Valid, 1 point")));
}

TEST(Join, FloorOfTheAnswerIsNeverDearerThanTheMeasurement) {
    for (const double per_user : {5.0, 20.0, 60.0, 120.0}) {
        const Configuration c =
            build_report({run(4, per_user, 3.9 * per_user)}, cpu_options()).configurations.front();
        if (!c.errors.empty()) continue;
        const auto at = c.answer.find("limit is $");
        ASSERT_NE(at, std::string::npos) << c.answer;
        EXPECT_LE(std::stod(c.answer.substr(at + 10)), c.points.front().cost->usd_per_m_output * 1.01);
    }
}

TEST(Join, NothingGivesAnEmptyReport) {
    const ReportModel model = build_report({}, cpu_options());
    EXPECT_THAT(model.configurations, IsEmpty());
    EXPECT_FALSE(model.price);
}

const GapPart& part_of(const ReportPoint& point, std::string_view name) {
    for (const GapPart& part : point.gap.value().parts)
        if (part.name == name) return part;
    throw std::out_of_range("no such part");
}

TEST(Join, MeasuresThePromptsOfARealServerByItsOwnFigures) {
    LoadedRun told = run(1, 50, 50);  // 128 tokens in 2.56 s
    told.result.server.emplace();
    told.result.server->window = {{"prompt_seconds", 100}, {"prompt_tokens", 51200}, {"running", 1}};
    told.result.server->sources = {{"prompt_seconds", "llamacpp:prompt_seconds_total"}};
    const Configuration c = build_report({told}, cpu_options()).configurations.front();
    const GapPart& prompts = part_of(c.points.front(), "prefill interference");
    // 1 s for the 512 tokens of a prompt, in 128 steps.
    EXPECT_NEAR(prompts.ms.value(), 1e3 / 128, 0.2);
    EXPECT_EQ(prompts.source, "measured: 1,000 ms per prompt, by the server's llamacpp:prompt_seconds_total");
    EXPECT_THAT(prompts.remedy, HasSubstr("more threads"));

    told.result.server->window = {{"prefill_mean_s", 0.5}};
    EXPECT_NEAR(part_of(build_report({told}, cpu_options()).configurations.front().points.front(),
                        "prefill interference")
                    .ms.value(),
                500 / 128.0, 0.2);
}

TEST(Join, MeasuresThePromptsByTheRunAtOneInFlightWhereTheServerDoesNotTell) {
    LoadedRun alone = run(1, 50, 50);
    alone.result.metrics.back() = metric("ttft_s", 0.6);
    LoadedRun busy = run(4, 20, 80);
    busy.result.metrics.back() = metric("ttft_s", 3);
    const Configuration c = build_report({alone, busy}, cpu_options()).configurations.front();
    for (const double load : {1.0, 4.0}) {
        const GapPart& prompts = part_of(point_at(c, load), "prefill interference");
        EXPECT_NEAR(prompts.ms.value(), load * 600 / 128, 0.3);
        EXPECT_EQ(prompts.source, "measured: 600 ms per prompt, by the TTFT at one in flight (c=1)");
    }
    const Configuration without = build_report({busy}, cpu_options()).configurations.front();
    EXPECT_THAT(part_of(without.points.front(), "prefill interference").source, StartsWith("estimate: "));
}

TEST(Join, FloorCountsTheSlotsThatTheServerHas) {
    LoadedRun one = run(4, 10, 40);
    const auto floor = [](const LoadedRun& loaded) {
        return build_report({loaded}, cpu_options()).configurations.front().answer;
    };
    EXPECT_THAT(floor(one), Not(HasSubstr("with 4 requests in flight")));
    one.result.server.emplace();
    one.result.server->config = {{"total_slots", "4"}};
    EXPECT_THAT(floor(one), HasSubstr("the limit with the server's 4 slots is"));
    EXPECT_EQ(build_report({one}, cpu_options()).configurations.front().hard_limit.back().batch, 4);
    EXPECT_THAT(
        part_of(build_report({one}, cpu_options()).configurations.front().points.front(), "hardware limit")
            .source,
        Not(HasSubstr("total_slots")));
    one.result.server->config = {{"total_slots", "many"}};
    EXPECT_THAT(floor(one), Not(HasSubstr("slots")));
}

TEST(Answer, NamesThePartThatIsMostOfTheGapAndHowManyTheHardwareCouldServe) {
    LoadedRun slow = simulated(1, 60, 61);
    slow.result.provenance.simulator["step_s"] = 0.008;
    const Configuration c = build_report({slow}, cpu_options()).configurations.front();
    const Gap& gap = c.points.front().gap.value();
    EXPECT_NEAR(gap.step_ms, 1e3 / 61, 1e-9);
    EXPECT_THAT(
        c.answer,
        HasSubstr(
            "; of the time that a step of this load takes beyond its own limit, most is step overhead"));
    EXPECT_THAT(c.answer, ::testing::ContainsRegex("limit is .[0-9.]+ with [0-9]+ requests in flight"));
    slow.result.provenance.simulator["step_s"] = 0;
    EXPECT_THAT(
        build_report({slow}, cpu_options()).configurations.front().answer,
        HasSubstr(
            "; of the time that a step of this load takes beyond its own limit, most is not attributed"));
}

TEST(Answer, SaysWhatTheHardwareCouldDoWithMoreSlotsThanTheServerHas) {
    LoadedRun queued = simulated(32, 55.6, 1780);
    queued.result.provenance.simulator["max_num_seqs"] = 4;
    queued.result.throughput.set(figure::kOutputTokens, 500);
    const Configuration c = build_report({queued}, cpu_options()).configurations.front();
    const Gap& gap = c.points.front().gap.value();
    ASSERT_EQ(first_to_fix(gap)->name, kBatchPart);
    EXPECT_THAT(c.answer,
                AllOf(HasSubstr("the limit with the server's 4 slots is "),
                      ::testing::ContainsRegex("the hardware could do .[0-9.]+ with [0-9]+ requests"),
                      HasSubstr("; of the time that a step of this load takes beyond its own limit, most is "
                                "batch shortfall")));
    EXPECT_THAT(gap.first_to_fix,
                AllOf(StartsWith("batch shortfall"), HasSubstr("--max-num-seqs"), HasSubstr("has room for")));
}

TEST(GapRun, CountsRequestsThatDoNotWaitAsRunningWhereFewReadingsSaySo) {
    LoadedRun busy = simulated(8, 60, 450);
    busy.result.server.emplace().window = {{"running", 5.0}, {"waiting", 0.0}};
    const auto running = [&] {
        const ReportPoint point = build_report({busy}, cpu_options()).configurations.front().points.front();
        return std::pair(gap_run_of(point).running, gap_run_of(point).in_flight);
    };
    const auto [all, in_flight] = running();
    ASSERT_GT(in_flight, 5.5);
    EXPECT_DOUBLE_EQ(all.value(), in_flight);
    busy.result.server->window["waiting"] = in_flight - 4;
    EXPECT_DOUBLE_EQ(running().first.value(), 5.0);
    busy.result.server->window.erase("waiting");
    EXPECT_DOUBLE_EQ(running().first.value(), 5.0);
}

TEST(Answer, NamesThePartThatTheSectionSaysToFixFirst) {
    LoadedRun slow = simulated(1, 60, 61);
    slow.result.provenance.simulator["step_s"] = 0.003;
    const Configuration c = build_report({slow}, cpu_options()).configurations.front();
    const Gap& gap = c.points.front().gap.value();
    EXPECT_THAT(gap.first_to_fix, HasSubstr("→"));
    slow.result.concurrency.reset();
    slow.result.request_rate = 4;
    EXPECT_THAT(build_report({slow}, cpu_options()).configurations.front().points.front().gap->first_to_fix,
                AllOf(HasSubstr("only if more requests are sent"), Not(HasSubstr("→"))));
    const GapPart* const first = first_to_fix(gap);
    ASSERT_NE(first, nullptr);
    EXPECT_THAT(c.answer, HasSubstr(" is " + (first->name == kResidualPart ? std::string("not attributed")
                                                                           : first->name)));
    EXPECT_THAT(gap.first_to_fix, StartsWith(first->name));
}

TEST(Answer, DoesNotBlameRequestsThatWaitForMemoryThatTheLimitHasNotEither) {
    LoadedRun queued = simulated(32, 55.6, 1780);
    queued.result.provenance.simulator["kv_capacity_tokens"] = 4 * 640;
    queued.result.throughput.set(figure::kOutputTokens, 500);
    const Configuration c = build_report({queued}, cpu_options()).configurations.front();
    EXPECT_GT(part_of(c.points.front(), "batch shortfall").ms.value_or(0), 0);
    EXPECT_THAT(c.answer, AllOf(HasSubstr("with 4 requests in flight, as many as the memory holds"),
                                Not(HasSubstr("same speed")), Not(HasSubstr("batch shortfall"))));
}

TEST(Report, HasATitleThatSaysWhatItFound) {
    EXPECT_THAT(build_report({simulated(1, 60, 61)}, cpu_options()).title,
                ::testing::MatchesRegex(".[0-9.]+ per million output tokens at 60.0 tok/s per user"));
    JoinOptions named = cpu_options();
    named.title = "Mine";
    EXPECT_EQ(build_report({simulated(1, 60, 61)}, named).title, "Mine");
    ReportModel searched;
    searched.searches = {{.directory = {},
                          .slos = {},
                          .text = "4.5 req/s is the highest. More.",
                          .certify = {},
                          .narrow = {}}};
    EXPECT_EQ(answer_title(searched), "4.5 req/s is the highest");
    searched.searches.front().slos = {"ttft_p95:200", "tpot_p95:20"};
    EXPECT_EQ(answer_title(searched), "Cost and performance") << "the search had other limits";
    searched.choice.slos = {"tpot_p95:20", "ttft_p95<200"};
    EXPECT_EQ(answer_title(searched), "4.5 req/s is the highest");
    EXPECT_EQ(answer_title({}), "Cost and performance");
    ReportModel several;
    several.configurations.resize(2);
    several.configurations[1].title = "B";
    several.choice.ranked = {{.configuration = 1, .usd_per_m_output = .2}, {.configuration = 0}};
    EXPECT_EQ(answer_title(several), "$0.200 per million output tokens: B") << "the cheapest";
}

TEST(Gap, IsLeftOutWhereTheServerDidNotKeepUp) {
    LoadedRun queued = simulated(32, 55.6, 1780);
    queued.result.window.overloaded = true;
    const Configuration c = build_report({queued}, cpu_options()).configurations.front();
    EXPECT_FALSE(c.points.front().gap);
    EXPECT_THAT(c.answer, HasSubstr("the server does not keep up with the arrivals"));
}

}  // namespace
}  // namespace paretoken::reports
