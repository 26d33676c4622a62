#include "simulator/answers/dialect.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
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
using paretoken::testing::golden;
using paretoken::testing::shape_of;
using paretoken::testing::stream_shape;

std::unique_ptr<AnswerWriter> vllm_writer(AnswerTerms terms) {
    return kVllm.writer(std::move(terms));
}

AnswerTerms chat_terms(std::int64_t tokens) {
    return {.endpoint = Endpoint::chat,
            .id = "r-1",
            .created = 1795248095,
            .model = "tiny",
            .vocabulary = 5000,
            .prompt_tokens = 12,
            .plan = {.seed = 9, .tokens = tokens}};
}

AnswerTerms completion_terms(std::int64_t tokens) {
    AnswerTerms terms = chat_terms(tokens);
    terms.endpoint = Endpoint::completions;
    terms.prompt_tokens = 4;
    return terms;
}

/// Returns the stream's HTTP chunks, with `per_event` tokens per event.
std::vector<std::string> stream_of(const AnswerTerms& terms, std::int64_t per_event = 1,
                                   const AnswerState& state = {}) {
    const auto made = vllm_writer(terms);
    const AnswerWriter& writer = *made;
    std::string out = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    writer.append_opening(out);
    for (std::int64_t k = 0; k < terms.plan.tokens; k += per_event)
        writer.append_tokens(out, k, std::min(per_event, terms.plan.tokens - k), state);
    writer.append_closing(out, state);
    return body_chunks(out);
}

json event_in(const std::string& chunk) {
    return json::parse(chunk.substr(6));
}

json delta_in(const std::string& chunk) {
    return event_in(chunk)["choices"][0]["delta"];
}

TEST(VllmWriter, ItsStreamsHaveTheShapeOfRecordedOnes) {
    AnswerTerms chat = chat_terms(4);
    chat.include_usage = true;
    EXPECT_EQ(stream_shape(stream_of(chat)),
              stream_shape(body_chunks(golden("streams/vllm-0.32-chat.http"))));
    chat.continuous_usage = true;
    EXPECT_EQ(stream_shape(stream_of(chat)),
              stream_shape(body_chunks(golden("streams/vllm-0.32-chat-continuous-usage.http"))));
    AnswerTerms completion = completion_terms(4);
    completion.include_usage = true;
    completion.token_ids = true;
    completion.prompt_token_ids = {5, 6, 7, 8};
    EXPECT_EQ(stream_shape(stream_of(completion)),
              stream_shape(body_chunks(golden("streams/vllm-0.32-completions-token-ids.http"))));
    completion.continuous_usage = true;
    completion.prompt_token_ids = {5, 6, 7};
    EXPECT_EQ(stream_shape(stream_of(completion, 1, {.cached_tokens = 0})),
              stream_shape(body_chunks(golden("vllm/completions-continuous-usage.http"))));
    AnswerTerms with_ids = chat_terms(4);
    with_ids.token_ids = true;
    with_ids.prompt_token_ids.assign(10, 5);
    EXPECT_EQ(stream_shape(stream_of(with_ids)),
              stream_shape(body_chunks(golden("vllm/chat-token-ids.http"))));
    AnswerTerms cached = chat_terms(4);
    cached.include_usage = true;
    EXPECT_EQ(stream_shape(stream_of(cached, 1, {.cached_tokens = 0})),
              stream_shape(body_chunks(golden("vllm/chat-cached-tokens.http"))));
}

TEST(VllmWriter, ItsWholeAnswersHaveTheShapeOfRecordedOnes) {
    for (AnswerTerms terms : {chat_terms(4), completion_terms(4)}) {
        const bool chat = terms.endpoint == Endpoint::chat;
        terms.stream = false;
        terms.token_ids = true;
        terms.prompt_token_ids.assign(chat ? 10 : 2, 5);
        EXPECT_EQ(shape_of(nlohmann::ordered_json::parse(vllm_writer(terms)->whole({.cached_tokens = 0}))),
                  shape_of(nlohmann::ordered_json::parse(
                      golden(chat ? "vllm/chat.json" : "vllm/completions.json"))));
    }
}

TEST(VllmWriter, AFrameHasVllmsBytesAroundItsText) {
    AnswerTerms terms = chat_terms(4);
    terms.include_usage = true;
    std::string frame;
    vllm_writer(terms)->append_tokens(frame, 3, 1, {});
    const std::string payload = fmt::format(
        "data: "
        "{{\"id\":\"chatcmpl-r-1\",\"object\":\"chat.completion.chunk\",\"created\":1795248095,\"model\":"
        "\"tiny\","
        "\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\"logprobs\":null,\"finish_reason\":"
        "\"length\","
        "\"stop_reason\":null,\"token_ids\":null}}]}}\n\n",
        answer_word(9, 3));
    EXPECT_EQ(frame, fmt::format("{:x}\r\n{}\r\n", payload.size(), payload));
}

