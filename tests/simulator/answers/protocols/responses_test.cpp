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

std::variant<GenerationRequest, ApiError> parsed_response(const std::string& body,
                                                          Dialect dialect = Dialect::vllm) {
    return parse_generation(Endpoint::responses, body,
                            {.name = "tiny", .context_limit = 4096, .vocabulary = 5000, .dialect = dialect});
}

GenerationRequest accepted_response(const std::string& body, Dialect dialect = Dialect::vllm) {
    const auto parsed = parsed_response(body, dialect);
    if (const auto* error = std::get_if<ApiError>(&parsed)) {
        ADD_FAILURE() << error->body;
        return {};
    }
    return std::get<GenerationRequest>(parsed);
}

json refused_response(const std::string& body, Dialect dialect = Dialect::vllm) {
    const auto parsed = parsed_response(body, dialect);
    const auto* error = std::get_if<ApiError>(&parsed);
    return error == nullptr ? json("accepted") : json::parse(error->body)["error"];
}

AnswerTerms response_terms(Dialect dialect, std::int64_t tokens) {
    return {.dialect = dialect,
            .endpoint = Endpoint::responses,
            .id = "r-1",
            .created = 5,
            .model = "tiny",
            .vocabulary = 5000,
            .prompt_tokens = 32,
            .max_tokens = tokens,
            .plan = {.seed = 9, .tokens = tokens}};
}

TEST(Responses, ItsStreamsHaveTheShapeOfRecordedOnes) {
    const AnswerState state{.cached_tokens = 31};
    EXPECT_EQ(stream_shape(body_chunks(http_of(response_terms(Dialect::vllm, 4), 2, state))),
              stream_shape(body_chunks(golden("streams/vllm-0.32-responses.http"))));
    EXPECT_EQ(stream_shape(body_chunks(http_of(response_terms(Dialect::llamacpp, 4), 1, state))),
              stream_shape(body_chunks(golden("streams/llamacpp-responses.http"))));
}

TEST(Responses, AnEventOfVllmHasItsBytes) {
    std::string chunk;
    AnswerState state;
    state.events = 1;
    answer_writer(response_terms(Dialect::vllm, 4))->append_tokens(chunk, 1, 1, state);
    const std::string payload = fmt::format(
        "event: response.output_text.delta\ndata: {{\"content_index\":0,\"delta\":\"{}\",\"item_id\":"
        "\"msg_r-1\",\"logprobs\":[],\"output_index\":0,\"sequence_number\":5,\"type\":"
        "\"response.output_text.delta\"}}\n\n",
        answer_word(9, 1));
    EXPECT_EQ(chunk, fmt::format("{:x}\r\n{}\r\n", payload.size(), payload));
}

TEST(Responses, AnEventOfLlamacppHasItsBytes) {
    std::string chunk;
    answer_writer(response_terms(Dialect::llamacpp, 4))->append_tokens(chunk, 1, 1, {});
    const std::string payload = fmt::format(
        "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"item_id\":"
        "\"msg_r-1\",\"delta\":\"{}\"}}\n\n",
        answer_word(9, 1));
    EXPECT_EQ(chunk, fmt::format("{:x}\r\n{}\r\n", payload.size(), payload));
}

TEST(Responses, TheLastEventHasUsageAndTheReasonForTheEnd) {
    const AnswerState state{.cached_tokens = 16};
    AnswerTerms terms = response_terms(Dialect::vllm, 4);
    terms.plan.reasoning_tokens = 1;
    const json cut = stream_of(terms, 1, state).back().data["response"];
    EXPECT_EQ(cut["status"], "incomplete");
    EXPECT_EQ(cut["incomplete_details"]["reason"], "max_output_tokens");
    EXPECT_EQ(cut["max_output_tokens"], 4);
    EXPECT_EQ(cut["usage"]["input_tokens"], 32) << "with the cached ones";
    EXPECT_EQ(cut["usage"]["input_tokens_details"]["cached_tokens"], 16);
    EXPECT_EQ(cut["usage"]["output_tokens"], 4);
    EXPECT_EQ(cut["usage"]["output_tokens_details"]["reasoning_tokens"], 1);
    EXPECT_EQ(cut["usage"]["total_tokens"], 36);
    terms.plan.finish_reason = "stop";
    const json ended = stream_of(terms, 1, state).back().data["response"];
    EXPECT_EQ(ended["status"], "completed");
    EXPECT_EQ(ended["incomplete_details"], json());
    terms.dialect = Dialect::llamacpp;
    const json llamacpp = stream_of(terms, 1, state).back().data;
    EXPECT_EQ(llamacpp["response"]["usage"]["input_tokens_details"]["cached_tokens"], 16);
    EXPECT_EQ(llamacpp["timings"]["predicted_n"], 4);
}

