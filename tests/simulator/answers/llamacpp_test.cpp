#include "simulator/answers/dialect.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "simulator/answers/answer_writer.h"
#include "simulator/engine/tokenizer.h"
#include "tests/support/golden.h"
#include "tests/support/stream_shape.h"

namespace paretoken::sim {
namespace {

using nlohmann::json;
using paretoken::testing::body_chunks;
using paretoken::testing::body_of;
using paretoken::testing::golden;
using paretoken::testing::shape_of;
using paretoken::testing::stream_shape;
using std::chrono::milliseconds;

std::unique_ptr<AnswerWriter> llamacpp_writer(AnswerTerms terms) {
    return kLlamacpp.writer(std::move(terms));
}

AnswerTerms terms_of(Endpoint endpoint, std::int64_t tokens) {
    return {.dialect = Dialect::llamacpp,
            .endpoint = endpoint,
            .include_usage = true,
            .id = "abc",
            .created = 5,
            .model = "SmolLM2.gguf",
            .vocabulary = 5000,
            .prompt_tokens = 32,
            .plan = {.seed = 9, .tokens = tokens}};
}

std::string http_of(const AnswerTerms& terms, std::int64_t per_step = 1) {
    const auto made = llamacpp_writer(terms);
    const AnswerWriter& writer = *made;
    AnswerState state{.cached_tokens = 31, .prefill = milliseconds(10)};
    std::string out = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    writer.append_opening(out);
    for (std::int64_t k = 0; k < terms.plan.tokens; k += per_step) {
        state.decode = k * milliseconds(9);
        writer.append_tokens(out, k, std::min(per_step, terms.plan.tokens - k), state);
    }
    writer.append_closing(out, state);
    return out;
}

std::vector<json> events_of(const AnswerTerms& terms) {
    std::vector<json> events;
    std::string body = body_of(http_of(terms));
    for (std::size_t at = 0; (at = body.find("\n\n")) != std::string::npos; body.erase(0, at + 2))
        if (body.compare(0, 12, "data: [DONE]") != 0) events.push_back(json::parse(body.substr(6, at - 6)));
    return events;
}

TEST(LlamacppWriter, ItsStreamsHaveTheShapeOfRecordedOnes) {
    AnswerTerms chat = terms_of(Endpoint::chat, 4);
    EXPECT_EQ(stream_shape(body_chunks(http_of(chat))),
              stream_shape(body_chunks(golden("streams/llamacpp-chat.http"))));
    chat.timings_per_token = true;
    EXPECT_EQ(stream_shape(body_chunks(http_of(chat))),
              stream_shape(body_chunks(golden("streams/llamacpp-chat-timings.http"))));
    EXPECT_EQ(stream_shape(body_chunks(http_of(terms_of(Endpoint::completions, 4)))),
              stream_shape(body_chunks(golden("streams/llamacpp-completions.http"))));
}

TEST(LlamacppWriter, TokensOfOneStepAreEventsOfTheirOwn) {
    const AnswerTerms terms = terms_of(Endpoint::completions, 4);
    EXPECT_EQ(stream_shape(body_chunks(http_of(terms, 3))), stream_shape(body_chunks(http_of(terms))));
    EXPECT_EQ(llamacpp_writer(terms)->events_for(3), 3);
}

TEST(LlamacppWriter, TimingsLeaveOutWhatWasCachedAndTheFirstTokensTime) {
    const json timings = events_of(terms_of(Endpoint::chat, 4)).back()["timings"];
    EXPECT_EQ(timings["cache_n"], 31);
    EXPECT_EQ(timings["prompt_n"], 1);
    EXPECT_EQ(timings["prompt_ms"], 10);
    EXPECT_EQ(timings["prompt_per_second"], 100);
    EXPECT_EQ(timings["predicted_n"], 4);
    EXPECT_EQ(timings["predicted_ms"], 27);
    EXPECT_EQ(timings["predicted_per_token_ms"], 9);
    EXPECT_NEAR(timings["predicted_per_second"].get<double>(), 1000 / 9.0, 1e-9);
    const json first = [] {
        AnswerTerms terms = terms_of(Endpoint::chat, 2);
        terms.timings_per_token = true;
        return events_of(terms)[1]["timings"];
    }();
    EXPECT_EQ(first["predicted_n"], 1);
    EXPECT_EQ(first["predicted_per_second"], 0);
}

TEST(LlamacppWriter, WithoutUsageTheFinishEventHasTheTimings) {
    AnswerTerms terms = terms_of(Endpoint::chat, 2);
    terms.include_usage = false;
    const json last = events_of(terms).back();
    EXPECT_EQ(last["choices"][0]["finish_reason"], "length");
    EXPECT_TRUE(last.contains("timings"));
    EXPECT_FALSE(last.contains("usage"));
}

TEST(LlamacppWriter, ReasoningAndToolCallsHaveTheirKeys) {
    AnswerTerms terms = terms_of(Endpoint::chat, 6);
    terms.plan.reasoning_tokens = 2;
    terms.plan.tool = "look";
    terms.plan.finish_reason = "tool_calls";
    std::string reasoning;
    std::string arguments;
    for (const json& event : events_of(terms)) {
        if (event["choices"].empty()) continue;
        const json delta = event["choices"][0]["delta"];
        reasoning += delta.value("reasoning_content", "");
        if (delta.contains("tool_calls")) arguments += delta["tool_calls"][0]["function"]["arguments"];
    }
    EXPECT_EQ(reasoning, fmt::format("{}{}", answer_word(9, 0), answer_word(9, 1)));
    EXPECT_TRUE(json::parse(arguments).is_object());
}

TEST(LlamacppWriter, AnAnswerInOnePieceSaysTheSameAsTheStream) {
    for (const Endpoint endpoint : {Endpoint::chat, Endpoint::completions}) {
        AnswerTerms terms = terms_of(endpoint, 3);
        terms.stream = false;
        const std::string body = llamacpp_writer(terms)->whole({.cached_tokens = 31});
        const bool chat = endpoint == Endpoint::chat;
        EXPECT_EQ(shape_of(nlohmann::ordered_json::parse(body)),
                  shape_of(nlohmann::ordered_json::parse(
                      golden(chat ? "llamacpp/chat.json" : "llamacpp/completions.json"))));
        const json answer = json::parse(body);
        std::string words;
        for (std::int64_t k = 0; k < 3; ++k) words += answer_word(9, k);
        const json& choice = answer["choices"][0];
        EXPECT_EQ(chat ? choice["message"]["content"] : choice["text"], words);
        EXPECT_EQ(answer["usage"]["total_tokens"], 35);
        EXPECT_EQ(answer["timings"]["cache_n"], 31);
    }
}

}  // namespace
}  // namespace paretoken::sim
