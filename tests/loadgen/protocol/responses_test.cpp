// OpenAI's Responses: loadgen/protocol/responses.cpp.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "loadgen/protocol/body.h"
#include "tests/support/replayed.h"

namespace paretoken::protocol {
namespace {

using testing::answer_of;
using testing::at_read;
using testing::event_of;
using ::testing::HasSubstr;
using testing::kinds_of;
using testing::replayed;

std::string output(std::string_view type, std::string_view delta) {
    return event_of(R"({"type":")" + std::string(type) + R"(","item_id":"i","delta":")" + std::string(delta) +
                    R"("})");
}
std::string ended(std::string_view type, std::string_view response) {
    return event_of(R"({"type":")" + std::string(type) + R"(","response":)" + std::string(response) + "}");
}
const std::string kText = output("response.output_text.delta", "word");
const std::string kCompleted =
    ended("response.completed", R"({"status":"completed","usage":{"input_tokens":9,"output_tokens":1}})");

RequestRecord response_of(const std::vector<std::string>& pieces) {
    return answer_of(pieces, kResponses, {.keep_text = true});
}

TEST(Responses, of_llamacpp_are_read) {
    const RequestRecord record = replayed("streams/llamacpp-responses.http", kResponses, {.keep_text = true});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.answer, "Hello, welcome to");
    EXPECT_EQ(record.chunks, 4);
    EXPECT_EQ(record.first_event, at_read(1));
    EXPECT_EQ(record.usage, (TokenUsage{32, 31, 4, std::nullopt}));
    EXPECT_EQ(record.finish_reason, "stop");
}

TEST(Responses, of_vllm_are_read) {
    const RequestRecord record =
        replayed("streams/vllm-0.32-responses.http", kResponses, {.keep_text = true});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.answer, "denbackbuffer30");
    EXPECT_EQ(record.chunks, 2);
    EXPECT_EQ(record.streamed_tokens, 4) << "the server's count is shared by text";
    EXPECT_EQ(record.first_event, at_read(5));
    EXPECT_EQ(record.usage, (TokenUsage{12, 0, 4, 0}));
    EXPECT_EQ(record.finish_reason, "length");
}

TEST(Responses, end_with_the_whole_response) {
    const RequestRecord record = response_of({kText, kCompleted, "data: [DONE]\n\n{broken"});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.finished, at_read(2));
    EXPECT_EQ(record.chunks, 1);
    EXPECT_EQ(response_of({kText}).outcome, Outcome::truncated);
}

TEST(Responses, tell_reasoning_and_calls_from_text) {
    const RequestRecord record = response_of(
        {output("response.reasoning_text.delta", "hm"), output("response.output_text.delta", "a\\u00e9"),
         output("response.function_call_arguments.delta", "{}"), output("response.audio.delta", "UklGRg"),
         event_of(R"({"type":"response.output_text.done","item_id":"i","text":"a\u00e9"})"), kCompleted});
    EXPECT_EQ(record.answer, "a\u00e9");
    EXPECT_THAT(kinds_of(record),
                ::testing::ElementsAre(EventKind::reasoning, EventKind::content, EventKind::tool_call));
}

TEST(Responses, find_reasoning_under_other_names_and_tell_unknown_text) {
    const std::string unknown = output("response.musing.delta", "hm");
    for (const std::string type : {"response.reasoning.delta", "response.reasoning_summary.delta"}) {
        const RequestRecord record = response_of({output(type, "hm"), kText, kCompleted});
        EXPECT_THAT(kinds_of(record), ::testing::ElementsAre(EventKind::reasoning, EventKind::content))
            << type;
        EXPECT_FALSE(record.unseen_output);
    }
    EXPECT_TRUE(response_of({unknown, unknown, kText, kCompleted}).unseen_output);
}

TEST(Responses, that_come_as_a_whole_did_not_stream) {
    const std::string whole = event_of(R"({"type":"response.output_text.done","text":"one two"})");
    const std::string end = event_of(R"({"type":"response.completed","response":{"status":"completed"}})");
    EXPECT_THAT(
        answer_of({whole, end}, kResponses).error,
        ::testing::HasSubstr("did not stream its text, which came as a whole in response.output_text.done"));
    const std::string word = event_of(R"({"type":"response.output_text.delta","delta":"one two"})");
    const RequestRecord streamed = answer_of({word, whole, whole, end}, kResponses);
    EXPECT_EQ(streamed.outcome, Outcome::ok);
    EXPECT_FALSE(streamed.unseen_output);
}

TEST(Responses, that_failed_say_why) {
    const RequestRecord failed = response_of(
        {kText, ended("response.failed",
                      R"({"status":"failed","error":{"code":"server_error","message":"out of memory"}})")});
    EXPECT_EQ(failed.outcome, Outcome::stream_error);
    EXPECT_EQ(failed.error, "out of memory (server_error)");
    const RequestRecord error =
        response_of({kText, event_of(R"({"type":"error","code":"rate_limit","message":"slow down"})")});
    EXPECT_EQ(error.outcome, Outcome::stream_error);
    EXPECT_THAT(error.error, HasSubstr("slow down"));
}

TEST(Responses, in_progress_have_no_end) {
    const RequestRecord record = response_of(
        {ended("response.created", R"({"status":"in_progress","usage":null,"error":null})"), kText});
    EXPECT_EQ(record.finish_reason, "");
    EXPECT_EQ(record.outcome, Outcome::truncated);
}

TEST(Responses, that_did_not_stream_are_read) {
    const RequestRecord record = response_of(
        {R"({"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},)"
         R"("output":[{"type":"message","content":[{"type":"output_text","text":"four"}]}],)"
         R"("usage":{"input_tokens":3,"output_tokens":1}})"});
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.answer, "four");
    EXPECT_EQ(record.finish_reason, "length");
}

TEST(Responses, are_not_stored_by_the_server) {
    const auto body = nlohmann::json::parse(BodyWriter({.protocol = &kResponses}).body(Request{}));
    EXPECT_EQ(body["store"], false);
    const auto stored = nlohmann::json::parse(
        BodyWriter({.protocol = &kResponses, .extra_body = R"({"store":true})"}).body(Request{}));
    EXPECT_EQ(stored["store"], true);
}

}  // namespace
}  // namespace paretoken::protocol