TEST(VllmWriter, AChatCountsItsTokensAndSaysWhyItEnds) {
    AnswerTerms terms = chat_terms(3);
    terms.include_usage = true;
    const auto chunks = stream_of(terms);
    ASSERT_EQ(chunks.size(), 1 + 3 + 1 + 1U);
    EXPECT_EQ(event_in(chunks[0])["id"], "chatcmpl-r-1");
    EXPECT_EQ(delta_in(chunks[0]), json::parse(R"({"role":"assistant","content":""})"));
    std::string text;
    for (std::size_t k = 1; k <= 3; ++k) {
        text += delta_in(chunks[k])["content"].get<std::string>();
        EXPECT_EQ(event_in(chunks[k])["choices"][0]["finish_reason"], k == 3 ? json("length") : json());
        EXPECT_FALSE(event_in(chunks[k]).contains("usage"));
    }
    EXPECT_EQ(count_tokens(text), 3);
    EXPECT_EQ(event_in(chunks[4])["usage"],
              json::parse(R"({"prompt_tokens":12,"total_tokens":15,"completion_tokens":3})"));
    EXPECT_EQ(chunks[5], "data: [DONE]\n\n");
}

TEST(VllmWriter, WithoutUsageTheLastTokensEventCarriesTheFingerprint) {
    const auto chunks = stream_of(chat_terms(2));
    ASSERT_EQ(chunks.size(), 1 + 2 + 1U);
    EXPECT_FALSE(event_in(chunks[1]).contains("system_fingerprint"));
    EXPECT_TRUE(event_in(chunks[2]).contains("system_fingerprint"));
}

TEST(VllmWriter, ContinuousUsageCountsUpFromTheRoleFrame) {
    AnswerTerms terms = chat_terms(2);
    terms.include_usage = terms.continuous_usage = true;
    const auto chunks = stream_of(terms);
    for (std::size_t k = 0; k <= 2; ++k) {
        const json usage = event_in(chunks[k])["usage"];
        EXPECT_EQ(usage["completion_tokens"], k);
        EXPECT_EQ(usage["total_tokens"], 12 + k);
        EXPECT_TRUE(usage.contains("completion_tokens_details"));
    }
    AnswerTerms completion = completion_terms(2);
    completion.include_usage = completion.continuous_usage = true;
    EXPECT_FALSE(event_in(stream_of(completion)[0])["usage"].contains("completion_tokens_details"));
}

TEST(VllmWriter, TokenIdsComeWithTheirTokensAndThoseOfThePromptOnce) {
    AnswerTerms terms = chat_terms(2);
    terms.token_ids = true;
    terms.prompt_token_ids = {5, 6, 7};
    const auto chat = stream_of(terms);
    EXPECT_EQ(event_in(chat[0])["prompt_token_ids"], json({5, 6, 7}));
    EXPECT_EQ(event_in(chat[1])["choices"][0]["token_ids"],
              json::array({token_id_of(answer_word(9, 0), 5000)}));
    EXPECT_FALSE(event_in(chat[1]).contains("prompt_token_ids"));
    terms.endpoint = Endpoint::completions;
    const auto completion = stream_of(terms);
    EXPECT_EQ(event_in(completion[0])["choices"][0]["prompt_token_ids"], json({5, 6, 7}));
    EXPECT_EQ(event_in(completion[1])["choices"][0]["prompt_token_ids"], json());
}

TEST(VllmWriter, SeveralTokensAreOneEventWithTheirTextTogether) {
    AnswerTerms terms = completion_terms(5);
    terms.token_ids = terms.include_usage = terms.continuous_usage = true;
    const auto singly = stream_of(terms);
    const auto grouped = stream_of(terms, 3);
    ASSERT_EQ(grouped.size(), 2 + 1 + 1U);
    const auto text = [](const std::string& chunk) {
        return event_in(chunk)["choices"][0]["text"].get<std::string>();
    };
    EXPECT_EQ(text(grouped[0]), text(singly[0]) + text(singly[1]) + text(singly[2]));
    EXPECT_EQ(event_in(grouped[0])["choices"][0]["token_ids"].size(), 3U);
    EXPECT_EQ(event_in(grouped[0])["usage"]["completion_tokens"], 3);
    EXPECT_EQ(event_in(grouped[1])["choices"][0]["token_ids"].size(), 2U);
    EXPECT_EQ(event_in(grouped[1])["choices"][0]["finish_reason"], "length");
    EXPECT_EQ(vllm_writer(terms)->events_for(3), 1);
}

