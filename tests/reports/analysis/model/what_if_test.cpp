#include "reports/analysis/model/what_if.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/join/figures_of_run.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string refusal_of(const std::string& text) {
    try {
        parse_what_if(text);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(WhatIf, says_what_would_be_different) {
    EXPECT_EQ(parse_what_if("gpu=H100 SXM,weights=fp8_e4m3,kv=fp8,tp=2,hit=.9"),
              (WhatIfSpec{.text = "gpu=H100 SXM,weights=fp8_e4m3,kv=fp8,tp=2,hit=.9",
                          .gpu = "h100-sxm",
                          .tp = 2,
                          .weights = "fp8",
                          .kv = "fp8",
                          .hit = .9}));
    EXPECT_EQ(parse_what_if("gpu=h200x4").tp, 4U);
}

TEST(WhatIf, that_cannot_be_is_refused_by_name) {
    EXPECT_THAT(refusal_of("gpu=voodoo2"), HasSubstr("voodoo2"));
    EXPECT_THAT(refusal_of("tp=0"), AllOf(HasSubstr("--what-if tp=0"), HasSubstr("whole number")));
    EXPECT_THAT(refusal_of("tp=1.5"), HasSubstr("whole number"));
    EXPECT_THAT(refusal_of("hit=1"), HasSubstr("below 1"));
    EXPECT_THAT(refusal_of("hit=nine"), HasSubstr("not a number"));
    EXPECT_THAT(refusal_of("weights=fp7"), HasSubstr("fp7"));
    EXPECT_THAT(refusal_of("colour=blue"), HasSubstr("known are gpu, tp, weights, kv and hit"));
    EXPECT_THAT(refusal_of("kv=fp8,kv=bf16"), HasSubstr("kv is given twice"));
    EXPECT_THAT(refusal_of("gpu=h200x4,tp=2"), HasSubstr("twice"));
    EXPECT_THAT(refusal_of("fp8"), HasSubstr("KEY=VALUE"));
    EXPECT_THAT(refusal_of(""), HasSubstr("it names no change"));
}

TEST(WhatIf, a_hit_takes_computed_tokens_and_their_pairs_from_the_work_and_leaves_the_rest) {
    const Totals before = work_of_request(1000, 0, 100);
    const Totals half = with_hit(before, .5);
    const Totals expected = work_of_request(500, 500, 100);
    EXPECT_NEAR(half.fresh_input_tokens, expected.fresh_input_tokens, 1e-9);
    EXPECT_NEAR(half.cached_input_tokens, expected.cached_input_tokens, 1e-9);
    EXPECT_NEAR(half.prefill_pairs, expected.prefill_pairs, 1e-6);
    EXPECT_NEAR(half.decoded_cached_tokens, expected.decoded_cached_tokens, 1e-6);
    EXPECT_EQ(half.decoded_context_tokens, before.decoded_context_tokens);
    EXPECT_NEAR(with_hit(half, 0).prefill_pairs, before.prefill_pairs, 1e-6);
}

/// A simulated server of which only the rate is known.
std::optional<SimulatedSpeed> speed(double output_tokens_per_s) {
    return SimulatedSpeed{.output_tokens_per_s = output_tokens_per_s};
}

/// The inputs of a limit by bandwidth alone.
LimitInputs reading(double bytes, double bytes_per_s) {
    LimitInputs inputs;
    inputs.dense_weight_bytes = bytes;
    inputs.weight_bytes_per_s = bytes_per_s;
    return inputs;
}

TEST(WhatIf, is_the_limit_there_times_the_share_of_the_limit_that_was_reached_here) {
    Configuration configuration;
    configuration.points.push_back(sample::point(sample::run(8), "runs/8", 1e-5));
    ReportPoint& point = configuration.points[0];
    const Totals work = work_of_request(1, 0, 101);
    const double here = limit_at(reading(16e9, 1e12), LimitKind::hard, work, 8)->output_tokens_per_s;
    point.output_tokens_per_s = .5 * here;
    point.interactivity = 10;
    // Half the bytes at three times the bandwidth give six times the limit.
    const WhatIfLimits limits{.here = reading(16e9, 1e12), .there = reading(8e9, 3e12), .usd_per_s = 1e-3};
    const auto estimates = estimates_of(configuration, {{0, work, 8}}, limits);
    ASSERT_EQ(estimates.size(), 1U);
    EXPECT_NEAR(estimates[0].of_limit, .5, 1e-12);
    EXPECT_NEAR(estimates[0].output_tokens_per_s, 3 * here, 1e-6);
    EXPECT_NEAR(*estimates[0].interactivity, 60, 1e-9);
    EXPECT_NEAR(*estimates[0].usd_per_m_output, 1e-3 * 1e6 / (3 * here), 1e-12);
    point.output_tokens_per_s = 1.1 * here;  // nothing is faster than the limit
    EXPECT_EQ(estimates_of(configuration, {{0, work, 8}}, limits)[0].of_limit, 1);
    EXPECT_THAT(estimates_of(configuration, {{0, work, 8}}, {.here = {}, .there = reading(8e9, 3e12)}),
                IsEmpty());
}

TEST(WhatIf, is_the_measured_rate_times_the_change_of_simulated_servers_where_that_is_known) {
    Configuration configuration;
    configuration.points.push_back(sample::point(sample::run(8), "runs/8", 1e-5));
    ReportPoint& point = configuration.points[0];
    Totals work = work_of_request(750, 250, 101);
    const WhatIfLimits limits{.here = reading(16e9, 1e12), .there = reading(8e9, 3e12)};
    const double here = limit_at(limits.here, LimitKind::hard, work, 8)->output_tokens_per_s;
    point.output_tokens_per_s = .5 * here;
    MeasuredLoad load{.point = 0, .work = work, .batch = 8};
    std::vector<SimulatedLoad> simulated;
    load.simulated_change =
        simulated_change(load, {.gpus = 1}, {.gpus = 2}, .9, [&](const SimulatedLoad& one) {
            simulated.push_back(one);
            return speed(one.gpus == 2 ? 300 : 100);
        });
    ASSERT_EQ(simulated.size(), 2U);
    EXPECT_EQ(simulated[0].in_flight, 8);
    EXPECT_EQ(simulated[0].input_tokens, 1000);
    EXPECT_EQ(simulated[0].output_tokens, 101);
    EXPECT_EQ(simulated[0].hit, .25) << "as it was measured";
    EXPECT_EQ(simulated[1].hit, .9);
    const std::vector<Estimate> estimates = estimates_of(configuration, {load}, limits);
    ASSERT_EQ(estimates.size(), 1U);
    EXPECT_TRUE(estimates[0].simulated);
    EXPECT_NEAR(estimates[0].output_tokens_per_s, 1.5 * here, 1e-6);
    EXPECT_NEAR(estimates[0].of_limit, .25, 1e-9) << "of six times the limit";
    load.simulated_change = LoadChange{.rate = 100};
    EXPECT_NEAR(estimates_of(configuration, {load}, limits)[0].output_tokens_per_s, 6 * here, 1e-6);
    EXPECT_FALSE(simulated_change(load, {}, {}, {}, [](const SimulatedLoad&) { return std::nullopt; }));
    load.work.prompts = 0;
    EXPECT_FALSE(simulated_change(load, {}, {}, {}, [](const SimulatedLoad&) { return speed(1); }));
}

/// A run at half of a limit that is a sixth of the imagined one, with eight requests in flight.
struct OpenLoop {
    OpenLoop() {
        configuration.points.push_back(sample::point(sample::run(8), "runs/8", 1e-5));
        const Totals& work = load.work;
        measured = .5 * limit_at(limits.here, LimitKind::hard, work, 8)->output_tokens_per_s;
        configuration.points[0].output_tokens_per_s = measured;
        configuration.points[0].interactivity = 10;
        load.arrivals_per_s = measured / 101;
    }
    std::vector<Estimate> estimates() const { return estimates_of(configuration, {load}, limits); }
    /// The change from a simulated server that keeps up to `there`.
    std::optional<LoadChange> change_to(const SimulatedSpeed& there) {
        return simulated_change(load, {.gpus = 1}, {.gpus = 2}, {}, [&](const SimulatedLoad& one) {
            simulated.push_back(one);
            return std::optional(one.gpus == 2 ? there : SimulatedSpeed{100, 8, 20, true});
        });
    }

    Configuration configuration;
    WhatIfLimits limits{.here = reading(16e9, 1e12), .there = reading(8e9, 3e12)};
    MeasuredLoad load{.point = 0, .work = work_of_request(1, 0, 101), .batch = 8};
    double measured = 0;
    std::vector<SimulatedLoad> simulated;
};

TEST(WhatIf, of_arrivals_that_the_server_keeps_up_with_keeps_their_rate_and_changes_the_speed) {
    OpenLoop open;
    ASSERT_EQ(open.estimates().size(), 1U);
    EXPECT_NEAR(open.estimates()[0].output_tokens_per_s, open.measured, 1e-9);
    EXPECT_NEAR(*open.estimates()[0].interactivity, 60, 1e-9) << "six times the limit";
    open.load.simulated_change = open.change_to({99, 3, 50, true});
    EXPECT_EQ(open.simulated[0].arrivals_per_s, open.load.arrivals_per_s);
    const Estimate fast = open.estimates()[0];
    EXPECT_NEAR(fast.output_tokens_per_s, open.measured, 1e-9) << "the same requests come";
    EXPECT_NEAR(*fast.interactivity, 25, 1e-9);
    EXPECT_TRUE(fast.keeps_up);
    open.load.simulated_change = open.change_to({60, 500, 1, false});
    const Estimate slow = open.estimates()[0];
    EXPECT_NEAR(slow.output_tokens_per_s, .6 * open.measured, 1e-9);
    EXPECT_FALSE(slow.interactivity);
    EXPECT_FALSE(slow.keeps_up);
    std::swap(open.limits.here, open.limits.there);
    open.load.simulated_change.reset();
    EXPECT_THAT(open.estimates(), IsEmpty()) << "limits do not tell how many are then in flight";
}

TEST(WhatIf, of_arrivals_that_the_server_did_not_keep_up_with_is_at_most_their_rate) {
    OpenLoop open;
    open.load.kept_up = false;
    *open.load.arrivals_per_s *= 2;
    const Estimate enough = open.estimates()[0];
    EXPECT_NEAR(enough.output_tokens_per_s, 2 * open.measured, 1e-6);
    EXPECT_TRUE(enough.keeps_up);
    EXPECT_FALSE(enough.interactivity) << "the measured one holds the wait in a queue that grew";
    *open.load.arrivals_per_s *= 10;
    EXPECT_NEAR(open.estimates()[0].output_tokens_per_s, 6 * open.measured, 1e-6);
    EXPECT_FALSE(open.estimates()[0].keeps_up);
    open.change_to({});
    EXPECT_FALSE(open.simulated[0].arrivals_per_s) << "as many in flight, which is what the server can do";
}

TEST(WhatIf, leaves_the_pauses_between_requests_as_they_were) {
    OpenLoop closed;
    closed.load.arrivals_per_s.reset();
    closed.load.pauses = 8;
    const Estimate estimate = closed.estimates()[0];
    EXPECT_NEAR(estimate.output_tokens_per_s, 16 / (8 / 6. + 8) * closed.measured, 1e-6);
    EXPECT_NEAR(*estimate.interactivity, 60, 1e-9);
    closed.load.simulated_change = closed.change_to({150, 4, 60, true});
    ASSERT_EQ(closed.simulated.size(), 3U);
    EXPECT_EQ(closed.simulated[0].in_flight, 8);
    EXPECT_EQ(closed.simulated[2].in_flight, 16);
    EXPECT_NEAR(closed.simulated[2].pause_s, 8 * 101 / 100., 1e-9) << "as long as a request";
    EXPECT_NEAR(closed.estimates()[0].output_tokens_per_s, 1.5 * closed.measured, 1e-6);
    EXPECT_NEAR(*closed.estimates()[0].interactivity, 30, 1e-9);
}

TEST(WhatIf, counts_slots_that_wait_for_tools_as_pauses) {
    RunResult run = sample::run(10);
    EXPECT_EQ(pausing_of(run), 0);
    run.throughput.set(figure::kMeanInFlight, 6);
    EXPECT_EQ(pausing_of(run), 4);
    run.plan["max_in_flight"] = "6";
    EXPECT_EQ(pausing_of(run), 0) << "a limit of the client holds requests back";
    run.plan.erase("max_in_flight");
    run.window.steady = false;
    EXPECT_EQ(pausing_of(run), 0) << "slots are empty at the end";
    run.jobs.emplace();
    EXPECT_EQ(pausing_of(run), 0) << "these jobs have no tools";
    const auto add = [&](const std::string& key, double mean) {
        MetricSummary metric;
        metric.key = key;
        metric.mean = mean;
        run.jobs->metrics.push_back(metric);
    };
    add("job_time_s", 10);
    add("job_busy_s", 6);
    EXPECT_EQ(pausing_of(run), 4);
    run.concurrency.reset();
    run.request_rate = 3;
    EXPECT_EQ(pausing_of(run), 0);
}

/// A run of Llama-3.1-8B in bf16 on one H200.
LoadedRun run_on_h200(std::uint64_t concurrency) {
    RunResult run = sample::run(concurrency);
    run.provenance.hardware = "NVIDIA H200";
    run.provenance.model = "llama-3.1-8b";
    run.totals = work_of_request(512, 0, 128);
    return {.directory = "runs/" + std::to_string(concurrency), .result = run};
}

JoinOptions asking(const std::string& what_if, const std::string& card = "llama-3.1-8b") {
    JoinOptions options;
    options.prices = cards::default_price_cards();
    if (!card.empty()) options.models.push_back({{}, card, cards::model_card(card)});
    options.card_of = [](const std::string& spec, const cards::ModelCardOptions& formats) {
        return cards::model_card(spec, formats);
    };
    options.what_ifs = {parse_what_if(what_if)};
    return options;
}

TEST(WhatIf, of_a_run_goes_by_datasheet_price_and_card_and_is_on_no_front) {
    const ReportModel model =
        build_report({run_on_h200(1), run_on_h200(8)}, asking("gpu=h100-sxm,tp=2,weights=fp8,kv=fp8"));
    ASSERT_EQ(model.what_ifs.size(), 1U);
    const WhatIf& what_if = model.what_ifs[0];
    EXPECT_EQ(what_if.why_not, "");
    EXPECT_EQ(what_if.gpus, 2U);
    EXPECT_THAT(what_if.title, AllOf(HasSubstr("llama-3.1-8b fp8, KV fp8, on 2 × NVIDIA H100 SXM")));
    ASSERT_EQ(what_if.points.size(), 2U);
    const auto half_the_bytes = limit_inputs(cards::model_card("llama-3.1-8b:weights=fp8,kv=fp8"),
                                             hardware_of_datasheet(cards::gpu_card("h100-sxm"), 2, "fp8"));
    const auto there = limit_at(half_the_bytes, LimitKind::hard, work_of_request(512, 0, 128), 8 * .99);
    const Estimate& estimate = what_if.points[1];
    EXPECT_NEAR(estimate.output_tokens_per_s,
                *model.configurations[0].points[1].of_limit * there->output_tokens_per_s,
                1e-6 * estimate.output_tokens_per_s);
    EXPECT_TRUE(estimate.usd_per_m_output);
    EXPECT_EQ(model.configurations.size(), 1U);
    EXPECT_EQ(model.configurations[0].points.size(), 2U);
    EXPECT_THAT(what_if_sentence(model, what_if),
                AllOf(HasSubstr("estimated"), HasSubstr("of the limit there, from what was measured on")));
    JoinOptions simulating = asking("gpu=h100-sxm,tp=2,weights=fp8,kv=fp8");
    simulating.simulated_rate = [](const SimulatedLoad& load) {
        const bool is_there =
            load.gpu.name == "h100-sxm" && load.gpus == 2 && load.model.weight_dtype == "fp8";
        return speed(is_there ? 130 : 100);
    };
    const ReportModel simulated = build_report({run_on_h200(1), run_on_h200(8)}, simulating);
    ASSERT_EQ(simulated.what_ifs[0].points.size(), 2U);
    EXPECT_NEAR(simulated.what_ifs[0].points[1].output_tokens_per_s,
                1.3 * *simulated.configurations[0].points[1].output_tokens_per_s, 1e-6);
    EXPECT_THAT(what_if_sentence(simulated, simulated.what_ifs[0]), HasSubstr("by simulated servers"));
}

TEST(WhatIf, without_a_card_or_room_for_the_weights_says_so) {
    const ReportModel unknown = build_report({run_on_h200(1)}, asking("weights=fp8", ""));
    EXPECT_THAT(unknown.what_ifs[0].why_not, HasSubstr("--model-card CARD"));
    const ReportModel large = build_report({run_on_h200(1)}, asking("gpu=l40s", "llama-3.1-70b"));
    EXPECT_THAT(large.what_ifs[0].why_not, HasSubstr("do not fit the memory of NVIDIA L40S"));
    EXPECT_THAT(what_if_sentence(large, large.what_ifs[0]), HasSubstr("no estimate for"));
}

TEST(WhatIf, names_the_chosen_load_and_marks_runs_that_miss_a_limit) {
    JoinOptions options = asking("gpu=h200,weights=fp8");
    options.slos = {{"ttft", 0.1}};
    options.slo_texts = {"ttft:100"};
    const ReportModel model = build_report({run_on_h200(1), run_on_h200(64)}, options);
    const WhatIf& what_if = model.what_ifs[0];
    ASSERT_EQ(what_if.points.size(), 2U);
    EXPECT_THAT(what_if_sentence(model, what_if), AllOf(HasSubstr(" at c=1 "), Not(HasSubstr("misses"))));
    EXPECT_EQ(note_on(what_if.points[0], model, what_if), "");
    EXPECT_THAT(note_on(what_if.points[1], model, what_if),
                HasSubstr("the measured run misses the SLO: ttft"));
    options.slos = {{"ttft", 0.001}};
    options.slo_texts = {"ttft:1"};
    const ReportModel none = build_report({run_on_h200(1), run_on_h200(64)}, options);
    EXPECT_THAT(what_if_sentence(none, none.what_ifs[0]), HasSubstr("the measured run misses the SLO"));
}

TEST(WhatIf, on_gpus_that_cannot_share_the_heads_is_refused) {
    const ReportModel model = build_report({run_on_h200(1)}, asking("tp=3"));
    EXPECT_THAT(model.what_ifs[0].why_not,
                HasSubstr("32 attention heads, which 3 ranks cannot share evenly"));
}

TEST(WhatIf, of_an_open_loop_is_by_the_arrivals) {
    LoadedRun open = run_on_h200(8);
    open.result.concurrency.reset();
    open.result.request_rate = 5;
    const ReportModel slower = build_report({open}, asking("gpu=l40s"));
    EXPECT_THAT(slower.what_ifs[0].why_not, HasSubstr("keep up with the arrivals"));
    const ReportModel faster = build_report({open}, asking("weights=fp8"));
    ASSERT_EQ(faster.what_ifs[0].points.size(), 1U);
    EXPECT_NEAR(faster.what_ifs[0].points[0].output_tokens_per_s,
                *faster.configurations[0].points[0].output_tokens_per_s, 1e-9);
}

TEST(WhatIf, fewer_bytes_and_more_hits_are_never_slower) {
    const auto rate = [](const std::string& what_if) {
        const ReportModel model = build_report({run_on_h200(8)}, asking(what_if));
        return model.what_ifs[0].points.at(0).output_tokens_per_s;
    };
    EXPECT_NEAR(
        rate("kv=bf16"),
        *build_report({run_on_h200(8)}, asking("kv=bf16")).configurations[0].points[0].output_tokens_per_s,
        1e-6);
    EXPECT_GT(rate("weights=fp8"), rate("weights=bf16"));
    EXPECT_GE(rate("hit=.9"), rate("hit=.1"));
    EXPECT_GT(rate("gpu=h200,tp=2"), rate("gpu=h200"));
}

}  // namespace
}  // namespace paretoken::reports