TEST(Responses, TheEventsOfVllmAreNumberedWithoutGaps) {
    for (const std::int64_t reasoning : {0, 1, 3, 9}) {
        for (const char* tool : {"", "look"}) {
            for (const std::int64_t per_step : {1, 2, 4, 9}) {
                AnswerTerms terms = response_terms(Dialect::vllm, 9);
                terms.plan.reasoning_tokens = reasoning;
                terms.plan.tool = tool;
                std::int64_t number = 0;
                for (const NamedEvent& event : stream_of(terms, per_step)) {
                    EXPECT_EQ(event.data["sequence_number"], number++)
                        << event.name << " with " << reasoning << tool << per_step;
                    EXPECT_EQ(event.data["type"], event.name);
                }
            }
        }
    }
}

TEST(Responses, TheItemsOfAStreamAreThoseOfItsResponse) {
    for (const Dialect dialect : kDialects) {
        for (const char* tool : {"", "look \"up\""}) {
            AnswerTerms terms = response_terms(dialect, 9);
            terms.plan.reasoning_tokens = 3;
            terms.plan.tool = tool;
            std::string text, reasoning, arguments;
            json items = json::array();
            const auto events = stream_of(terms, 2);
            for (const auto& [name, data] : events) {
                if (name == "response.output_text.delta") text += data["delta"];
                if (name == "response.reasoning_text.delta") reasoning += data["delta"];
                if (name == "response.function_call_arguments.delta") arguments += data["delta"];
                if (name == "response.output_item.done") items.push_back(data["item"]);
            }
            EXPECT_EQ(items, events.back().data["response"]["output"]);
            ASSERT_EQ(items.size(), 2U);
            EXPECT_EQ(items[0]["content"][0]["text"], reasoning);
            EXPECT_EQ(count_tokens(reasoning), 3);
            if (*tool == '\0') {
                EXPECT_EQ(items[1]["content"][0]["text"], text);
                EXPECT_EQ(count_tokens(text), 6);
            } else {
                EXPECT_EQ(items[1]["name"], tool);
                EXPECT_EQ(items[1]["arguments"], arguments);
                EXPECT_TRUE(json::parse(arguments).is_object());
            }
        }
    }
}

TEST(Responses, AnAnswerInOnePieceIsTheResponseOfTheStream) {
    AnswerTerms terms = response_terms(Dialect::vllm, 5);
    const AnswerState state{.cached_tokens = 16};
    EXPECT_EQ(json::parse(answer_writer(terms)->whole(state)),
              stream_of(terms, 1, state).back().data["response"]);
    terms.dialect = Dialect::llamacpp;
    const json whole = json::parse(answer_writer(terms)->whole(state));
    const json streamed = stream_of(terms, 1, state).back().data["response"];
    for (const char* key : {"id", "model", "output", "status", "usage"}) EXPECT_EQ(whole[key], streamed[key]);
}

TEST(Responses, VllmOpensAtOnceAndLlamacppWithTheFirstToken) {
    EXPECT_TRUE(answer_writer(response_terms(Dialect::vllm, 4))->opens_at_once());
    EXPECT_FALSE(answer_writer(response_terms(Dialect::llamacpp, 4))->opens_at_once());
    EXPECT_FALSE(answer_writer({.endpoint = Endpoint::messages})->opens_at_once());
}

