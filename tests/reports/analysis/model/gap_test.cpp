#include "reports/analysis/model/gap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::size_t kLimit = 0, kWeights = 1, kAttention = 2, kCommunication = 3, kOverhead = 4,
                      kPrefill = 5, kBatch = 6, kSpeculation = 7, kExperts = 8, kResidual = 9;

/// The limit for 16 GB of weights at 4 TB/s and requests with 500 input and 200 output tokens.
LimitInputs limit() {
    LimitInputs inputs;
    inputs.dense_weight_bytes = 16e9;
    inputs.weight_bytes_per_s = 4e12;
    inputs.kv_bytes_per_token = 131072;
    inputs.kv_bytes_per_s = 4e12;
    inputs.linear_s_per_token = 16e-6;
    inputs.prefill_attention_s_per_pair = 1e-9;
    inputs.decode_attention_s_per_pair = 1e-9;
    return inputs;
}

GapRun run(double in_flight = 16, double output_tokens_per_s = 1500) {
    GapRun run;
    for (int i = 0; i < 50; ++i) run.work += work_of_request(500, 0, 200);
    run.in_flight = in_flight;
    run.output_tokens_per_s = output_tokens_per_s;
    run.usd_per_m_output = 2.0;
    return run;
}

double sum_of(const Gap& gap) {
    double sum = 0;
    for (const GapPart& part : gap.parts) sum += part.ms.value_or(0);
    return sum;
}

TEST(Gap, PartsSumToTheMeasuredStepAndToItsDollars) {
    Random random(3);
    for (int round = 0; round < 300; ++round) {
        LimitInputs datasheet = limit();
        LimitInputs measured = datasheet;
        *measured.weight_bytes_per_s *= 0.5 + random.uniform();
        if (random.below(2) == 0) measured.max_sequences = 1.0 + static_cast<double>(random.below(20));
        GapInputs inputs{.datasheet = datasheet, .measured = measured};
        if (random.below(2) == 0) inputs.overhead_s_per_step = random.uniform() * 1e-3;
        if (random.below(2) == 0) inputs.communication_s_per_step = random.uniform() * 1e-3;
        if (random.below(3) == 0)
            inputs.simulator = {{"step_s", 1e-3 * random.uniform()},
                                {"sequence_s", 4e-6},
                                {"linear_overlap_exponent", 1 + 3 * random.uniform()},
                                {"max_batched_tokens", 64.0 + 4000 * random.uniform()}};
        GapRun one = run(1 + 60 * random.uniform(), 10 + 5000 * random.uniform());
        if (random.below(2) == 0)
            one.running = random.below(4) == 0 ? one.in_flight : one.in_flight * random.uniform();
        if (random.below(3) == 0) {
            one.drafts = 4;
            one.tokens_per_pass = 1 + 4 * random.uniform();
        }
        const auto gap = gap_of(one, inputs);
        ASSERT_TRUE(gap);
        ASSERT_EQ(gap->parts.size(), kResidual + 1);
        EXPECT_NEAR(gap->step_ms,
                    one.in_flight * one.tokens_per_pass.value_or(1) / one.output_tokens_per_s * 1e3, 1e-9);
        EXPECT_NEAR(sum_of(*gap), gap->step_ms, 1e-9 * gap->step_ms);
        double usd = 0;
        for (const GapPart& part : gap->parts) usd += part.usd_per_m.value_or(0);
        EXPECT_NEAR(usd, 2.0, 1e-9);
        for (std::size_t part = kLimit; part < kResidual; ++part)
            EXPECT_THAT(gap->parts[part].ms.value_or(0), AnyOf(0.0, Gt(1e-6 * gap->step_ms)))
                << gap->parts[part].name << " is rounding error";
        EXPECT_THAT(std::abs(gap->parts[kResidual].ms.value()), AnyOf(0.0, Gt(1e-6 * gap->step_ms)));
    }
}

