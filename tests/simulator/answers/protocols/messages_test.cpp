#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/answers/answer_writer.h"
#include "simulator/answers/wire.h"
#include "simulator/engine/tokenizer.h"
#include "tests/simulator/answers/protocols/named_events.h"
#include "tests/support/golden.h"
#include "tests/support/stream_shape.h"

namespace paretoken::sim {
namespace {

using nlohmann::json;
using paretoken::testing::body_chunks;
using paretoken::testing::golden;
using paretoken::testing::stream_shape;
using ::testing::HasSubstr;
using testing_events::http_of;
using testing_events::NamedEvent;
using testing_events::stream_of;

ServedModel message_model(Dialect dialect = Dialect::vllm) {
    return {.name = "tiny", .context_limit = 4096, .vocabulary = 5000, .dialect = dialect};
}

std::variant<GenerationRequest, ApiError> parsed_message(const std::string& body,
                                                         Dialect dialect = Dialect::vllm) {
    return parse_generation(Endpoint::messages, body, message_model(dialect));
}

GenerationRequest accepted_message(const std::string& body, Dialect dialect = Dialect::vllm) {
    const auto parsed = parsed_message(body, dialect);
    if (const auto* error = std::get_if<ApiError>(&parsed)) {
        ADD_FAILURE() << error->body;
        return {};
    }
    return std::get<GenerationRequest>(parsed);
}

json refused_message(const std::string& body, Dialect dialect = Dialect::vllm) {
    const auto parsed = parsed_message(body, dialect);
    const auto* error = std::get_if<ApiError>(&parsed);
    return error == nullptr ? json("accepted") : json::parse(error->body);
}

AnswerTerms message_terms(Dialect dialect, std::int64_t tokens) {
    return {.dialect = dialect,
            .endpoint = Endpoint::messages,
            .id = "r-1",
            .created = 5,
            .model = "tiny",
            .vocabulary = 5000,
            .prompt_tokens = 32,
            .plan = {.seed = 9, .tokens = tokens}};
}

TEST(Messages, ItsStreamsHaveTheShapeOfRecordedOnes) {
    EXPECT_EQ(stream_shape(body_chunks(http_of(message_terms(Dialect::vllm, 4), 1, {}))),
              stream_shape(body_chunks(golden("streams/vllm-0.32-anthropic-messages.http"))));
    EXPECT_EQ(stream_shape(body_chunks(
                  http_of(message_terms(Dialect::llamacpp, 4), 1, AnswerState{.cached_tokens = 31}))),
              stream_shape(body_chunks(golden("streams/llamacpp-anthropic-messages.http"))));
}

TEST(Messages, AnEventOfVllmHasItsBytes) {
    std::string chunk;
    answer_writer(message_terms(Dialect::vllm, 4))->append_tokens(chunk, 1, 1, {});
    const std::string payload = fmt::format(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"delta\":{{\"type\":"
        "\"text_delta\",\"text\":\"{}\"}},\"index\":0}}\n\n",
        answer_word(9, 1));
    EXPECT_EQ(chunk, fmt::format("{:x}\r\n{}\r\n", payload.size(), payload));
}

TEST(Messages, AnEventOfLlamacppHasItsBytes) {
    std::string chunk;
    answer_writer(message_terms(Dialect::llamacpp, 4))->append_tokens(chunk, 1, 1, {});
    const std::string payload = fmt::format(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
        "{{\"type\":\"text_delta\",\"text\":\"{}\"}}}}\n\n",
        answer_word(9, 1));
    EXPECT_EQ(chunk, fmt::format("{:x}\r\n{}\r\n", payload.size(), payload));
}

TEST(Messages, UsageLeavesTheCachedTokensOutOfTheInputTokens) {
    const AnswerState state{.cached_tokens = 20};
    const auto vllm = stream_of(message_terms(Dialect::vllm, 3), 1, state);
    EXPECT_EQ(vllm.front().data["message"]["usage"], json::parse(R"({"input_tokens":32,"output_tokens":0})"));
    EXPECT_EQ(vllm[vllm.size() - 2].data["usage"],
              json::parse(R"({"input_tokens":12,"output_tokens":3,"cache_creation_input_tokens":0,
                              "cache_read_input_tokens":20})"));
    const auto llamacpp = stream_of(message_terms(Dialect::llamacpp, 3), 1, state);
    EXPECT_EQ(llamacpp.front().data["message"]["usage"],
              json::parse(R"({"cache_read_input_tokens":20,"input_tokens":12,"output_tokens":0})"));
    EXPECT_EQ(llamacpp[llamacpp.size() - 2].data["usage"], json::parse(R"({"output_tokens":3})"));
}

TEST(Messages, TheReasonForTheEndIsInTheWordsOfTheProtocol) {
    const std::pair<const char*, const char*> reasons[] = {
        {"length", "max_tokens"}, {"stop", "end_turn"}, {"tool_calls", "tool_use"}};
    for (const Dialect dialect : kDialects) {
        for (const auto& [finish, stop] : reasons) {
            AnswerTerms terms = message_terms(dialect, 2);
            terms.plan.finish_reason = finish;
            const auto events = stream_of(terms);
            EXPECT_EQ(events[events.size() - 2].data["delta"]["stop_reason"], stop);
            EXPECT_EQ(events.back().name, "message_stop");
            EXPECT_EQ(json::parse(answer_writer(terms)->whole({}))["stop_reason"], stop);
        }
    }
}

/// The blocks of an answer, put together from its stream.
struct Blocks {
    std::string text, thinking, arguments, tool;
    std::vector<std::string> order;  ///< what starts, ends and signs: "start 0", "signature 0", "stop 0"
};

Blocks blocks_of(const std::vector<NamedEvent>& events) {
    Blocks blocks;
    for (const auto& [name, data] : events) {
        EXPECT_EQ(data["type"], name);
        if (name == "content_block_start") {
            blocks.order.push_back(fmt::format("start {}", data["index"].get<int>()));
            blocks.tool += data["content_block"].value("name", "");
        } else if (name == "content_block_stop") {
            blocks.order.push_back(fmt::format("stop {}", data["index"].get<int>()));
        } else if (name == "content_block_delta") {
            const json& delta = data["delta"];
            blocks.text += delta.value("text", "");
            blocks.thinking += delta.value("thinking", "");
            blocks.arguments += delta.value("partial_json", "");
            if (delta["type"] == "signature_delta")
                blocks.order.push_back(fmt::format("signature {}", data["index"].get<int>()));
        }
    }
    return blocks;
}

TEST(Messages, ThinkingAndACallAreBlocksOfTheirOwn) {
    for (const Dialect dialect : kDialects) {
        for (const std::int64_t per_step : {1, 2, 3, 7}) {
            AnswerTerms terms = message_terms(dialect, 9);
            terms.plan.reasoning_tokens = 3;
            const Blocks text = blocks_of(stream_of(terms, per_step));
            EXPECT_EQ(count_tokens(text.thinking), 3);
            EXPECT_EQ(count_tokens(text.text), 6);
            terms.plan.tool = "look \"up\"";
            terms.plan.finish_reason = "tool_calls";
            const Blocks call = blocks_of(stream_of(terms, per_step));
            EXPECT_EQ(call.tool, "look \"up\"");
            EXPECT_TRUE(json::parse(call.arguments).is_object());
            EXPECT_EQ(call.order, text.order);
            const std::vector<std::string> at_once{"start 0", "signature 0", "stop 0", "start 1", "stop 1"};
            const std::vector<std::string> at_end{"start 0", "start 1", "signature 0", "stop 0", "stop 1"};
            EXPECT_EQ(call.order, dialect == Dialect::llamacpp ? at_end : at_once);
        }
    }
}

TEST(Messages, AnAnswerOfThinkingOnlyIsOneBlock) {
    for (const Dialect dialect : kDialects) {
        AnswerTerms terms = message_terms(dialect, 3);
        terms.plan.reasoning_tokens = 3;
        EXPECT_EQ(blocks_of(stream_of(terms)).order,
                  (std::vector<std::string>{"start 0", "signature 0", "stop 0"}));
        EXPECT_EQ(json::parse(answer_writer(terms)->whole({}))["content"].size(), 1U);
    }
}

TEST(Messages, EventsWithOutputAreCountedByTheirParts) {
    AnswerTerms terms = message_terms(Dialect::vllm, 9);
    terms.plan.reasoning_tokens = 2;
    terms.plan.tool = "look";
    std::vector<std::int32_t> tokens;
    answer_writer(terms)->append_event_tokens(tokens, 0, 9);
    EXPECT_EQ(tokens, (std::vector<std::int32_t>{2, 1, 6}));
    tokens.clear();
    terms.dialect = Dialect::llamacpp;
    answer_writer(terms)->append_event_tokens(tokens, 0, 4);
    EXPECT_EQ(tokens, (std::vector<std::int32_t>{1, 1, 1, 1}));
}

TEST(Messages, AnAnswerInOnePieceSaysTheSameAsTheStream) {
    for (const Dialect dialect : kDialects) {
        AnswerTerms terms = message_terms(dialect, 8);
        terms.stream = false;
        terms.plan.reasoning_tokens = 3;
        const Blocks blocks = blocks_of(stream_of(terms));
        const json answer = json::parse(answer_writer(terms)->whole({.cached_tokens = 16}));
        EXPECT_EQ(answer["type"], "message");
        EXPECT_EQ(answer["content"][0]["thinking"], blocks.thinking);
        EXPECT_EQ(answer["content"][1]["text"], blocks.text);
        EXPECT_EQ(answer["usage"]["input_tokens"], 16);
        EXPECT_EQ(answer["usage"]["cache_read_input_tokens"], 16);
        EXPECT_EQ(answer["usage"]["output_tokens"], 8);
        terms.plan.tool = "look";
        for (const std::int64_t tokens : {4, 5, 6, 8}) {
            terms.plan.tokens = tokens;
            const json call = json::parse(answer_writer(terms)->whole({}))["content"][1];
            EXPECT_EQ(call["name"], "look");
            EXPECT_TRUE(call["input"].is_object()) << call;
        }
    }
}

TEST(Messages, AnEventTellsItsTruthWhenAskedTo) {
    AnswerState state;
    state.truth = EventTruth{.due = TimePoint(std::chrono::nanoseconds(5)),
                             .written = TimePoint(std::chrono::nanoseconds(7))};
    for (const Dialect dialect : kDialects) {
        AnswerTerms terms = message_terms(dialect, 4);
        terms.plan.tool = "look";
        std::size_t told = 0;
        for (const NamedEvent& event : stream_of(terms, 1, state)) told += event.data.contains("sim") ? 1 : 0;
        EXPECT_EQ(told, 4U) << "the event that starts a call has its name, which is a token";
    }
}

TEST(Messages, ARequestCountsTheTokensThatAChatWouldCount) {
    const auto chat =
        parse_generation(Endpoint::chat, R"({"messages":[{"role":"system","content":"Be brief."},
        {"role":"user","content":"Hello there"},{"role":"assistant","content":"Hi."},
        {"role":"user","content":"one two"}],"max_tokens":5,"stream":true})",
                         message_model());
    const GenerationRequest message = accepted_message(R"({"model":"tiny","max_tokens":5,"stream":true,
        "system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
        {"role":"user","content":[{"type":"text","text":"Hello there"}]},{"role":"assistant","content":"Hi."},
        {"role":"user","content":"one two"}]})");
    EXPECT_EQ(message.prompt_tokens, std::get<GenerationRequest>(chat).prompt_tokens);
    EXPECT_EQ(message.max_tokens, 5);
    EXPECT_TRUE(message.stream);
    EXPECT_EQ(accepted_message(R"({"system":"Be brief.","max_tokens":5,"messages":[
        {"role":"user","content":"Hello there"},{"role":"assistant","content":"Hi."},
        {"role":"user","content":"one two"}]})")
                  .prompt_tokens,
              message.prompt_tokens);
    EXPECT_FALSE(accepted_message(R"({"messages":[{"role":"user","content":"x"}],"max_tokens":5,
                                      "ignore_eos":true})")
                     .ignore_eos)
        << "the protocol has no such field";
}

