// Output that a stream counts and does not show: loadgen/protocol/token_counts.h.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/replayed.h"

namespace paretoken::protocol {
namespace {

using testing::answer_of;
using testing::at_read;
using ::testing::Each;
using testing::event_of;

const std::string kStreamDone = "data: [DONE]\n\n";

/// An event of a chat; `count`: the output tokens so far, if any.
std::string step(std::string_view delta, int count = 0, std::string_view reason = "null",
                 std::string_view rest = "") {
    const std::string usage =
        count == 0 ? "" : fmt::format(R"(,"usage":{{"prompt_tokens":40,"completion_tokens":{}}})", count);
    return event_of(fmt::format(R"({{"choices":[{{"index":0,"delta":{},"finish_reason":{}}}]{}{}}})", delta,
                                reason, usage, rest));
}
const std::string kStepWord = R"({"content":" word"})";

RequestRecord asking(std::int64_t tokens) {
    RequestRecord record;
    record.wanted_output_tokens = tokens;
    return record;
}

std::vector<std::uint32_t> shown_tokens(const RequestRecord& record) {
    std::vector<std::uint32_t> tokens;
    for (const StreamEvent& event : record.events) tokens.push_back(event.tokens);
    return tokens;
}

/// An answer of `all` tokens with counts along the stream, of which the first `shown` have text. `silent`:
/// the others come without an event.
std::vector<std::string> counted_along(int shown, int all, bool silent, std::string_view delta = kStepWord) {
    std::vector<std::string> stream;
    for (int i = 1; i <= (silent ? shown : all); ++i)
        stream.push_back(step(i <= shown ? delta : std::string_view("{}"), i));
    stream.push_back(step("{}", all, R"("length")"));
    stream.push_back(kStreamDone);
    return stream;
}

TEST(HiddenOutput, counted_by_events_without_text_at_the_end_is_no_missing_output) {
    const std::pair<int, int> cases[] = {{195, 200}, {24, 40}, {12, 24}};
    for (const auto& [shown, all] : cases) {
        for (const bool silent : {false, true}) {
            const RequestRecord record = answer_of(counted_along(shown, all, silent), kChat,
                                                   {.ignore_eos_accepted = true}, asking(all));
            EXPECT_EQ(record.outcome, Outcome::ok) << record.error;
            EXPECT_EQ(record.usage.completion, all);
            EXPECT_THAT(shown_tokens(record), Each(1U)) << "no event shows the last tokens";
            EXPECT_EQ(record.token_source, TokenSource::chunk_usage);
            EXPECT_TRUE(record.unseen_output);
        }
    }
}

TEST(HiddenOutput, behind_reasoning_is_not_spread_over_it) {
    const RequestRecord record =
        answer_of(counted_along(24, 40, true, R"({"reasoning_content":" hm"})"), kChat);
    EXPECT_THAT(shown_tokens(record), Each(1U));
    EXPECT_EQ(record.usage.completion, 40);
}

TEST(HiddenOutput, at_the_end_is_told_from_counts_of_each_event) {
    std::vector<std::string> stream;
    int sum = 0;
    for (int i = 1; i <= 8; ++i) {
        sum += i;
        stream.push_back(step(fmt::format(R"({{"content":"{}"}})", std::string(5 * i, 'a')), i));
    }
    stream.push_back(step("{}", sum, R"("stop")"));
    const RequestRecord record = answer_of(stream, kChat);
    EXPECT_THAT(shown_tokens(record), ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_FALSE(record.unseen_output);
}

TEST(HiddenOutput, a_count_before_the_first_text_is_no_total) {
    std::vector<std::string> stream;
    for (int i = 1; i <= 24; ++i) stream.push_back(step(i <= 16 ? R"({"content":""})" : kStepWord, i));
    stream.push_back(step("{}", 24, R"("length")"));
    const RequestRecord record = answer_of(stream, kChat);
    EXPECT_EQ(record.usage.completion, 24);
    EXPECT_EQ(record.streamed_tokens, 8);
    EXPECT_TRUE(record.unseen_output);
}

/// An answer with reasoning that is announced and not shown, and then 20 words; the usage counts 40 tokens.
RequestRecord after_hidden_reasoning(const std::string& announcement, const Protocol& protocol,
                                     const std::string& word, const std::string& end) {
    std::vector<std::string> stream{announcement};
    stream.insert(stream.end(), 20, word);
    stream.push_back(end);
    return answer_of(stream, protocol);
}

const std::string kMessageWord =
    event_of(R"({"type":"content_block_delta","delta":{"type":"text_delta","text":" word"}})");
const std::string kMessageEnd =
    event_of(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}})") +
    event_of(R"({"type":"message_stop"})");
const std::string kResponseWord = event_of(R"({"type":"response.output_text.delta","delta":" word"})");
const std::string kResponseEnd = event_of(
    R"({"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":40,"output_tokens":40}}})");

TEST(HiddenOutput, of_reasoning_that_the_protocol_announces_comes_before_the_text) {
    const std::string chat_end = step("{}", 40, R"("stop")");
    const std::string block =
        R"({"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"Emw"}})";
    const std::string signature =
        R"({"type":"content_block_delta","delta":{"type":"signature_delta","signature":"Emw"}})";
    const std::string item =
        R"({"type":"response.output_item.added","item":{"id":"rs","type":"reasoning","summary":[]}})";
    const std::string details =
        R"({"content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"gAAAA"}]})";
    for (const RequestRecord& record :
         {after_hidden_reasoning(event_of(block), kMessages, kMessageWord, kMessageEnd),
          after_hidden_reasoning(event_of(signature), kMessages, kMessageWord, kMessageEnd),
          after_hidden_reasoning(event_of(item), kResponses, kResponseWord, kResponseEnd),
          after_hidden_reasoning(step(details), kChat, step(kStepWord), chat_end)}) {
        EXPECT_EQ(record.outcome, Outcome::ok) << record.error;
        EXPECT_THAT(shown_tokens(record), Each(1U));
        EXPECT_EQ(record.usage.completion, 40);
        EXPECT_TRUE(record.unseen_output);
        EXPECT_EQ(record.first_event, at_read(2));
    }
}