TEST(Gap, IsUnattributedWhereNothingWasMeasured) {
    const auto gap = gap_of(run(), {.datasheet = limit(), .measured = limit()});
    ASSERT_TRUE(gap);
    for (const std::size_t part :
         {kWeights, kAttention, kCommunication, kOverhead, kBatch, kSpeculation, kExperts})
        EXPECT_FALSE(gap->parts[part].ms) << gap->parts[part].name;
    // 16 requests in flight read 4 ms of weights and a little cache in each step.
    EXPECT_NEAR(gap->parts[kLimit].ms.value(), 4.0 * 199 / 200 + 16 * 600 * 131072 / 4e12 * 1e3, 0.02);
    EXPECT_GT(gap->parts[kPrefill].ms.value(), 0.5);  // 500 prompt tokens of 16 µs per 200 answer tokens, ×
                                                      // 16
    EXPECT_GT(gap->parts[kResidual].ms.value(), 0);
}

TEST(Gap, ChargesWhatWasMeasuredToItsOwnPart) {
    LimitInputs measured = limit();
    measured.weight_bytes_per_s = 2e12;
    GapInputs inputs{.datasheet = limit(), .measured = measured};
    inputs.overhead_s_per_step = 1e-3;
    inputs.overhead_source = "launches";
    inputs.communication_s_per_step = 0.5e-3;
    GapRun one = run(16, 1000);
    one.running = 8;
    const auto gap = gap_of(one, inputs);
    const auto part = [&](std::size_t place) { return gap->parts[place].ms.value(); };
    EXPECT_NEAR(part(kWeights), 4 * 199 / 200.0, 1e-6);
    EXPECT_NEAR(part(kOverhead), 1 * 199 / 200.0, 1e-6);
    EXPECT_NEAR(part(kCommunication), 0.5 * 199 / 200.0, 1e-6);
    EXPECT_EQ(gap->parts[kOverhead].source, "launches");
    // Half of the requests run at once, so weights, launches and sums are needed twice as often.
    EXPECT_NEAR(part(kBatch), (8 + 1 + 0.5) * 199 / 200.0, 1e-6);
    EXPECT_THAT(gap->parts[kBatch].source, HasSubstr("8.00 of 16.0 requests in flight"));
}

TEST(Gap, OfDraftsThatWereWrongIsSpeculationShortfall) {
    GapRun one = run(16, 3000);
    one.drafts = 4;
    one.tokens_per_pass = 2.5;
    const auto gap = gap_of(one, {.datasheet = limit(), .measured = limit()});
    EXPECT_EQ(gap->tokens_per_pass, 2.5);
    // It takes twice the passes that five tokens per pass would need.
    EXPECT_NEAR(gap->parts[kSpeculation].ms.value(), 2.0, 0.2);
}

TEST(Gap, HasNoPartThatIsOnlyRoundingAndStillSumsToTheStep) {
    const double floor_ms =
        gap_of(run(), {.datasheet = limit(), .measured = limit()})->parts[kLimit].ms.value() +
        gap_of(run(), {.datasheet = limit(), .measured = limit()})->parts[kPrefill].ms.value();
    const auto gap =
        gap_of(run(16, 16 / floor_ms * 1e3 * (1 - 1e-7)), {.datasheet = limit(), .measured = limit()});
    EXPECT_EQ(gap->parts[kResidual].ms, 0.0);
    EXPECT_DOUBLE_EQ(sum_of(*gap), gap->step_ms);
}

TEST(Gap, TakesTheMeasuredTimeOfPromptsInsteadOfTheEstimate) {
    GapRun one = run(1, 40);
    const double estimate =
        gap_of(one, {.datasheet = limit(), .measured = limit()})->parts[kPrefill].ms.value();
    one.prefill_s = 100;  // of the 250 s for 50 × 200 tokens
    one.prefill_source = "measured: TTFT";
    const auto gap = gap_of(one, {.datasheet = limit(), .measured = limit()});
    EXPECT_LT(estimate, 0.02 * gap->step_ms);
    EXPECT_NEAR(gap->parts[kPrefill].ms.value(), 0.4 * gap->step_ms, 1e-6);
    EXPECT_EQ(gap->parts[kPrefill].source, "measured: TTFT");
    EXPECT_NEAR(sum_of(*gap), gap->step_ms, 1e-9);

    one.prefill_s = 1000;  // more than the whole run: the prompts take what is left
    const auto most = gap_of(one, {.datasheet = limit(), .measured = limit()});
    EXPECT_EQ(most->parts[kResidual].ms, 0.0);
    EXPECT_NEAR(sum_of(*most), most->step_ms, 1e-9);
}

