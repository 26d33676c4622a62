// Anthropic's Messages: loadgen/protocol/messages.cpp.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "loadgen/protocol/body.h"
#include "tests/support/replayed.h"

namespace paretoken::protocol {
namespace {

using testing::answer_of;
using testing::at_read;
using testing::event_of;
using testing::kinds_of;
using testing::replayed;

const std::string kStart = event_of(
    R"({"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1}}})");
const std::string kMessageStop = event_of(R"({"type":"message_stop"})");

std::string block(std::string_view delta) {
    return event_of(R"({"type":"content_block_delta","index":0,"delta":)" + std::string(delta) + "}");
}
std::string ended(std::string_view reason, int tokens) {
    return event_of(R"({"type":"message_delta","delta":{"stop_reason":")" + std::string(reason) +
                    R"("},"usage":{"output_tokens":)" + std::to_string(tokens) + "}}");
}
RequestRecord read(const std::vector<std::string>& pieces) {
    return answer_of(pieces, kMessages, {.keep_text = true});
}

TEST(Messages, of_llamacpp_are_read) {
    const RequestRecord record =
        replayed("streams/llamacpp-anthropic-messages.http", kMessages, {.keep_text = true});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.answer, "I'm so glad");
    EXPECT_EQ(record.chunks, 4);
    EXPECT_EQ(record.streamed_tokens, 4);
    EXPECT_EQ(record.first_event, at_read(1));
    EXPECT_EQ(record.usage, (TokenUsage{32, 31, 4, std::nullopt}));
    EXPECT_EQ(record.finish_reason, "length");
    EXPECT_EQ(record.finished, at_read(5));
}

TEST(Messages, of_vllm_are_read) {
    const RequestRecord record =
        replayed("streams/vllm-0.32-anthropic-messages.http", kMessages, {.keep_text = true});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.answer, "perautonetBlockverse");
    EXPECT_EQ(record.chunks, 4);
    EXPECT_EQ(record.first_event, at_read(3));  // the start of the message and of its block came before
    EXPECT_EQ(record.usage, (TokenUsage{12, std::nullopt, 4, std::nullopt}));
    EXPECT_EQ(record.finish_reason, "length");
}

TEST(Messages, end_with_message_stop_whatever_follows) {
    const RequestRecord record = read({kStart, block(R"({"type":"text_delta","text":"a"})"),
                                       ended("end_turn", 1), kMessageStop, "{broken"});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.finish_reason, "stop");
    EXPECT_EQ(record.finished, at_read(4));
    EXPECT_EQ(record.usage, (TokenUsage{12, 7, 1, std::nullopt}));
}

TEST(Messages, without_an_end_are_truncated) {
    const RequestRecord record = read({kStart, block(R"({"type":"text_delta","text":"ab"})"),
                                       block(R"({"type":"text_delta","text":"c"})")});
    EXPECT_EQ(record.outcome, Outcome::truncated);
    EXPECT_EQ(record.token_source, TokenSource::one_per_chunk)
        << "the count of the start is not the answer's";
    EXPECT_EQ(record.streamed_tokens, 2);
}

TEST(Messages, tell_thinking_and_tools_from_text) {
    const RequestRecord record = read(
        {kStart, block(R"({"type":"thinking_delta","thinking":"hm"})"),
         block(R"({"type":"signature_delta","signature":"AAAA"})"),
         block(R"({"type":"text_delta","text":"so \u00e9"})"),
         event_of(
             R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"add","input":{}}})"),
         block(R"({"type":"input_json_delta","partial_json":"{\"a\":1}"})"), ended("tool_use", 6),
         kMessageStop});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.answer, "so \u00e9");
    EXPECT_EQ(record.finish_reason, "tool_calls");
    EXPECT_THAT(kinds_of(record), ::testing::ElementsAre(EventKind::reasoning, EventKind::content,
                                                         EventKind::tool_call, EventKind::tool_call));
}

TEST(Messages, tell_text_under_names_that_are_not_known) {
    const std::string unknown = block(R"({"type":"musing_delta","musing":"hm"})");
    const std::string known = block(R"({"type":"signature_delta","signature":"AAAA"})");
    const std::string text = block(R"({"type":"text_delta","text":"a"})");
    EXPECT_TRUE(read({kStart, unknown, unknown, text, ended("end_turn", 1), kMessageStop}).unseen_output);
    EXPECT_FALSE(read({kStart, known, known, text, ended("end_turn", 1), kMessageStop}).unseen_output);
}