TEST(HiddenOutput, of_reasoning_that_the_text_shows_is_none) {
    const std::string start =
        event_of(R"({"type":"content_block_start","content_block":{"type":"thinking","thinking":""}})");
    const RequestRecord no_signature = after_hidden_reasoning(start, kMessages, kMessageWord, kMessageEnd);
    EXPECT_THAT(shown_tokens(no_signature), Each(2U)) << "the block may be empty";
    const std::string shown =
        event_of(R"({"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm, hm"}})") +
        event_of(R"({"type":"content_block_delta","delta":{"type":"signature_delta","signature":"Emw"}})");
    const RequestRecord with_text = after_hidden_reasoning(shown, kMessages, kMessageWord, kMessageEnd);
    EXPECT_EQ(with_text.streamed_tokens, 40);
    EXPECT_FALSE(with_text.unseen_output);
}

TEST(HiddenOutput, is_not_behind_news_of_the_prompt) {
    std::vector<std::string> stream;
    for (int i = 0; i <= 10; ++i)
        stream.push_back(step(R"({"role":"assistant","content":null})", 0, "null",
                              fmt::format(R"(,"prompt_progress":{{"total":5120,"processed":{}}})", 512 * i)));
    for (int i = 0; i < 10; ++i) stream.push_back(step(R"({"content":" word word"})"));
    stream.push_back(step("{}", 20, R"("length")"));
    const RequestRecord record = answer_of(stream, kChat);
    EXPECT_THAT(shown_tokens(record), Each(2U));
    EXPECT_FALSE(record.unseen_output);
}

}  // namespace
}  // namespace paretoken::protocol
