// Compares the client's measurements of the simulated server's streams with the server's own truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/statistics.h"
#include "tests/support/simulated_load.h"

namespace paretoken::sim {
namespace {

using nlohmann::json;
using paretoken::testing::outcome_of;
using paretoken::testing::SimulatedLoad;
using paretoken::testing::SimulatedOutcome;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr std::string_view kTools = R"({"tools":[{"type":"function","function":{"name":"look"}}]})";

/// Returns when event i was written, counted from the request's arrival at the server.
double true_seconds(const json& truth, std::size_t i) {
    return static_cast<double>(truth["written_ns"][i].get<std::int64_t>() -
                               truth["received_ns"].get<std::int64_t>()) *
           1e-9;
}

/// Returns the first event with a token that is not reasoning.
std::size_t first_answer_event(const json& truth) {
    std::int64_t tokens = 0;
    const std::int64_t reasoning = truth.value("reasoning_tokens", 0);
    std::size_t i = 0;
    for (; i < truth["tokens"].size(); ++i) {
        tokens += truth["tokens"][i].get<std::int64_t>();
        if (tokens > reasoning) break;
    }
    return i;
}

/// Returns the median difference of measured and true values, because a shared machine may freeze in one
/// request.
template <class Measured, class True>
double median_error(const SimulatedOutcome& outcome, Measured measured, True truth) {
    std::vector<double> errors;
    for (const RequestRecord& r : outcome.records)
        errors.push_back(std::abs(measured(r) - truth(outcome.truth.at(r.id))));
    std::sort(errors.begin(), errors.end());
    return percentile(errors, .5);
}

int events_of(const RequestRecord& record, EventKind kind) {
    return static_cast<int>(std::count_if(record.events.begin(), record.events.end(),
                                          [kind](const StreamEvent& event) { return event.kind == kind; }));
}

/// Expects that the first answer is the right event, and that its time is that of the event's writing, within
/// the gap to the next one, because other programs may run beside this test.
void expect_first_answers_true(const SimulatedOutcome& outcome, double gap_s) {
    for (const RequestRecord& r : outcome.records)
        EXPECT_EQ(r.first_answer, r.events.at(first_answer_event(outcome.truth.at(r.id))).time);
    EXPECT_LT(median_error(
                  outcome, [](const RequestRecord& r) { return seconds(*r.first_event - *r.sent); },
                  [](const json& truth) { return true_seconds(truth, 0); }),
              gap_s);
    EXPECT_LT(median_error(
                  outcome, [](const RequestRecord& r) { return seconds(*r.first_answer - *r.sent); },
                  [](const json& truth) { return true_seconds(truth, first_answer_event(truth)); }),
              gap_s);
}

TEST(ThroughTheClient, ReasoningDelaysTheFirstAnswerAndNotTheFirstToken) {
    for (const Dialect dialect : {Dialect::vllm, Dialect::llamacpp}) {
        for (const char* quirk : {"", "reasoning-content"}) {
            SimulatedLoad load{.profile = "ideal?ttft=5ms&itl=12ms&reasoning=6tok", .osl = 10};
            load.server.dialect = dialect;
            if (*quirk != '\0') load.server.faults = {parse_fault(FaultKind::quirk, quirk)};
            const SimulatedOutcome outcome = outcome_of(load);
            ASSERT_EQ(outcome.records.size(), 6U);
            for (const RequestRecord& r : outcome.records) {
                ASSERT_EQ(r.outcome, Outcome::ok) << r.error;
                EXPECT_EQ(events_of(r, EventKind::reasoning), 6);
                EXPECT_EQ(events_of(r, EventKind::content), 4);
                EXPECT_EQ(r.streamed_tokens, 10);
                if (dialect == Dialect::vllm) {
                    EXPECT_EQ(r.usage.reasoning, 6);
                }
                EXPECT_GE(*r.first_answer - *r.first_event, milliseconds(20));  // of 72
                EXPECT_EQ(outcome.truth.at(r.id)["reasoning_tokens"], 6);
            }
            expect_first_answers_true(outcome, .012);
        }
    }
}

TEST(ThroughTheClient, AnAnswerThatIsAllReasoningHasNoFirstAnswer) {
    const SimulatedOutcome outcome = outcome_of({.profile = "ideal?ttft=2ms&itl=1ms&reasoning=100%"});
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.outcome, Outcome::ok) << r.error;
        EXPECT_EQ(r.first_answer, std::nullopt);
        EXPECT_EQ(r.streamed_tokens, 8);
    }
}