TEST(Responses, AnEventTellsItsTruthWhenAskedTo) {
    AnswerState state;
    state.truth = EventTruth{.due = TimePoint(std::chrono::nanoseconds(5)),
                             .written = TimePoint(std::chrono::nanoseconds(7))};
    for (const Dialect dialect : kDialects) {
        for (const char* tool : {"", "look"}) {
            AnswerTerms terms = response_terms(dialect, 4);
            terms.plan.tool = tool;
            std::size_t told = 0;
            for (const NamedEvent& event : stream_of(terms, 1, state))
                told += event.data.contains("sim") ? 1 : 0;
            EXPECT_EQ(told, 4U);
        }
    }
}

TEST(Responses, ARequestCountsTheTokensThatAChatWouldCount) {
    const auto chat =
        parse_generation(Endpoint::chat, R"({"messages":[{"role":"system","content":"Be brief."},
        {"role":"user","content":"Hello there"},{"role":"assistant","content":"Hi."},
        {"role":"user","content":"one two"}]})",
                         {.name = "tiny", .context_limit = 4096, .vocabulary = 5000});
    const std::int64_t tokens = std::get<GenerationRequest>(chat).prompt_tokens;
    const GenerationRequest list = accepted_response(R"({"model":"tiny","instructions":"Be brief.","input":[
        {"role":"user","content":[{"type":"input_text","text":"Hello there"}]},
        {"type":"reasoning","summary":[],"content":[]},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]},
        {"role":"user","content":"one two"}],"max_output_tokens":7,"ignore_eos":true,"stream":true,
        "store":false})");
    EXPECT_EQ(list.prompt_tokens, tokens);
    EXPECT_EQ(list.max_tokens, 7);
    EXPECT_TRUE(list.ignore_eos);
    EXPECT_TRUE(list.stream);
    const GenerationRequest text = accepted_response(R"({"input":"one two"})");
    EXPECT_EQ(text.prompt_tokens,
              kTokensPerText + kTokensPerMessage + count_tokens("one two") + kTokensOfAnswerHeader);
    EXPECT_EQ(text.max_tokens, 4096 - text.prompt_tokens);
}

TEST(Responses, CallsAndTheirResultsAreReadAndOtherItemsRefused) {
    EXPECT_EQ(accepted_response(R"({"input":[{"type":"function_call","call_id":"c","name":"f",
                                    "arguments":"one two"}]})")
                  .prompt_tokens,
              accepted_response(R"({"input":[{"type":"function_call_output","call_id":"c",
                                    "output":"one two"}]})")
                  .prompt_tokens);
    EXPECT_THAT(refused_response(R"({"input":[{"type":"computer_call"}]})")["message"],
                HasSubstr("computer_call"));
}

TEST(Responses, AToolIsCalledAsItsChoiceSays) {
    const auto tool = [](const std::string& choice) {
        return accepted_response(R"({"input":"x","tools":[{"type":"function","name":"a"},
            {"type":"function","name":"b"}])" +
                                 choice + "}")
            .tool;
    };
    EXPECT_EQ(tool(""), "a");
    EXPECT_EQ(tool(R"(,"tool_choice":"none")"), "");
    EXPECT_EQ(tool(R"(,"tool_choice":{"type":"function","name":"b"})"), "b");
}

TEST(Responses, ErrorsHaveTheFormOfTheDialect) {
    EXPECT_EQ(refused_response("{}")["param"], "body.input");
    EXPECT_EQ(refused_response(R"({"input":"x","max_output_tokens":0})")["param"], "max_output_tokens");
    EXPECT_EQ(refused_response(R"({"input":"x","model":"nope"})")["code"], 404);
    EXPECT_EQ(refused_response(R"({"input":"x","previous_response_id":"resp_1"})")["code"], 404);
    EXPECT_EQ(refused_response(R"({"input":[]})")["param"], "input");
    EXPECT_EQ(refused_response(R"({"input":3})", Dialect::llamacpp)["message"],
              "Expected 'input' to be an array");
    EXPECT_THAT(failure_events(Dialect::vllm, Endpoint::responses),
                ::testing::AllOf(::testing::StartsWith("event: error\ndata: {"),
                                 HasSubstr(R"("type":"error"})"), HasSubstr("The engine failed.")));
    EXPECT_THAT(failure_events(Dialect::llamacpp, Endpoint::responses),
                ::testing::StartsWith("data: {\"error\":{"));
}

}  // namespace
}  // namespace paretoken::sim