TEST(Messages, BlocksOfToolsAndThinkingAreReadAndOthersRefused) {
    const auto with = [](const std::string& block) {
        return R"({"max_tokens":5,"messages":[{"role":"user","content":[)" + block + "]}]}";
    };
    const std::int64_t empty = accepted_message(with(R"({"type":"text","text":""})")).prompt_tokens;
    EXPECT_EQ(
        accepted_message(with(R"({"type":"thinking","thinking":"hm hm","signature":""})")).prompt_tokens,
        empty);
    EXPECT_EQ(
        accepted_message(
            with(R"({"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"one two"}]})"))
            .prompt_tokens,
        empty + count_tokens("one two"));
    EXPECT_GT(
        accepted_message(with(R"({"type":"tool_use","id":"t","name":"f","input":{"a":1}})")).prompt_tokens,
        empty);
    EXPECT_THAT(refused_message(with(R"({"type":"image","source":{}})"))["error"]["message"],
                HasSubstr("image"));
}

TEST(Messages, AToolIsCalledAsItsChoiceSays) {
    const auto tool = [](const std::string& choice) {
        return accepted_message(R"({"max_tokens":5,"messages":[{"role":"user","content":"x"}],"tools":[
            {"name":"a","input_schema":{}},{"name":"b","input_schema":{}}])" +
                                choice + "}")
            .tool;
    };
    EXPECT_EQ(tool(""), "a");
    EXPECT_EQ(tool(R"(,"tool_choice":{"type":"auto"})"), "a");
    EXPECT_EQ(tool(R"(,"tool_choice":{"type":"tool","name":"b"})"), "b");
    EXPECT_EQ(tool(R"(,"tool_choice":{"type":"none"})"), "");
}