TEST(Gap, CountsTheServersSlotsWhereItDoesNotTellWhatRuns) {
    GapRun one = run(16, 1000);
    one.slots = 4;
    const auto gap = gap_of(one, {.datasheet = limit(), .measured = limit()});
    EXPECT_NEAR(gap->parts[kBatch].ms.value(), 12 * 199 / 200.0, 1e-6)
        << "weights are read four times as often";
    EXPECT_THAT(gap->parts[kBatch].source,
                HasSubstr("4.00 of 16.0 requests in flight were running, by the server's slots"));
    one.slots = 32;
    EXPECT_EQ(gap_of(one, {.datasheet = limit(), .measured = limit()})->parts[kBatch].ms, 0.0);
    one.running = 8;
    EXPECT_THAT(gap_of(one, {.datasheet = limit(), .measured = limit()})->parts[kBatch].source,
                HasSubstr("by the server's metrics"));
}

TEST(Gap, NamesTheInputThatBindsTheHardwareLimitAtThisLoad) {
    LimitInputs inputs = limit();
    inputs.terms = {{"memory bandwidth", 4000, "GB/s", "datasheet: G"},
                    {"arithmetic", 1, "TFLOP/s", "datasheet: G, bf16"},
                    {"reached by our attention kernel", 1, "GB/s", "micro"}};
    const auto source = [&](double in_flight) {
        return gap_of(run(in_flight), {.datasheet = inputs, .measured = inputs})->parts[kLimit].source;
    };
    EXPECT_EQ(source(16), "memory bandwidth, datasheet: G");
    EXPECT_EQ(source(2000), "arithmetic, datasheet: G, bf16");
    inputs.terms.clear();
    EXPECT_EQ(source(16), "");
}

TEST(Gap, HasNoBatchShortfallWithOneRequestInFlight) {
    GapRun one = run(.9998, 40);
    one.running = .8;  // one of five samples found nothing to run
    const auto gap = gap_of(one, {.datasheet = limit(), .measured = limit()});
    EXPECT_EQ(gap->parts[kBatch].ms, 0.0);
    EXPECT_EQ(gap->parts[kBatch].source, "one request in flight waits for no other");
    one.closed_loop = false;
    EXPECT_GT(gap_of(one, {.datasheet = limit(), .measured = limit()})->parts[kBatch].ms.value(), 0);
}

TEST(Gap, GivesRemediesForTheHardwareAndOnlyForPartsThatMatter) {
    GapRun one = run(1, 40);
    one.prefill_s = 100;
    GapInputs inputs{.datasheet = limit(), .measured = limit()};
    inputs.overhead_s_per_step = 1e-3;
    EXPECT_THAT(gap_of(one, inputs)->parts[kPrefill].remedy, HasSubstr("GPUs of its own"));
    inputs.on_cpu = true;
    const auto gap = gap_of(one, inputs);
    EXPECT_THAT(gap->parts[kPrefill].remedy, HasSubstr("more threads"));
    EXPECT_THAT(gap->parts[kPrefill].remedy, Not(HasSubstr("GPU")));
    EXPECT_EQ(gap->parts[kOverhead].remedy, "") << "1 ms of 25 ms";
}

TEST(Gap, RemedyOfRequestsThatWaitFollowsFromWhatIsShort) {
    GapRun one = run(16, 1000);
    one.slots = 4;
    GapInputs inputs{.datasheet = limit(), .measured = limit()};
    const auto remedy = [&] { return gap_of(one, inputs)->parts[kBatch].remedy; };
    EXPECT_THAT(remedy(), AllOf(HasSubstr("--max-num-seqs"), HasSubstr("if the KV cache has room, else")));
    one.kv_usage = 0.002;
    EXPECT_THAT(remedy(), AllOf(HasSubstr("--max-num-seqs"), HasSubstr("at most 0.200 % of it was used"),
                                Not(HasSubstr("memory"))));
    inputs.on_cpu = true;
    EXPECT_THAT(remedy(), HasSubstr("more slots"));
    one.kv_usage = 0.97;
    EXPECT_THAT(remedy(), AllOf(StartsWith("memory for more KV cache"), Not(HasSubstr("slots"))));
}