TEST(ThroughTheClient, ToolCallsAreOutputOfTheirOwnKindAndAnAnswer) {
    for (const Dialect dialect : {Dialect::vllm, Dialect::llamacpp}) {
        SimulatedLoad load{.profile = "ideal?ttft=5ms&itl=12ms&reasoning=2tok"};
        load.server.dialect = dialect;
        load.body.extra_body = kTools;
        const SimulatedOutcome outcome = outcome_of(load);
        for (const RequestRecord& r : outcome.records) {
            ASSERT_EQ(r.outcome, Outcome::ok) << r.error;
            EXPECT_EQ(events_of(r, EventKind::reasoning), 2);
            EXPECT_EQ(events_of(r, EventKind::tool_call), 6);
            EXPECT_EQ(r.streamed_tokens, 8);
        }
        expect_first_answers_true(outcome, .012);
    }
}

TEST(ThroughTheClient, SpeculatedTokensAreCountedAsTheServerCountsThem) {
    constexpr const char* kProfile = "llama3-8b-h100-bf16?speculative_tokens=3&acceptance=.7&jitter=0";
    for (const bool continuous : {true, false}) {
        SimulatedLoad load{.profile = kProfile, .osl = 60};
        load.body.continuous_usage = continuous;
        load.body.return_token_ids = !continuous;
        const SimulatedOutcome outcome = outcome_of(load);
        for (const RequestRecord& r : outcome.records) {
            ASSERT_EQ(r.outcome, Outcome::ok) << r.error;
            EXPECT_EQ(r.token_source, continuous ? TokenSource::chunk_usage : TokenSource::token_ids);
            std::vector<std::uint32_t> tokens;
            for (const StreamEvent& event : r.events) tokens.push_back(event.tokens);
            EXPECT_EQ(json(tokens), outcome.truth.at(r.id)["tokens"]);
            EXPECT_LT(tokens.size(), 45U) << "several tokens per event";
            EXPECT_EQ(outcome.truth.at(r.id)["due_ns"].size(), 60U);
        }
        EXPECT_THAT(outcome.metrics, HasSubstr("vllm:spec_decode_num_accepted_tokens_total"));
    }
}

TEST(ThroughTheClient, LlamacppsStreamsAreReadAsTheyAre) {
    for (const protocol::Protocol* protocol : {&protocol::kChat, &protocol::kCompletions}) {
        SimulatedLoad load{.profile = "llama3-8b-h100-bf16", .requests = 12};
        load.server.dialect = Dialect::llamacpp;
        load.server.keep_alive = KeepAliveLimits{.requests = 3};
        load.body.protocol = protocol;
        const SimulatedOutcome outcome = outcome_of(load);
        for (const RequestRecord& r : outcome.records) {
            ASSERT_EQ(r.outcome, Outcome::ok) << r.error;
            EXPECT_EQ(r.streamed_tokens, 8);
            EXPECT_EQ(r.usage.completion, 8);
            EXPECT_TRUE(r.usage.cached_prompt);
            EXPECT_EQ(r.finish_reason, "length");
        }
        EXPECT_THAT(outcome.metrics, HasSubstr("llamacpp:tokens_predicted_total 96"));
    }
}

}  // namespace
}  // namespace paretoken::sim