TEST(Messages, ErrorsHaveTheFormOfTheProtocolInVllm) {
    const json wrong = refused_message(R"({"model":"nope","max_tokens":5,
                                           "messages":[{"role":"user","content":"x"}]})");
    EXPECT_EQ(wrong, json::parse(R"({"type":"error","error":{"type":"NotFoundError",
        "message":"The model `nope` does not exist. Valid aliases: tiny."}})"));
    const json missing = refused_message(R"({"messages":[{"role":"user","content":"x"}]})");
    EXPECT_EQ(missing["type"], "error");
    EXPECT_THAT(missing["error"]["message"], HasSubstr("body.max_tokens"));
    EXPECT_THAT(
        refused_message(R"({"max_tokens":0,"messages":[{"role":"user","content":"x"}]})")["error"]["message"],
        HasSubstr("at least 1"));
    EXPECT_THAT(refused_message("{")["error"]["message"], HasSubstr("json_invalid"));
    EXPECT_EQ(json::parse(overloaded(Dialect::vllm, Endpoint::messages, 429).body)["error"]["type"],
              "TooManyRequestsError");
    EXPECT_EQ(failure_events(Dialect::vllm, Endpoint::messages),
              "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"InternalServerError\","
              "\"message\":\"The engine failed.\"}}\n\n");
}

TEST(Messages, LlamacppTakesARequestWithoutALimitAndKeepsItsOwnErrors) {
    EXPECT_EQ(
        accepted_message(R"({"messages":[{"role":"user","content":"x"}]})", Dialect::llamacpp).max_tokens,
        4096 - accepted_message(R"({"messages":[{"role":"user","content":"x"}]})", Dialect::llamacpp)
                   .prompt_tokens);
    EXPECT_EQ(refused_message(R"({"messages":"x"})", Dialect::llamacpp),
              json::parse(R"({"error":{"code":400,"message":"Expected 'messages' to be an array",
                                       "type":"invalid_request_error"}})"));
    EXPECT_EQ(
        failure_events(Dialect::llamacpp, Endpoint::messages),
        "event: error\ndata: {\"code\":500,\"message\":\"The engine failed.\",\"type\":\"server_error\"}"
        "\n\n");
}

}  // namespace
}  // namespace paretoken::sim
