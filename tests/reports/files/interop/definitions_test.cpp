#include "reports/files/interop/definitions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/error.h"
#include "core/run/result_of.h"
#include "reports/files/file_io.h"
#include "reports/files/recorded_files.h"
#include "tests/support/message_of.h"
#include "tests/support/paths.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;

/// A request that is sent at `start_ms` and whose chunks come at the given times after that.
RequestRecord request_of(std::uint64_t index, int start_ms, const std::vector<int>& chunks_ms,
                         const std::vector<std::uint32_t>& tokens) {
    RequestRecord record;
    record.index = index;
    record.sent = TimePoint{} + std::chrono::milliseconds(start_ms);
    record.scheduled = record.started = record.ready = *record.sent;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < chunks_ms.size(); ++i) {
        record.events.push_back(
            {.time = *record.sent + std::chrono::milliseconds(chunks_ms[i]), .tokens = tokens[i]});
        sum += tokens[i];
    }
    record.first_event = record.first_answer = record.events.front().time;
    record.last_event = record.events.back().time;
    record.finished = *record.last_event + std::chrono::milliseconds(5);
    record.closed = *record.finished;
    record.first_group_tokens = tokens.front();
    record.streamed_tokens = sum;
    record.usage.completion = sum;
    return record;
}

/// Two requests: one with a token per chunk, and one whose second chunk has 3 tokens; and one that failed.
struct SmallRun {
    std::vector<RequestRecord> records = {request_of(0, 0, {100, 110, 120, 130}, {1, 1, 1, 1}),
                                          request_of(1, 0, {200, 260}, {1, 3})};
    StoredRun stored;
    RunResult result;

    SmallRun() {
        RequestRecord failed;
        failed.index = 2;
        failed.sent = failed.scheduled = failed.started = failed.closed = TimePoint{};
        failed.outcome = Outcome::http_error;
        records.push_back(failed);
        stored.recorded.observed.records = RequestTable(records);
        stored.recorded.events = std::make_shared<KeptEvents>(records);
        result = result_of(stored.recorded, {});
    }

    DefinedRow row(const char* definitions, std::string_view key) const {
        const DefinedRun run = defined_run({result, stored}, definitions_named(definitions));
        const auto found = std::find_if(run.rows.begin(), run.rows.end(),
                                        [&](const DefinedRow& row) { return row.quantity.key == key; });
        if (found == run.rows.end()) throw std::out_of_range(std::string(key));
        return *found;
    }
};

constexpr double kExact = 1e-12;

TEST(Definitions, take_the_requests_that_succeeded) {
    const DefinedRow ttft = SmallRun().row("vllm", "ttft");
    EXPECT_EQ(ttft.theirs.n, 2U);
    EXPECT_NEAR(*ttft.theirs.mean, .15, kExact);
    EXPECT_EQ(ttft.ours.n, 3U) << "our percentiles have the failure as the slowest request";
    EXPECT_FALSE(ttft.ours.p99);
}

TEST(Definitions, of_vllm_have_the_gaps_of_chunks_and_the_time_of_a_token_by_request) {
    const SmallRun run;
    EXPECT_NEAR(*run.row("vllm", "itl").theirs.mean, (10 + 10 + 10 + 60) / 4e3, kExact);
    EXPECT_NEAR(*run.row("vllm", "tpot").theirs.mean, (10 + 20) / 2e3, kExact) << "30 / 3 and 60 / 3 ms";
    EXPECT_NEAR(*run.row("vllm", "e2e").theirs.p99, .26 - .01 * .13, kExact) << "of .13 and .26 s";
}

TEST(Definitions, of_sglang_wait_for_the_end_of_the_stream) {
    const SmallRun run;
    EXPECT_NEAR(*run.row("sglang", "e2e").theirs.mean, (.135 + .265) / 2, kExact);
    EXPECT_NEAR(*run.row("sglang", "tpot").theirs.mean, (35.0 / 3 + 65.0 / 3) / 2e3, kExact);
}

TEST(Definitions, of_aiperf_call_the_mean_of_a_request_its_inter_token_latency) {
    EXPECT_NEAR(*SmallRun().row("aiperf", "itl").theirs.p50, .015, kExact) << "between 10 and 20 ms";
}

TEST(Definitions, of_guidellm_weigh_by_tokens_and_have_the_first_token_in_the_time_of_a_token) {
    const SmallRun run;
    EXPECT_NEAR(*run.row("guidellm", "tpot").theirs.mean, (130 + 260) / 8e3, kExact)
        << "130 ms and 260 ms for 4 tokens each";
    EXPECT_NEAR(*run.row("guidellm", "ttft").theirs.p50, .1, kExact) << "nearest rank, not .15";
    EXPECT_EQ(run.row("guidellm", "itl").theirs.n, 6U) << "3 tokens of each request";
}

TEST(Definitions, of_inference_perf_give_the_tokens_of_one_chunk_gaps_of_0) {
    const DefinedRow itl = SmallRun().row("inference-perf", "itl");
    EXPECT_EQ(itl.theirs.n, 6U);
    EXPECT_NEAR(*itl.theirs.mean, (10 + 10 + 10 + 60 + 0 + 0) / 6e3, kExact);
    EXPECT_NEAR(*itl.theirs.p50, .01, kExact);
}

TEST(Definitions, of_llmperf_have_the_first_token_in_the_inter_token_latency) {
    EXPECT_NEAR(*SmallRun().row("llmperf", "itl").theirs.mean, (130 / 4.0 + 260 / 4.0) / 2e3, kExact);
}

TEST(Definitions, divide_by_the_time_of_the_whole_load) {
    const DefinedRow rate = SmallRun().row("vllm", "output_tokens_per_s");
    EXPECT_NEAR(*rate.theirs.mean, 8 / .265, 1e-9);
}

TEST(Definitions, that_are_unknown_are_refused_with_the_known_ones) {
    EXPECT_THAT(message_of<UsageError>([] { definitions_named("genai-bench"); }), HasSubstr("guidellm"));
}

TEST(Definitions, stand_in_the_documentation_word_for_word) {
    const std::string page = read_file(std::string(paths::source_dir()) + "/docs/definitions.md");
    for (const ForeignDefinitions& definitions : foreign_definitions()) {
        EXPECT_THAT(page, HasSubstr("## " + std::string(definitions.title)));
        for (const ForeignQuantity& quantity : definitions.quantities) {
            if (quantity.key.ends_with("per_s")) continue;
            EXPECT_THAT(
                page, HasSubstr(fmt::format("| {} | {} | {} | {} |", quantity.key, quantity.word,
                                            quantity.how, quantity.why.empty() ? "the same" : quantity.why)));
        }
    }
}

TEST(Definitions, are_printed_with_the_reason_of_each_difference) {
    const SmallRun run;
    const DefinedRun defined = defined_run({run.result, run.stored}, definitions_named("guidellm"));
    const std::string text = definitions_text(defined);
    EXPECT_THAT(text, HasSubstr("time_per_output_token_ms"));
    EXPECT_THAT(text, HasSubstr("the time to the first token is in it"));
    EXPECT_THAT(text, HasSubstr("1 of 6 chunks had several tokens."));
    EXPECT_THAT(text, HasSubstr("1 of 3 requests failed."));
}

}  // namespace
}  // namespace paretoken::reports