TEST(VllmWriter, ReasoningComesFirstUnderAKeyOfItsOwn) {
    AnswerTerms terms = chat_terms(5);
    terms.plan.reasoning_tokens = 2;
    terms.reasoning_model = terms.include_usage = true;
    const auto chunks = stream_of(terms);
    EXPECT_EQ(delta_in(chunks[1]), (json{{"reasoning", answer_word(9, 0)}}));
    EXPECT_EQ(delta_in(chunks[2]), (json{{"reasoning", answer_word(9, 1)}}));
    EXPECT_EQ(delta_in(chunks[3]), (json{{"content", answer_word(9, 2)}}));
    EXPECT_EQ(event_in(chunks[6])["usage"]["completion_tokens_details"]["reasoning_tokens"], 2);
    const auto grouped = stream_of(terms, 3);
    EXPECT_EQ(delta_in(grouped[1]).size(), 2U)
        << "an event may hold the end of one and the beginning of the other";
    terms.plan.reasoning_tokens = 5;
    for (const std::string& chunk : stream_of(terms, 2))
        EXPECT_EQ(chunk.find("\"content\":\" "), std::string::npos);
}

TEST(VllmWriter, AToolCallIsNamedOnceAndItsArgumentsAreJson) {
    for (const std::int64_t tokens : {1, 2, 3, 9}) {
        for (const std::int64_t per_event : {1, 2, 4}) {
            AnswerTerms terms = chat_terms(tokens + 2);
            terms.plan.reasoning_tokens = 2;
            terms.plan.tool = "look \"up\"";
            terms.plan.finish_reason = "tool_calls";
            std::string name;
            std::string arguments;
            int ids = 0;
            auto chunks = stream_of(terms, per_event);
            chunks.pop_back();
            for (const std::string& chunk : chunks) {
                const json delta = delta_in(chunk);
                EXPECT_FALSE(delta.contains("content") && !delta.contains("role"));
                if (!delta.contains("tool_calls")) continue;
                const json call = delta["tool_calls"][0];
                EXPECT_EQ(call["index"], 0);
                ids += call.contains("id") ? 1 : 0;
                name += call["function"].value("name", "");
                arguments += call["function"].value("arguments", "");
            }
            EXPECT_EQ(event_in(chunks.back())["choices"][0]["finish_reason"], "tool_calls");
            EXPECT_EQ(ids, 1);
            EXPECT_EQ(name, "look \"up\"");
            if (tokens > 1) {
                EXPECT_TRUE(json::parse(arguments).is_object()) << arguments;
            }
        }
    }
}

TEST(VllmWriter, AnAnswerInOnePieceSaysTheSameAsTheStream) {
    for (AnswerTerms terms : {chat_terms(5), completion_terms(5)}) {
        terms.stream = false;
        terms.plan.finish_reason = "stop";
        const json answer = json::parse(vllm_writer(terms)->whole({.cached_tokens = 3}));
        std::string words;
        for (std::int64_t k = 0; k < 5; ++k) words += answer_word(9, k);
        const json& choice = answer["choices"][0];
        EXPECT_EQ(terms.endpoint == Endpoint::chat ? choice["message"]["content"] : choice["text"], words);
        EXPECT_EQ(choice["finish_reason"], "stop");
        EXPECT_EQ(answer["usage"]["completion_tokens"], 5);
        EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 3);
    }
    AnswerTerms terms = chat_terms(8);
    terms.stream = false;
    terms.token_ids = terms.reasoning_model = true;
    terms.plan.reasoning_tokens = 3;
    terms.plan.tool = "look";
    const json answer = json::parse(vllm_writer(terms)->whole({}));
    const json& message = answer["choices"][0]["message"];
    EXPECT_EQ(message["content"], json());
    EXPECT_EQ(message["reasoning"],
              fmt::format("{}{}{}", answer_word(9, 0), answer_word(9, 1), answer_word(9, 2)));
    EXPECT_EQ(message["tool_calls"][0]["function"]["name"], "look");
    EXPECT_TRUE(
        json::parse(message["tool_calls"][0]["function"]["arguments"].get<std::string>()).is_object());
    EXPECT_EQ(answer["choices"][0]["token_ids"].size(), 8U);
    EXPECT_EQ(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 3);
}

TEST(VllmWriter, AnEventTellsItsTruthWhenAskedTo) {
    AnswerState state;
    state.truth = EventTruth{.due = TimePoint(std::chrono::nanoseconds(5)),
                             .written = TimePoint(std::chrono::nanoseconds(7))};
    const auto chunks = stream_of(chat_terms(1), 1, state);
    EXPECT_EQ(event_in(chunks[1])["sim"], json::parse(R"({"due_ns":5,"written_ns":7})"));
    EXPECT_FALSE(event_in(stream_of(chat_terms(1))[1]).contains("sim"));
}

TEST(VllmWriter, WithoutChunkedFramingEventsStandAlone) {
    AnswerTerms terms = completion_terms(1);
    terms.framing = Framing::until_close;
    std::string out;
    vllm_writer(terms)->append_closing(out, {});
    EXPECT_EQ(out, "data: [DONE]\n\n");
}

}  // namespace
}  // namespace paretoken::sim