TEST(Messages, keep_the_cached_tokens_of_the_beginning) {
    const RequestRecord record =
        read({kStart, block(R"({"type":"text_delta","text":"a"})"),
              event_of(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},)"
                       R"("usage":{"input_tokens":5,"output_tokens":1}})"),
              kMessageStop});
    EXPECT_EQ(record.usage, (TokenUsage{12, 7, 1, std::nullopt}));
    EXPECT_FALSE(record.disputed_cache);
}

TEST(Messages, keep_the_tokens_that_were_written_to_the_cache) {
    const auto prompt_of = [](std::string_view start, std::string_view end) {
        const std::string counts = R"({"type":"message_start","message":{"usage":{)" + std::string(start) +
                                   R"(,"output_tokens":1}}})";
        return read({event_of(counts), block(R"({"type":"text_delta","text":"a"})"),
                     event_of(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{)" +
                              std::string(end) + R"(,"output_tokens":1}})"),
                     kMessageStop})
            .usage.prompt;
    };
    const std::string written =
        R"("input_tokens":20,"cache_creation_input_tokens":80,"cache_read_input_tokens":0)";
    EXPECT_EQ(prompt_of(written, R"("input_tokens":20)"), 100);
    EXPECT_EQ(prompt_of(written, R"("input_tokens":120)"), 120) << "the whole prompt";
    EXPECT_EQ(prompt_of(R"("input_tokens":0)", written), 100);
    EXPECT_EQ(prompt_of(R"("input_tokens":100,"cache_creation_input_tokens":0)",
                        R"("input_tokens":20,"cache_read_input_tokens":80)"),
              100);
}

TEST(Messages, with_an_error_have_failed) {
    const RequestRecord record = read(
        {kStart, event_of(R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})")});
    EXPECT_EQ(record.outcome, Outcome::stream_error);
    EXPECT_EQ(record.error, "Overloaded (overloaded_error)");
    const RequestRecord llamacpp =
        read({kStart, event_of(R"({"code":500,"message":"The engine failed.","type":"server_error"})")});
    EXPECT_EQ(llamacpp.outcome, Outcome::stream_error);
    EXPECT_EQ(llamacpp.error, "The engine failed. (server_error)");
}

TEST(Messages, that_failed_or_are_empty_quote_the_reason_as_it_was_sent) {
    const RequestRecord refused =
        read({kStart, block(R"({"type":"text_delta","text":"I"})"), ended("refusal", 1)});
    EXPECT_EQ(refused.outcome, Outcome::stream_error);
    EXPECT_EQ(refused.error, "finish_reason is \"refusal\"");
    EXPECT_EQ(refused.finish_reason, "content_filter");
    EXPECT_EQ(read({R"({"type":"message","content":[],"stop_reason":"refusal"})"}).error, refused.error);
    const RequestRecord empty = read({kStart, ended("max_tokens", 9), kMessageStop});
    EXPECT_EQ(empty.outcome, Outcome::empty);
    EXPECT_THAT(empty.error, ::testing::HasSubstr("(finish_reason max_tokens)"));
}

TEST(Messages, that_did_not_stream_are_read) {
    const RequestRecord record =
        read({R"({"type":"message","content":[{"type":"text","text":"four"}],"stop_reason":"end_turn",)"
              R"("usage":{"input_tokens":3,"output_tokens":1}})"});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.answer, "four");
    EXPECT_EQ(record.finish_reason, "stop");
    EXPECT_EQ(record.usage, (TokenUsage{3, std::nullopt, 1, std::nullopt}));
}

TEST(Messages, to_the_system_are_a_field_of_the_request) {
    Request request;
    request.prompt = Messages{{.role = "system", .content = "be \"brief\""},
                              {.role = "user", .content = "hi"},
                              {.role = "assistant", .content = "ho"},
                              {.role = "user", .content = "hm"}};
    const auto body = nlohmann::json::parse(BodyWriter({.protocol = &kMessages}).body(request));
    EXPECT_EQ(body["system"], "be \"brief\"");
    EXPECT_EQ(body["messages"].size(), 3U);
    EXPECT_EQ(body["messages"][0]["role"], "user");
    request.prompt = "hi";
    EXPECT_FALSE(
        nlohmann::json::parse(BodyWriter({.protocol = &kMessages}).body(request)).contains("system"));
}

}  // namespace
}  // namespace paretoken::protocol
