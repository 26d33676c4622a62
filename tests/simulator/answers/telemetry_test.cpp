#include "simulator/answers/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "simulator/answers/dialect.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/profile.h"
#include "tests/support/golden.h"

namespace paretoken::sim {
namespace {

using ::testing::HasSubstr;

std::string text_of(const Telemetry& telemetry, const EngineState& state) {
    return kVllm.metrics(telemetry, state, profile_named("llama3-8b-h100-bf16"), "m");
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

TEST(Telemetry, SpeculationIsCountedOnlyWhereThereIsAny) {
    const EngineState state{
        .drafts = 10, .draft_tokens = 20, .accepted_tokens = 12, .accepted_per_position = {8, 4}};
    const std::string text = kVllm.metrics(
        {}, state, profile_named("llama3-8b-h100-bf16?speculative_tokens=2&acceptance=.5"), "m");
    EXPECT_THAT(text, HasSubstr("vllm:spec_decode_num_drafts_total{engine=\"0\",model_name=\"m\"} 10\n"));
    EXPECT_THAT(text,
                HasSubstr("vllm:spec_decode_num_draft_tokens_total{engine=\"0\",model_name=\"m\"} 20\n"));
    EXPECT_THAT(text,
                HasSubstr("vllm:spec_decode_num_accepted_tokens_total{engine=\"0\",model_name=\"m\"} 12\n"));
    EXPECT_THAT(text, HasSubstr("per_pos_total{engine=\"0\",model_name=\"m\",position=\"1\"} 4\n"));
    EXPECT_THAT(text_of({}, state), ::testing::Not(HasSubstr("spec_decode")));
}

/// Returns "llamacpp:prompt_tokens_total" for "llamacpp:prompt_tokens_total 39", without labels.
std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with('#')) names.push_back(line.substr(0, line.find_first_of(" {")));
    return names;
}

TEST(Telemetry, VllmsNamesAreThoseOfTheRealServer) {
    const auto real = names_in(paretoken::testing::golden("metrics/vllm-0.32.prom"));
    for (const std::string& name : names_in(text_of({}, {}))) EXPECT_THAT(real, ::testing::Contains(name));
}

TEST(Telemetry, LlamacppsNamesAreThoseOfTheRealServerInItsOrder) {
    Telemetry telemetry;
    telemetry.prompt_tokens = 132;
    telemetry.cached_tokens = 93;
    const std::string text = kLlamacpp.metrics(
        telemetry, {.running = 2, .waiting = 3, .steps = 20, .step_sequences = 50}, {}, "m");
    EXPECT_EQ(names_in(text), names_in(paretoken::testing::golden("metrics/llamacpp.prom")));
    EXPECT_THAT(text, HasSubstr("\nllamacpp:prompt_tokens_total 39\n"));
    EXPECT_THAT(text, HasSubstr("\nllamacpp:requests_deferred 3\n"));
    EXPECT_THAT(text, HasSubstr("\nllamacpp:n_busy_slots_per_decode 2.5\n"));
}

}  // namespace
}  // namespace paretoken::sim