TEST(Gap, ThatNothingExplainsIsNamedFirstWithTheMeasurementsThatWould) {
    const auto gap = gap_of(run(2, 40), {.datasheet = limit(), .measured = limit()});
    ASSERT_EQ(first_to_fix(*gap)->name, kResidualPart);
    EXPECT_THAT(gap->first_to_fix,
                AllOf(HasSubstr("residual: "), HasSubstr("`paretoken micro`"), HasSubstr("--concurrency 1"),
                      HasSubstr("the server's metrics"), Not(HasSubstr("What helps"))));
    GapRun told = run(1, 40);
    told.running = 1;
    told.prefill_s = 50;
    told.prefill_source = "measured";
    LimitInputs slower = limit();
    *slower.weight_bytes_per_s /= 1.5;
    const auto measured = gap_of(told, {.datasheet = limit(), .measured = slower});
    EXPECT_THAT(measured->first_to_fix, AllOf(HasSubstr("residual: "), HasSubstr("--model-card MODEL"),
                                              HasSubstr("profile"), Not(HasSubstr("--concurrency 1")),
                                              HasSubstr("The largest part with a remedy is prefill")));
}

TEST(Gap, NamesTheLargestPartAndWhatItWouldMove) {
    Gap gap{.step_ms = 10, .in_flight = 16, .usd_per_m_output = 1.0};
    gap.parts = {{.name = "hardware limit", .ms = 5},
                 {.name = "batch shortfall", .ms = 2, .usd_per_m = 0.2, .remedy = "more memory"},
                 {.name = "overhead", .ms = 1, .usd_per_m = 0.1, .remedy = "graphs"},
                 {.name = "residual", .ms = 2}};
    EXPECT_EQ(first_to_fix(gap)->name, "batch shortfall");
    EXPECT_EQ(
        what_to_fix_first(gap),
        "batch shortfall: 2.00 ms of the 10.0 ms of a step; without it $1.00 → $0.800 per million output "
        "tokens. What helps: more memory.");
    gap.parts.back().ms = 7;
    EXPECT_THAT(what_to_fix_first(gap),
                AllOf(StartsWith("residual: 7.00 ms"),
                      HasSubstr("The largest part with a remedy is batch shortfall")));
    gap.parts.back().ms = -1.5;  // the parts add up to more than the step
    EXPECT_EQ(first_to_fix(gap), nullptr);
    gap.parts.back().ms = -0.5;
    EXPECT_EQ(first_to_fix(gap)->name, "batch shortfall");
    EXPECT_THAT(
        what_to_fix_first(gap),
        HasSubstr("2.00 ms of the 10.0 ms of a step, or 1.50 ms, because the parts add up to 0.500 ms "
                  "more than the step; without it $1.00 → $0.850 per million output tokens or less."));
    EXPECT_THAT(what_to_fix_first(gap, false, false),
                AllOf(Not(HasSubstr("→")), HasSubstr("cheaper only if more requests are sent")));
    gap.parts.back().ms = 7;
    Gap uncounted = gap;
    uncounted.parts[1].ms.reset();
    EXPECT_THAT(what_to_fix_first(uncounted), HasSubstr("llama.cpp needs `--metrics`"));
    EXPECT_THAT(what_to_fix_first(uncounted, true),
                AllOf(HasSubstr("a longer run, in which enough readings"), Not(HasSubstr("--metrics"))));
    gap.parts.erase(gap.parts.begin() + 1, gap.parts.end());
    gap.parts.push_back({.name = "overhead", .ms = 0.9, .remedy = "graphs"});
    EXPECT_EQ(first_to_fix(gap), nullptr);
    EXPECT_THAT(what_to_fix_first(gap), StartsWith("the hardware limit is 5.00 ms of the 10.0 ms of a step"));
    gap.parts.front().ms = 10.2;
    EXPECT_THAT(what_to_fix_first(gap), StartsWith("the hardware limit is all of the 10.0 ms of a step"));
    gap.parts.clear();
    EXPECT_EQ(what_to_fix_first(gap), "");
}

TEST(Gap, IsNothingWithoutTokensOrALimitAndForFixedTimes) {
    EXPECT_FALSE(gap_of(run(16, 0), {.datasheet = limit(), .measured = limit()}));
    EXPECT_FALSE(gap_of(run(), {}));
    LimitInputs fixed;
    fixed.fixed_itl_s = 0.01;
    EXPECT_FALSE(gap_of(run(), {.datasheet = fixed, .measured = fixed}));
}

}  // namespace
}  // namespace paretoken::reports
