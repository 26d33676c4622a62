#include "loadgen/sim/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::sim {
namespace {

using testing::HasSubstr;

std::string text_of(const Telemetry& telemetry, const EngineState& state) {
    return metrics_text(telemetry, state, profile_named("llama3-8b-h100-bf16"), "m");
}

TEST(Telemetry, GaugesComeFromTheEngine) {
    const std::string text =
        text_of({}, {.running = 3, .waiting = 5, .blocks = 200, .blocks_used = 50, .preemptions = 2});
    EXPECT_THAT(text, HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 5\n"));
    EXPECT_THAT(text, HasSubstr("vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"));
    EXPECT_THAT(text, HasSubstr("vllm:num_preemptions_total{engine=\"0\",model_name=\"m\"} 2\n"));
    EXPECT_THAT(
        text, HasSubstr("vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"200\"} 1\n"));
}

TEST(Telemetry, HistogramBucketsAreCumulativeAndIncludeTheirEdge) {
    Telemetry telemetry;
    for (const double seconds : {0.001, 0.0011, 0.3, 5000.0}) telemetry.time_to_first_token.add(seconds);
    const std::string text = text_of(telemetry, {});
    const std::string_view labels = "engine=\"0\",model_name=\"m\"";
    EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_bucket{" + std::string(labels) +
                                ",le=\"0.001\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_bucket{" + std::string(labels) +
                                ",le=\"0.005\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_bucket{" + std::string(labels) +
                                ",le=\"2560\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_bucket{" + std::string(labels) +
                                ",le=\"+Inf\"} 4\n"));
    EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_count{" + std::string(labels) + "} 4\n"));
}

TEST(Telemetry, CountersTellHowRequestsEnded) {
    Telemetry telemetry;
    telemetry.stopped = 4;
    telemetry.aborted = 1;
    telemetry.generation_tokens = 1234567890;
    const std::string text = text_of(telemetry, {});
    EXPECT_THAT(text, HasSubstr("finished_reason=\"stop\"} 4\n"));
    EXPECT_THAT(text, HasSubstr("finished_reason=\"abort\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 1234567890\n"));
}

}  // namespace
}  // namespace paretoken::sim
