#include "reports/analysis/model/limit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/analysis/cost/cost.h"
#include "tests/reports/analysis/model/llama_on_h200.h"

namespace paretoken::reports {
namespace {

using sample::llama_on_h200;

/// The work of one request with these numbers of prompt and output tokens.
Totals load_of(double input, double output, double cached = 0) {
    return work_of_request(input - cached, cached, output);
}

Totals sum_of(Totals a, const Totals& b) {
    return a += b;
}

const Totals kThousand = load_of(1024, 1024);
constexpr double kUsdPerSecond = 2.90 / 3600;

/// Compares to the precision with which the expected value is given.
void expect_rounded(double value, double expected, double unit) {
    EXPECT_NEAR(value, expected, unit * 0.51);
}

TEST(Limit, StepsAndPrefillTakeTheirGoldenTimes) {
    const LimitInputs inputs = llama_on_h200();
    expect_rounded(prefill_time(inputs, kThousand).prefill_s() * 1e3, 14.73, 0.01);
    const double context = 1024 + 512;
    expect_rounded(step_time(inputs, 1, context).step_s() * 1e3, 3.169, 0.001);
    expect_rounded(step_time(inputs, 32, context).step_s() * 1e3, 4.469, 0.001);
    expect_rounded(step_time(inputs, 128, context).step_s() * 1e3, 8.496, 0.001);
    expect_rounded(step_time(inputs, 412, context).step_s() * 1e3, 20.407, 0.001);
}

struct Golden {
    double batch;
    double interactivity;
    double output;
    double usd;
    double usd_digit;
};

void expect_golden(LimitKind kind, const Golden& golden) {
    const auto point = limit_at(llama_on_h200(), kind, kThousand, golden.batch);
    ASSERT_TRUE(point);
    EXPECT_NEAR(point->interactivity / golden.interactivity, 1, 0.0015);
    EXPECT_NEAR(point->output_tokens_per_s / golden.output, 1, 0.0002);
    expect_rounded(*usd_per_m_output(kUsdPerSecond, point->output_tokens_per_s), golden.usd,
                   golden.usd_digit);
}

TEST(Limit, WithoutOverlapIsTheGoldenReference) {
    for (const Golden& golden :
         {Golden{1, 314.5, 314.5, 2.562, 0.001}, Golden{32, 203.0, 6497, 0.1240, 0.0001},
          Golden{128, 96.8, 12393, 0.0650, 0.0001}, Golden{412, 38.0, 15657, 0.0515, 0.0001}})
        expect_golden(LimitKind::no_overlap, golden);
}

TEST(Limit, HardIsTheGoldenLimit) {
    for (const Golden& golden :
         {Golden{1, 315.9, 315.9, 2.550, 0.001}, Golden{32, 224.0, 7167, 0.1124, 0.0001},
          Golden{128, 117.8, 15081, 0.0534, 0.0001}, Golden{412, 49.0, 20208, 0.0399, 0.0001}})
        expect_golden(LimitKind::hard, golden);
}

TEST(Limit, OfLongPromptsIsArithmetic) {
    const LimitInputs inputs = llama_on_h200();
    const Totals load = load_of(8192, 256);
    expect_rounded(prefill_time(inputs, load).prefill_s() * 1e3, 133.41, 0.01);
    const auto apart = limit_at(inputs, LimitKind::no_overlap, load, 32).value();
    expect_rounded(apart.output_tokens_per_s, 1184, 1);
    expect_rounded(apart.interactivity, 37.0, 0.1);
    expect_rounded(*usd_per_m_output(kUsdPerSecond, apart.output_tokens_per_s), 0.681, 0.001);
    const auto hard = limit_at(inputs, LimitKind::hard, load, 32).value();
    expect_rounded(hard.output_tokens_per_s, 1850, 1);
    expect_rounded(hard.interactivity, 57.8, 0.1);
    expect_rounded(*usd_per_m_output(kUsdPerSecond, hard.output_tokens_per_s), 0.436, 0.001);
}

TEST(Limit, EndsWhereTheKvPoolIsFull) {
    EXPECT_EQ(batch_cap(llama_on_h200(), kThousand), 412);
    const auto curve = limit_curve(llama_on_h200(), LimitKind::hard, {kThousand}, 1e9);
    EXPECT_EQ(curve.front().batch, 1);
    EXPECT_EQ(curve.back().batch, 412);
}

TEST(Limit, OfRunsWhoseRequestsDifferIsTheHighestOfTheirLimitsAtEachBatch) {
    const Totals chat = load_of(512, 256);
    const Totals batch = load_of(8192, 64);
    const LimitInputs inputs = llama_on_h200();
    const auto curve = limit_curve(inputs, LimitKind::hard, {batch, chat}, 1e9);
    EXPECT_EQ(curve.back().batch, batch_cap(inputs, chat));
    for (const LimitPoint& point : curve)
        for (const Totals& work : {chat, batch})
            EXPECT_GE(point.output_tokens_per_s,
                      limit_at(inputs, LimitKind::hard, work, point.batch)->output_tokens_per_s);
    EXPECT_EQ(limit_curve(inputs, LimitKind::hard, {chat, chat}, 1e9),
              limit_curve(inputs, LimitKind::hard, {chat}, 1e9));
    EXPECT_TRUE(limit_curve(inputs, LimitKind::hard, {}, 1e9).empty());
}

TEST(Limit, OfTheDatasheetCardIsThatOfItsFigures) {
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    const LimitInputs inputs = limit_inputs(model, hardware_of_datasheet(cards::gpu_card("h200"), 1, "bf16"));
    const auto point = limit_at(inputs, LimitKind::hard, kThousand, 128).value();
    EXPECT_NEAR(point.output_tokens_per_s, 15081, 15);
    EXPECT_TRUE(inputs.dropped.empty());
    for (const SourcedTerm& term : inputs.terms) EXPECT_FALSE(term.source.empty()) << term.name;
}

TEST(Limit, OfDecodingIsWeightsOverBandwidth) {
    LimitInputs inputs;
    inputs.weight_bytes_per_s = 2e12;
    inputs.dense_weight_bytes = 70e9 * 2;
    EXPECT_DOUBLE_EQ(step_time(inputs, 1, 0).step_s(), 0.070);
    inputs.dense_weight_bytes = 70e9 / 2;
    EXPECT_DOUBLE_EQ(step_time(inputs, 1, 0).step_s(), 0.0175);
}

TEST(Limit, RidgesAreThoseOfTheCards) {
    const auto ridge = [](const char* name, const char* dtype) {
        const cards::GpuCard card = cards::gpu_card(name);
        return std::round(card.flops.at(dtype) / card.memory_bytes_per_s);
    };
    EXPECT_EQ(ridge("h100", "bf16"), 295);
    EXPECT_EQ(ridge("h200", "bf16"), 206);
    EXPECT_EQ(ridge("h200", "fp8"), 412);
}

TEST(Limit, GrowsWithTheBatchWhileEachUserSlowsDown) {
    for (const char* name : {"llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-120b"}) {
        const cards::ModelCard model = cards::model_card(name);
        const LimitInputs inputs =
            limit_inputs(model, hardware_of_datasheet(cards::gpu_card("h200"), 1, model.weight_dtype));
        for (const LimitKind kind : {LimitKind::hard, LimitKind::no_overlap}) {
            const auto curve = limit_curve(inputs, kind, {kThousand}, 64);
            ASSERT_GT(curve.size(), 4u);
            for (std::size_t i = 1; i < curve.size(); ++i) {
                EXPECT_GT(curve[i].batch, curve[i - 1].batch);
                EXPECT_GE(curve[i].output_tokens_per_s, curve[i - 1].output_tokens_per_s * (1 - 1e-12))
                    << name;
                EXPECT_LE(curve[i].interactivity, curve[i - 1].interactivity * (1 + 1e-12)) << name;
            }
        }
    }
}

TEST(Limit, IsNeverBelowTheReferenceWithoutOverlap) {
    const LimitInputs inputs = llama_on_h200();
    for (double input = 16; input <= 16384; input *= 4)
        for (double output = 1; output <= 4096; output *= 4)
            for (double batch = 1; batch <= 512; batch *= 4)
                for (const double cached : {0.0, 0.5, 1.0}) {
                    const Totals load = load_of(input, output, cached * input);
                    EXPECT_GE(limit_at(inputs, LimitKind::hard, load, batch)->output_tokens_per_s,
                              limit_at(inputs, LimitKind::no_overlap, load, batch)->output_tokens_per_s);
                }
}

TEST(Limit, AtAnInteractivityIsTheLargestBatchThatKeepsIt) {
    const LimitInputs inputs = llama_on_h200();
    const auto known = limit_at(inputs, LimitKind::hard, kThousand, 128).value();
    const auto found =
        limit_at_interactivity(inputs, LimitKind::hard, kThousand, known.interactivity, 1e9).value();
    EXPECT_NEAR(found.batch, 128, 1e-3);
    EXPECT_GE(found.interactivity, known.interactivity);
    EXPECT_EQ(limit_at_interactivity(inputs, LimitKind::hard, kThousand, 1, 1e9)->batch, 412);
    EXPECT_FALSE(limit_at_interactivity(inputs, LimitKind::hard, kThousand, 400, 1e9));
}

TEST(Limit, CachedInputNeedsNoPrefillAndItsCacheIsStillRead) {
    const LimitInputs inputs = llama_on_h200();
    const Totals fresh = load_of(8192, 256);
    const Totals cached = load_of(8192, 256, 8000);
    EXPECT_LT(prefill_time(inputs, cached).compute_s, prefill_time(inputs, fresh).compute_s / 20);
    EXPECT_GT(limit_at(inputs, LimitKind::hard, cached, 32)->output_tokens_per_s,
              limit_at(inputs, LimitKind::hard, fresh, 32)->output_tokens_per_s);
}

TEST(Limit, RequestsBeyondWhatFitsWait) {
    const LimitInputs inputs = llama_on_h200();
    const double full = limit_at(inputs, LimitKind::hard, kThousand, 1000)->output_tokens_per_s;
    const auto queued = limit_at(inputs, LimitKind::hard, kThousand, 4000).value();
    EXPECT_DOUBLE_EQ(queued.output_tokens_per_s, full);
    EXPECT_DOUBLE_EQ(queued.interactivity, full / 4000);
}

TEST(Limit, OfSeveralRanksSharesWeightsAndReplicatesTheCacheBeyondItsHeads) {
    const double context = 1536;
    const StepTime one = step_time(llama_on_h200(1), 64, context);
    const StepTime eight = step_time(llama_on_h200(8), 64, context);
    const StepTime sixteen = step_time(llama_on_h200(16), 64, context);
    EXPECT_NEAR(eight.memory_s, one.memory_s / 8, 1e-12);
    const double kv = 64 * context * 131072 / 4.8e12;
    EXPECT_NEAR(sixteen.memory_s, (one.memory_s - kv) / 16 + kv / 8, 1e-12);
    EXPECT_NEAR(sixteen.compute_s, one.compute_s / 16, 1e-12);
}

TEST(Limit, DropsUnknownTermsByName) {
    const cards::ModelCard model = cards::model_card("smollm2-135m");
    const LimitInputs nothing = limit_inputs(model, {});
    EXPECT_FALSE(limits_anything(nothing));
    EXPECT_EQ(nothing.dropped.size(), 3u);
    EXPECT_FALSE(limit_at(nothing, LimitKind::hard, kThousand, 1));
    HardwareTerms bandwidth;
    bandwidth.read_bytes_per_s = Sourced{40e9, "measured"};
    const LimitInputs memory_only = limit_inputs(model, bandwidth);
    EXPECT_TRUE(limits_anything(memory_only));
    EXPECT_EQ(memory_only.dropped, (std::vector<std::string>{"arithmetic", "memory for the KV cache"}));
    EXPECT_FALSE(batch_cap(memory_only, kThousand));
    EXPECT_EQ(limit_curve(memory_only, LimitKind::hard, {kThousand}, 48).back().batch, 48);
}

TEST(Limit, SaysWhenWeightsDoNotFit) {
    const LimitInputs inputs = limit_inputs(cards::model_card("llama-3.1-70b"),
                                            hardware_of_datasheet(cards::gpu_card("l4"), 1, "bf16"));
    ASSERT_EQ(inputs.dropped.size(), 1u);
    EXPECT_NE(inputs.dropped.front().find("do not fit"), std::string::npos);
}

MicroRow speed_row(const std::string& name, double bytes_per_s, double bytes = 1e8) {
    MicroRow row{.name = name, .device = "cpu"};
    row.median_s = bytes / bytes_per_s;
    row.bytes_per_s = bytes_per_s;
    return row;
}

const SourcedTerm* term_named(const LimitInputs& inputs, const std::string& name) {
    for (const SourcedTerm& term : inputs.terms)
        if (term.name == name) return &term;
    return nullptr;
}

TEST(Limit, UsesTheReadCeilingAndOnlyShowsWhatKernelsReach) {
    MicroResults micro;
    micro.device.name = "AMD EPYC";
    micro.date = "2026-11-21T09:40:00Z";
    micro.read_bytes_per_s = MeasuredFigure{45e9, "ceiling/read/backend:cpu/threads:2"};
    micro.flops_per_s = {{"f32_fma", {100e9, "fma"}}, {"int8_dot", {900e9, "int8"}}};
    micro.rows = {
        speed_row("weights/w:bf16/layout:packed/batch:1/backend:cpu/threads:2", 42e9),
        speed_row("weights/w:q4_1/layout:packed/batch:1/backend:cpu/threads:2", 30e9),
        speed_row("attention/kv:bf16/heads:9x3x64/ctx:4096/block:64/order:seq/backend:cpu/threads:2", 35e9)};
    const LimitInputs inputs = limit_inputs(cards::model_card("smollm2-135m"),
                                            hardware_of_micro(micro, cards::model_card("smollm2-135m")));
    EXPECT_EQ(inputs.weight_bytes_per_s, 45e9);
    EXPECT_EQ(inputs.kv_bytes_per_s, 45e9);
    EXPECT_EQ(reached_bandwidth(inputs, 1, 1000).weight_bytes_per_s, 42e9);
    EXPECT_EQ(reached_bandwidth(inputs, 1, 1000).kv_bytes_per_s, 35e9);
    EXPECT_NEAR(*inputs.linear_s_per_token, 2 * (134479872.0 - 49152 * 576) / 900e9, 1e-12);
    EXPECT_NEAR(inputs.lm_head_s_per_sequence, 2.0 * 49152 * 576 / 900e9, 1e-12);
    const SourcedTerm* read = term_named(inputs, "memory bandwidth");
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->source, "measured by micro on AMD EPYC, 2026-11-21: ceiling/read/backend:cpu/threads:2");
    const SourcedTerm* shown = term_named(inputs, "reached by our weight kernel, batch 1");
    ASSERT_NE(shown, nullptr);
    EXPECT_EQ(shown->value, 42);
    EXPECT_NE(shown->source.find("weights/w:bf16/layout:packed/batch:1"), std::string::npos);
}

TEST(Limit, GoldenValuesComeFromMeasuredRowsAsFromTheDatasheet) {
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    MicroResults micro;
    micro.device = {.id = "gpu0",
                    .backend = MicroBackend::gpu,
                    .name = "NVIDIA H200",
                    .card = "h200",
                    .memory_bytes = 141e9};
    micro.read_bytes_per_s =
        MeasuredFigure{4.8e12, "ceiling/read/mib:1024/access:staged/backend:gpu/mode:ring"};
    micro.library_flops_per_s = {{"bf16", {989.4e12, "ceiling/flops/lib/w:bf16/backend:gpu/mode:ring"}}};
    const LimitInputs measured = limit_inputs(model, hardware_of_micro(micro, model));
    const LimitInputs datasheet =
        limit_inputs(model, hardware_of_datasheet(cards::gpu_card("h200"), 1, "bf16"));
    EXPECT_TRUE(measured.dropped.empty());
    EXPECT_EQ(measured.kv_pool_bytes, datasheet.kv_pool_bytes);
    const Totals work = work_of_request(1024, 0, 1024);
    EXPECT_EQ(batch_cap(measured, work), 412);
    for (const double batch : {1.0, 32.0, 128.0, 412.0})
        for (const LimitKind kind : {LimitKind::hard, LimitKind::size_aware, LimitKind::no_overlap})
            EXPECT_EQ(limit_at(measured, kind, work, batch), limit_at(datasheet, kind, work, batch));
    EXPECT_NEAR(limit_at(measured, LimitKind::hard, work, 32)->output_tokens_per_s, 7167, 4);
    EXPECT_NEAR(limit_at(measured, LimitKind::no_overlap, work, 32)->output_tokens_per_s, 6497, 4);
    EXPECT_FALSE(limit_at(measured, LimitKind::reachable, work, 32)) << "no kernel was measured";
}

/// Rows of an H200 with their usual names and with round speeds.
MicroResults h200_kernels() {
    MicroResults micro;
    micro.device = {.id = "gpu0", .backend = MicroBackend::gpu, .name = "NVIDIA H200", .card = "h200"};
    micro.read_bytes_per_s = MeasuredFigure{4.4e12, "ceiling/read"};
    micro.library_flops_per_s = {{"bf16", {800e12, "ceiling/flops/lib/w:bf16"}}};
    micro.rows = {speed_row("weights/preset:llama3-8b/op:qkv/w:bf16/batch:1/backend:gpu/mode:ring", 4e12),
                  speed_row("weights/preset:llama3-8b/op:qkv/w:bf16/batch:32/backend:gpu/mode:ring", 2e12),
                  speed_row("weights/preset:llama3-70b/op:qkv/w:bf16/batch:1/backend:gpu/mode:ring", 9e12),
                  speed_row("weights/preset:llama3-8b/op:qkv/w:fp8/batch:1/backend:gpu/mode:ring", 9e12),
                  speed_row("attention/preset:llama3-8b/kv:bf16/batch:1/ctx:4096/page:16/layout:nhd/"
                            "order:random/backend:gpu/mode:ring",
                            1e12),
                  speed_row("attention/preset:llama3-8b/kv:bf16/batch:32/ctx:4096/page:16/layout:nhd/"
                            "order:random/backend:gpu/mode:ring",
                            3e12),
                  speed_row("attention/preset:llama3-8b/kv:bf16/batch:32/ctx:4096/page:16/layout:nhd/"
                            "order:random/window:128/backend:gpu/mode:ring",
                            9e12)};
    return micro;
}

TEST(ReachableLimit, IsMadeOfTheModelsOwnRowsByBatchAndContext) {
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    const LimitInputs inputs = limit_inputs(model, hardware_of_micro(h200_kernels(), model));
    const double weights = static_cast<double>(model.dense_streamed_bytes);
    const double kv = cards::kv_bytes_per_token(model);
    EXPECT_NEAR(*reachable_step_s(inputs, 1, 4096), weights / 4e12 + 4096 * kv / 1e12, 1e-9);
    EXPECT_NEAR(*reachable_step_s(inputs, 32, 4096), weights / 2e12 + 32 * 4096 * kv / 3e12, 1e-9);
    // This batch is half way between 1 and 32 by the logarithm, so the result is the mean of the times per
    // byte.
    const double between = std::sqrt(32.0);
    EXPECT_NEAR(*reached_bandwidth(inputs, between, 4096).weight_bytes_per_s, 2 / (1 / 4e12 + 1 / 2e12), 1e3);
    EXPECT_EQ(reached_bandwidth(inputs, 512, 4096).weight_bytes_per_s, 2e12);
    const Totals work = work_of_request(1024, 0, 1024);
    for (const double batch : {1.0, 8.0, 64.0})
        EXPECT_LT(limit_at(inputs, LimitKind::reachable, work, batch)->output_tokens_per_s,
                  limit_at(inputs, LimitKind::no_overlap, work, batch)->output_tokens_per_s);
}

TEST(ReachableLimit, TakesTheStepOfAWholeLayerWhereItWasMeasured) {
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    MicroResults micro = h200_kernels();
    MicroRow layer{.name = "layer/preset:llama3-8b/w:bf16/kv:bf16/batch:32/ctx:4096/backend:gpu/mode:ring",
                   .device = "gpu0"};
    layer.median_s = 400e-6;
    micro.rows.push_back(layer);
    MicroRow other = layer;
    other.name = "layer/preset:llama3-8b/tp:8/w:bf16/kv:bf16/batch:32/ctx:4096/backend:gpu/mode:ring";
    other.median_s = 1e-6;
    micro.rows.push_back(other);
    const LimitInputs inputs = limit_inputs(model, hardware_of_micro(micro, model));
    const double head = 128256.0 * 4096 * 2;
    EXPECT_NEAR(*reachable_step_s(inputs, 32, 4096), 32 * 400e-6 + head / 2e12, 1e-8);
    EXPECT_GT(*reachable_step_s(inputs, 32, 8192), *reachable_step_s(inputs, 32, 4096));
    EXPECT_NE(term_named(inputs, "step of one layer, batch 32, 4096 tokens"), nullptr);
}

TEST(ReachableLimit, ServesAnF16CardFromFp16RowsAndLatentAttentionFromItsOwn) {
    MicroResults micro = h200_kernels();
    micro.rows.push_back(
        speed_row("weights/preset:llama3-8b/op:qkv/w:fp16/batch:1/backend:gpu/mode:ring", 3.5e12));
    micro.rows.push_back(
        speed_row("attention/preset:llama3-8b/kv:fp16/batch:1/ctx:4096/page:16/layout:nhd/order:random/"
                  "backend:gpu/mode:ring",
                  2.5e12));
    micro.rows.push_back(speed_row(
        "mla/preset:deepseek-v3-tp8/kv:bf16/batch:64/ctx:8192/page:64/order:random/backend:gpu/mode:ring",
        2.9e12));
    const cards::ModelCard f16 = cards::model_card("llama-3.1-8b:weights=f16,kv=f16");
    const KernelSpeeds kernels = kernel_speeds(micro, f16, 1);
    ASSERT_EQ(kernels.weights.size(), 1u);
    EXPECT_EQ(kernels.weights[0].per_s, 3.5e12);
    ASSERT_EQ(kernels.attention.size(), 1u);
    EXPECT_EQ(kernels.attention[0].per_s, 2.5e12);
    const KernelSpeeds latent = kernel_speeds(micro, cards::model_card("deepseek-v3:kv=bf16"), 8);
    ASSERT_EQ(latent.attention.size(), 1u);
    EXPECT_NE(latent.attention[0].row.find("mla/"), std::string::npos);
}

TEST(ReachableLimit, TakesPrefillFromItsProductsAndTheFixedPartFromLaunches) {
    const cards::ModelCard model = cards::model_card("llama-3.1-8b");
    MicroResults micro = h200_kernels();
    const LimitInputs without = limit_inputs(model, hardware_of_micro(micro, model));
    MicroRow gemm{
        .name =
            "prefill/gemm/engine:lib/preset:llama3-8b/op:gate_up/w:bf16/tokens:2048/backend:gpu/mode:ring",
        .device = "gpu0"};
    gemm.median_s = 1e-3;
    gemm.flops_per_s = 400e12;
    MicroRow launch{.name = "launch/graph_node/backend:gpu/mode:ring", .device = "gpu0"};
    launch.median_s = 1.4e-6;
    micro.rows.push_back(gemm);
    micro.rows.push_back(launch);
    const LimitInputs with = limit_inputs(model, hardware_of_micro(micro, model));
    EXPECT_NEAR(*reachable_step_s(with, 1, 4096) - *reachable_step_s(without, 1, 4096), 5 * 32 * 1.4e-6,
                1e-12);
    EXPECT_LT(limit_at(with, LimitKind::reachable, work_of_request(8192, 0, 2), 1)->output_tokens_per_s,
              limit_at(without, LimitKind::reachable, work_of_request(8192, 0, 2), 1)->output_tokens_per_s);
    EXPECT_NE(term_named(with, "reached by prefill's products, batch 1, 2048 tokens"), nullptr);
}

TEST(Limit, SmallMatricesOneAfterTheOtherDoNotReachTheAsymptoticBandwidth) {
    const cards::ModelCard model = cards::model_card("smollm2-135m");
    MicroResults micro;
    micro.read_bytes_per_s = MeasuredFigure{45e9, "ceiling/read"};
    const LimitInputs asymptotic = limit_inputs(model, hardware_of_micro(micro, model));
    micro.read_fits = {
        {.kernel = "ceiling/read/backend:cpu/threads:2", .fixed_s = 2e-6, .bytes_per_s = 45e9}};
    const LimitInputs sized = limit_inputs(model, hardware_of_micro(micro, model));
    const double fixed = (4 * 30 + 1) * 2e-6;  // 30 layers of four matrices, and the output projection
    for (const double batch : {1.0, 8.0, 64.0})
        EXPECT_NEAR(step_time(sized, batch, 100).fixed_s - step_time(asymptotic, batch, 100).fixed_s, fixed,
                    1e-12);
    EXPECT_NEAR(prefill_time(sized, kThousand).fixed_s - prefill_time(asymptotic, kThousand).fixed_s, fixed,
                1e-12);
    bool said = false;
    for (const SourcedTerm& term : sized.terms)
        said = said || (term.name.find("fixed cost") != std::string::npos &&
                        term.source.find("121 matrices") != std::string::npos);
    EXPECT_TRUE(said);
    const auto rate = [](const LimitInputs& inputs, LimitKind kind, double batch) {
        return limit_at(inputs, kind, kThousand, batch)->output_tokens_per_s;
    };
    EXPECT_LT(rate(sized, LimitKind::no_overlap, 1), rate(asymptotic, LimitKind::no_overlap, 1));
    for (const double batch : {1.0, 2.0, 16.0, 128.0})  // prefetching can hide it: not in the hard limit
        EXPECT_EQ(rate(sized, LimitKind::hard, batch), rate(asymptotic, LimitKind::hard, batch));
    EXPECT_LT(rate(sized, LimitKind::size_aware, 1), rate(sized, LimitKind::hard, 1));
    EXPECT_EQ(rate(asymptotic, LimitKind::size_aware, 1), rate(asymptotic, LimitKind::hard, 1));
    EXPECT_FALSE(overlaid(hardware_of_micro(micro, model), {}).read_fixed_s->source.empty());
}

TEST(Limit, MeasuredFiguresTakeTheDatasheetsPlaceOneByOne) {
    HardwareTerms measured;
    measured.read_bytes_per_s = Sourced{4.3e12, "measured"};
    const HardwareTerms both = overlaid(measured, hardware_of_datasheet(cards::gpu_card("h200"), 2, "bf16"));
    EXPECT_EQ(both.read_bytes_per_s->source, "measured");
    EXPECT_EQ(both.flops_per_s->value, 989.4e12);
    EXPECT_NE(both.flops_per_s->source.find("datasheet"), std::string::npos);
    EXPECT_EQ(both.ranks, 2u);
}

/// The default profile of the simulated server.
std::map<std::string, double> h100_profile() {
    return {{"weight_bytes", 15.0e9},
            {"weight_bytes_per_s", 2.31e12},
            {"kv_bytes_per_token", 131072},
            {"kv_bytes_per_s", 2.9e12},
            {"linear_s_per_token", 21.8e-6},
            {"lm_head_s_per_sequence", 2.0 * 128256 * 4096 / 600e12},
            {"attention_flops_per_token_pair", 4.0 * 32 * 4096},
            {"attention_flops_per_s", 450e12},
            {"max_num_seqs", 256},
            {"kv_capacity_tokens", 27600 * 16}};
}

TEST(SimulatorLimit, IsBelowEveryStepOfTheEngine) {
    const LimitInputs inputs = limit_inputs_of_simulator(h100_profile());
    EXPECT_TRUE(inputs.dropped.empty());
    // The time of the engine's own step: linear layers (a q-norm of reading and computing), head, KV and
    // fixed costs.
    for (const double batch : {1.0, 32.0, 64.0, 256.0}) {
        const double context = 512 + 64;
        const double linear =
            std::pow(std::pow(15.0e9 / 2.31e12, 1.7) + std::pow(21.8e-6 * batch, 1.7), 1 / 1.7);
        const double engine = 1e-3 + 4e-6 * batch + linear + batch * inputs.lm_head_s_per_sequence +
                              batch * context * 131072 / 2.9e12;
        EXPECT_LT(step_time(inputs, batch, context).step_s(), engine);
        EXPECT_GT(step_time(inputs, batch, context).step_s(), 0.5 * engine);
    }
    const Totals load = load_of(2048, 128);
    EXPECT_NEAR(prefill_time(inputs, load).compute_s, 0.047, 0.003);  // the engine takes 49 ms
}

TEST(SimulatorLimit, EndsAtTheSlotsOrTheCacheOfTheProfile) {
    const LimitInputs inputs = limit_inputs_of_simulator(h100_profile());
    EXPECT_EQ(batch_cap(inputs, load_of(512, 128)), 256);
    EXPECT_EQ(batch_cap(inputs, load_of(8192, 1024)), std::floor(27600 * 16 / 9216.0));
}

TEST(SimulatorLimit, OfFixedTimesIsThoseTimes) {
    const LimitInputs inputs = limit_inputs_of_simulator({{"fixed_ttft_s", 0.050}, {"fixed_itl_s", 0.010}});
    const auto point = limit_at(inputs, LimitKind::hard, load_of(100, 101), 4).value();
    EXPECT_NEAR(point.output_tokens_per_s, 4 * 101 / 1.05, 1e-9);
    EXPECT_NEAR(point.interactivity, 101 / 1.05, 1e-9);
    EXPECT_FALSE(limits_anything(limit_inputs_of_simulator({{"fixed_ttft_s", 0}, {"fixed_itl_s", 0}})));
}

TEST(SimulatorLimit, KnowsTheExpertsTheWindowAndTheDraftsOfAProfile) {
    auto profile = h100_profile();
    const auto step = [](const std::map<std::string, double>& terms, double batch) {
        return step_time(limit_inputs_of_simulator(terms), batch, 1000);
    };
    const double dense = step(profile, 2).memory_s;
    profile["routed_layers"] = 10;
    profile["routed_experts"] = 8;
    profile["active_experts"] = 2;
    profile["expert_bytes"] = 1e6;
    EXPECT_NEAR(step(profile, 2).memory_s - dense, 10 * 1e6 * 8 * (1 - .75 * .75) / 2.31e12, 1e-12);
    profile["drafts"] = 3;
    profile["tokens_per_pass"] = 2.5;
    EXPECT_NEAR(step(profile, 2).memory_s - dense, 10 * 1e6 * 8 * (1 - std::pow(.75, 8)) / 2.31e12, 1e-12)
        << "drafts are routed too";
    EXPECT_NEAR(step(profile, 2).compute_s / step(h100_profile(), 2).compute_s, 4, 1e-9);
    EXPECT_EQ(limit_inputs_of_simulator(profile).tokens_per_pass, 2.5);
    auto windowed = h100_profile();
    windowed["window"] = 128;
    windowed["windowed_kv_bytes_per_token"] = 1000;
    windowed["windowed_attention_flops_per_token_pair"] = 5000;
    EXPECT_NEAR(step(windowed, 1).memory_s - step(h100_profile(), 1).memory_s, 128 * 1000 / 2.9e12, 1e-15);
    const Totals load = load_of(2048, 128);
    EXPECT_NEAR(prefill_time(limit_inputs_of_simulator(windowed), load).compute_s -
                    prefill_time(limit_inputs_of_simulator(h100_profile()), load).compute_s,
                (128 * 128 / 2.0 + 1920 * 128) * 5000 / 450e12, 1e-12);
    windowed["kv_bytes_per_token"] = windowed["attention_flops_per_token_pair"] = 0;
    EXPECT_TRUE(limit_inputs_of_simulator(windowed).dropped.empty())
        << "a model whose layers all have a window lacks nothing";
}

TEST(SimulatorLimit, NamesWhatTheProfileLacks) {
    auto profile = h100_profile();
    profile.erase("kv_bytes_per_s");
    const LimitInputs inputs = limit_inputs_of_simulator(profile);
    EXPECT_EQ(inputs.dropped, (std::vector<std::string>{"profile's kv_bytes_per_s"}));
    EXPECT_FALSE(limits_anything(limit_inputs_of_simulator({})));
}

// If long prompts have short answers, a run can exceed the limit computed from mean lengths, because the
// cache that is read is a sum of products.
TEST(Limit, OfRequestsThatDifferComesFromTheirSums) {
    const LimitInputs inputs = llama_on_h200();
    const Totals mixed = sum_of(load_of(16384, 16), load_of(256, 2048));
    const Totals means = load_of((16384 + 256) / 2.0, (16 + 2048) / 2.0);
    const auto rate = [&](const Totals& work) {
        return limit_at(inputs, LimitKind::hard, work, 32)->output_tokens_per_s;
    };
    EXPECT_GT(rate(mixed), 1.2 * rate(means));
    // The expected value, computed by hand: one request after the other, each in a batch of 32 requests of
    // its own kind.
    const double passes = 15 + 2047;
    const double kv = 131072 * (15 * 16384 + 16 * 15 / 2.0 + 2047 * 256 + 2048 * 2047 / 2.0);
    const double memory_s = (passes / 32 * 15.009e9 + kv) / 4.8e12;
    const double flops = 2 * 7.5047e9 * passes + 524288 * kv / 131072 +
                         2 * (7.5047e9 - .5253e9) * (16384 + 256) + 2 * 2 * .5253e9 +
                         524288 * (16384.0 * 16384 + 256 * 256) / 2;
    EXPECT_NEAR(rate(mixed) / (2064 / std::max(memory_s, flops / 989e12)), 1, 2e-4);
    EXPECT_GT(flops / 989e12, memory_s);
}

TEST(Limit, DecodesOneTokenLessThanTheAnswerHas) {
    const LimitInputs inputs = llama_on_h200();
    const double step_s = (15.009e9 + 131072 * 101) / 4.8e12;
    EXPECT_NEAR(limit_at(inputs, LimitKind::hard, load_of(100, 2), 1)->output_tokens_per_s * step_s, 2, 1e-3);
}

TEST(Limit, DependsOnTheProportionsOfTheSumsAlone) {
    const LimitInputs inputs = llama_on_h200();
    Totals thrice = kThousand;
    for (int i = 0; i < 2; ++i) thrice += kThousand;
    for (const LimitKind kind : {LimitKind::hard, LimitKind::no_overlap})
        EXPECT_NEAR(limit_at(inputs, kind, thrice, 50)->output_tokens_per_s,
                    limit_at(inputs, kind, kThousand, 50)->output_tokens_per_s, 1e-6);
    EXPECT_EQ(batch_cap(inputs, thrice), 412);
}

TEST(Limit, EachTokenReadsNoMoreThanTheWindowInLayersThatHaveOne) {
    LimitInputs inputs;
    inputs.windowed_kv_bytes_per_token = 1000;
    inputs.weight_bytes_per_s = inputs.kv_bytes_per_s = 1e9;
    inputs.window = 512;
    const Totals work = sum_of(load_of(100, 101), load_of(4000, 11));
    double read = 0;
    for (int token = 1; token <= 100; ++token) read += std::min(512, 100 + token);
    read += 10 * 512;
    const auto seconds = [&] {
        return work.output_tokens / limit_at(inputs, LimitKind::hard, work, 8)->output_tokens_per_s;
    };
    EXPECT_NEAR(seconds() * 1e9, read * 1000, 1e-3);
    inputs.window = 400;  // not one of the summed windows, so the result is a close bound
    double within = 0;
    for (int token = 1; token <= 100; ++token) within += std::min(400, 100 + token);
    within += 10 * 400;
    EXPECT_LE(seconds() * 1e9, within * 1000 * (1 + 1e-12));
    EXPECT_GT(seconds() * 1e9, within * 900);
}

TEST(Limit, OfRanksBeyondTheKvHeadsHoldsNoMoreRequests) {
    const auto cap = [](std::uint32_t ranks) { return *batch_cap(llama_on_h200(ranks), kThousand); };
    EXPECT_NEAR(cap(8) / cap(1), 8, 1.5);
    const double weights = 16.06e9;
    EXPECT_NEAR(cap(16) / ((.9 * 16 * 141e9 - weights) / 2 / (2048 * 131072.0)), 1, 1e-3);
}

TEST(Limit, ToleratesWhatWasBegunBeforeTheWindow) {
    Totals window = kThousand;
    window.seconds = 10;
    window.time_in_system_s = 40;
    window.prompts = 200;
    EXPECT_DOUBLE_EQ(edge_tolerance(window).value(), 4 / 200.0);
    EXPECT_FALSE(edge_tolerance({}));
}

}  // namespace
}  // namespace paretoken::reports
