#include "reports/analysis/gate/checklist.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/analysis/gate/gate_runs.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CheckItem item(const GateRun& run, const std::string& what) {
    for (const CheckItem& found : checklist_of({}, std::span(&run, 1), {}))
        if (found.what == what) return found;
    return {.what = "there is no " + what};
}

/// A run on a vLLM that it started, whose metrics were read.
GateRun told_run() {
    GateRun run = sample::gate_run({});
    RunResult& result = run.result;
    result.provenance.server = {
        .command = "vllm serve m --max-model-len 4096 --attention-backend=FLASHINFER --port 8000"};
    result.provenance.model_card = ModelCardNote{"llama", "llama-3.1-8b", "fp8", "bf16", ""};
    ServerFigures server;
    server.window = {{"running_max", 20}, {"preemptions", 30}, {"requests", 200}};
    server.config = {{"cache_config.num_gpu_blocks", "1000"}, {"cache_config.block_size", "16"}};
    result.server = server;
    for (const auto& [key, most] :
         {std::pair("input_tokens_tok", 600.), std::pair("output_tokens_tok", 100.)}) {
        MetricSummary summary = sample::spread(key, most / 2);
        summary.max = most;
        std::erase_if(result.metrics, [name = key](const MetricSummary& other) { return other.key == name; });
        result.metrics.push_back(summary);
    }
    return run;
}

TEST(Checklist, HasThePoolBesideWhatTheLoadNeeds) {
    GateRun run = told_run();
    CheckItem pool = item(run, "KV pool for this load");
    EXPECT_TRUE(pool.shown);
    EXPECT_EQ(pool.text, "16000 tokens; 20 requests of at most 700 tokens ran at once");
    run.result.server->window["running_max"] = 30;
    EXPECT_THAT(item(run, "KV pool for this load").text, HasSubstr("more than the pool holds"));
    run.result.server->config.clear();
    pool = item(run, "KV pool for this load");
    EXPECT_FALSE(pool.shown);
    EXPECT_THAT(pool.text, HasSubstr("--scrape"));
}

TEST(Checklist, ReadsContextAndAttentionFromTheCommandOfTheServer) {
    GateRun run = told_run();
    EXPECT_EQ(item(run, "longest context").text,
              "4096 tokens by the server's command; requests had at most 700");
    EXPECT_EQ(item(run, "attention kernels").text, "FLASHINFER by the server's command");
    run.result.provenance.server->command = "llama-server -c 8192 -fa on";
    EXPECT_THAT(item(run, "longest context").text, HasSubstr("8192"));
    EXPECT_THAT(item(run, "attention kernels").text, HasSubstr("on by"));
    run.result.provenance.server->command = "vllm serve m --max-model-len";
    EXPECT_FALSE(item(run, "longest context").shown) << "the value is missing";
    run.result.provenance.server.reset();
    EXPECT_FALSE(item(run, "attention kernels").shown);
}

TEST(Checklist, OptionsOfOtherProgramsAreNotThoseOfTheServer) {
    GateRun run = told_run();
    std::string& command = run.result.provenance.server->command;
    const auto context = [&](const char* text) {
        command = text;
        const CheckItem found = item(run, "longest context");
        return found.shown ? found.text.substr(0, found.text.find(' ')) : "";
    };
    EXPECT_EQ(context("taskset -c 0-7 llama-server -m m.gguf"), "");
    EXPECT_EQ(context("taskset -c 3 llama-server -m m.gguf -c 8192"), "8192");
    EXPECT_EQ(context("taskset -c 3 vllm serve m"), "");
    EXPECT_EQ(context("bash -c 'vllm serve m'"), "");
    EXPECT_EQ(context("bash -c 'cd x && vllm serve m --max-model-len \"4096\"'"), "4096");
    EXPECT_EQ(context("vllm serve m\t--max-model-len=16k\n--port 80"), "16000");
    EXPECT_EQ(context("llama-server -c 0 -m m.gguf"), "") << "as the model says";
}

TEST(Checklist, TheContextOfLlamacppIsThatOfOneSlot) {
    GateRun run = told_run();
    std::string& command = run.result.provenance.server->command;
    for (const char* const slots : {"--parallel 4", "-np 4", "--parallel=4"}) {
        command = fmt::format("llama-server --ctx-size 16384 {} -m m.gguf", slots);
        EXPECT_THAT(item(run, "longest context").text, StartsWith("4096 tokens"));
    }
    command = "llama-server -c 16384 -np 4 --kv-unified";
    EXPECT_THAT(item(run, "longest context").text, StartsWith("16384 tokens")) << "slots share it";
}

TEST(Checklist, AnOptionOfKernelsWithoutAValueIsNotFollowedByOne) {
    GateRun run = told_run();
    for (const char* const option : {"-fa", "--flash-attn"}) {
        run.result.provenance.server->command = fmt::format("llama-server {} --port 8000", option);
        EXPECT_FALSE(item(run, "attention kernels").shown);
    }
}

TEST(Checklist, SaysWhetherRequestsWereBatchedAndInWhichFormats) {
    GateRun run = told_run();
    EXPECT_EQ(item(run, "requests are batched").text, "up to 20 at once");
    EXPECT_EQ(item(run, "formats of weights and cache").text,
              "fp8 weights, bf16 cache by the model card llama-3.1-8b");
    run.result.server->window["running_max"] = 1;
    EXPECT_FALSE(item(run, "requests are batched").shown);
    run.result.provenance.model_card.reset();
    EXPECT_THAT(item(run, "formats of weights and cache").text, HasSubstr("--model-card"));
}

TEST(Checklist, SaysWhatPreemptionsCost) {
    GateRun run = told_run();
    EXPECT_THAT(item(run, "preemptions").text, HasSubstr("15.0 for each 100 requests"));
    run.result.server->window["preemptions"] = 0;
    EXPECT_EQ(item(run, "preemptions").text, "0 in the run with the most");
}

TEST(Checklist, AnUnusedPoolIsNamed) {
    GateRun run = told_run();
    const auto used = [&](double share) {
        run.result.series = {
            {.name = "kv_usage", .unit = "ratio", .source = "server", .times_s = {}, .values = {}}};
        for (const double at : {0., .5, 1.}) {
            run.result.series[0].times_s.push_back(run.result.window.begin_s + at * .5);
            run.result.series[0].values.push_back(share);
        }
        run.result.window.end_s = run.result.window.begin_s + 1;
        return item(run, "KV cache in use, p95").text;
    };
    EXPECT_THAT(used(.1), HasSubstr("a smaller GPU"));
    EXPECT_EQ(used(.6), "60.0 %");
    EXPECT_THAT(used(.95), HasSubstr("preempted"));
}

}  // namespace
}  // namespace paretoken::reports
