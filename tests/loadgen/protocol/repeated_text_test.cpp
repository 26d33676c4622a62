// Text that comes again, and ends that are none: loadgen/protocol/repeated_text.h.
#include "loadgen/protocol/repeated_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>
#include <string>
#include <vector>

#include "loadgen/protocol/body.h"
#include "tests/support/replayed.h"

namespace paretoken::protocol {
namespace {

using testing::answer_of;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::event_of;

using Texts = std::vector<std::string>;

std::string piece(std::string_view delta, std::string_view reason = "null") {
    return event_of(
        fmt::format(R"({{"choices":[{{"index":0,"delta":{},"finish_reason":{}}}]}})", delta, reason));
}
std::string said(std::string_view content, std::string_view reason = "null") {
    return piece(fmt::format(R"({{"content":"{}"}})", content), reason);
}
std::string thought_piece(std::string_view content, std::string_view reason = "null") {
    return piece(fmt::format(R"({{"reasoning_content":"{}"}})", content), reason);
}
const std::string kEnded = piece("{}", R"("stop")");
const std::string kMarker = "data: [DONE]\n\n";
std::string counted_usage(std::size_t tokens) {
    return event_of(
        fmt::format(R"({{"choices":[],"usage":{{"prompt_tokens":40,"completion_tokens":{}}}}})", tokens));
}

/// A whole answer with these texts. The usage counts `tokens`; 0 means that it is missing.
RequestRecord answer_with(const Texts& texts, std::size_t tokens = 0) {
    Texts stream;
    for (const std::string& piece : texts) stream.push_back(said(piece));
    stream.push_back(kEnded);
    if (tokens != 0) stream.push_back(counted_usage(tokens));
    stream.push_back(kMarker);
    return answer_of(stream, kChat, {.keep_text = true});
}

std::vector<std::uint32_t> spread_tokens(const RequestRecord& record) {
    std::vector<std::uint32_t> tokens;
    for (const StreamEvent& event : record.events) tokens.push_back(event.tokens);
    return tokens;
}

Texts numbered(int from, int count) {
    Texts words;
    for (int i = from; i < from + count; ++i) words.push_back(fmt::format(" w{:03}", i));
    return words;
}
std::string joined(const Texts& words) {
    return std::accumulate(words.begin(), words.end(), std::string());
}

TEST(RepeatedText, is_not_told_by_lengths_alone) {
    const Texts answers[] = {
        {"W", "el", "l, ", "391 ", "is it", "! Any ", "further"},
        {"391 ", "is ", "it", ", ", "I ", "am", " sure", "enough of thistles!?"},
        {"a", "of", "391", "Well", "right", "answer"},
    };
    for (const Texts& answer : answers) EXPECT_EQ(answer_with(answer, 9).answer, joined(answer));
    Texts groups;
    for (int i = 0; i < 5; ++i) groups.push_back(joined(numbered(4 * i, 4)));
    groups.push_back(joined(numbered(20, 20)));
    const RequestRecord record = answer_with(groups, 40);
    EXPECT_THAT(spread_tokens(record), ElementsAre(4, 4, 4, 4, 4, 20))
        << "as long as all before, and other text";
}

TEST(RepeatedText, whose_pieces_have_as_many_tokens_as_the_usage_counts_is_none) {
    Texts growing;
    for (int i = 1; i <= 8; ++i)
        growing.push_back(joined(numbered(0, i)));  // each begins with the one before
    const RequestRecord record = answer_with(growing, 36);
    EXPECT_THAT(spread_tokens(record), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_EQ(record.answer, joined(growing));
    const RequestRecord so_far = answer_with(growing, 8);
    EXPECT_THAT(spread_tokens(so_far), Each(1U));
    EXPECT_EQ(so_far.answer, growing.back());
}

TEST(RepeatedText, is_found_behind_escapes) {
    Texts growing;
    std::string so_far;
    for (int i = 0; i < 8; ++i) {
        so_far += fmt::format("caf\\u00e9 \\u{:04x}\\n", 0x4e00 + i);
        growing.push_back(so_far);
    }
    EXPECT_THAT(spread_tokens(answer_with(growing, 32)), Each(4U));
}

TEST(RepeatedText, behind_an_end_is_left_out_only_if_it_repeats) {
    Texts stream;
    for (int i = 0; i < 20; ++i) stream.push_back(thought_piece(" hmm", i == 19 ? R"("stop")" : "null"));
    for (int i = 0; i < 20; ++i) stream.push_back(said(" word"));
    for (const std::string& end : {kEnded, counted_usage(20), kMarker}) stream.push_back(end);
    const RequestRecord record = answer_of(stream, kChat, {.keep_text = true});
    EXPECT_EQ(record.chunks, 40) << "the reason ended the reasoning alone";
    EXPECT_EQ(record.answer.size(), 20 * 5U);
    EXPECT_THAT(spread_tokens(record), Each(1U));
    Texts other;
    for (const std::string& word : numbered(0, 20)) other.push_back(said(word));
    other.push_back(kEnded);
    for (const std::string& word : numbered(50, 10)) other.push_back(said(word));
    for (const std::string& end : {kEnded, counted_usage(20), kMarker}) other.push_back(end);
    EXPECT_EQ(answer_of(other, kChat).chunks, 30);
}

TEST(Ends, that_output_follows_are_none) {
    for (const std::string reason : {R"("stop")", R"("null")", R"("None")"}) {
        Texts stream;
        for (int i = 0; i < 20; ++i) stream.push_back(said(" word", reason));
        EXPECT_EQ(answer_of(stream, kChat).outcome, Outcome::truncated) << reason;
        stream.push_back(kEnded);
        const RequestRecord whole = answer_of(stream, kChat);
        EXPECT_EQ(whole.outcome, Outcome::ok) << reason;
        EXPECT_EQ(whole.chunks, 20);
    }
    Texts thoughts{thought_piece(" hm", R"("stop")"), said(" a")};
    EXPECT_EQ(answer_of(thoughts, kChat).outcome, Outcome::truncated);
    Texts last{said(" a"), said(" b"), said(" c", R"("stop")")};
    EXPECT_EQ(answer_of(last, kChat).outcome, Outcome::ok) << "the last event may have text";
}

TEST(Ends, of_an_answer_stay_where_it_begins_again) {
    Texts stream;
    for (const std::string& word : numbered(0, 32)) stream.push_back(said(word));
    stream.push_back(kEnded);
    stream.push_back(counted_usage(32));
    for (const std::string& word : numbered(0, 7)) stream.push_back(said(word));
    const RequestRecord record = answer_of(stream, kChat);
    EXPECT_EQ(record.outcome, Outcome::ok) << record.error;
    EXPECT_EQ(record.chunks, 32);
    EXPECT_TRUE(record.uncounted_output);
}

TEST(Echo, of_the_prompt_has_no_tokens) {
    Texts stream;
    for (int i = 0; i < 20; ++i) {
        const std::string prompt = i == 0 ? joined(numbered(0, 200)) : "";
        stream.push_back(
            event_of(fmt::format(R"({{"choices":[{{"index":0,"text":"{} word word"}}]}})", prompt)));
    }
    stream.push_back(event_of(R"({"choices":[{"index":0,"text":"","finish_reason":"length"}]})"));
    stream.push_back(counted_usage(40));
    EXPECT_THAT(spread_tokens(answer_of(stream, kCompletions, {.echoes_prompt = true})), Each(2U));
    EXPECT_TRUE(BodyWriter({.extra_body = R"({"echo":true})"}).echoes_prompt());
    EXPECT_FALSE(BodyWriter({.extra_body = R"({"echo":false})"}).echoes_prompt());
}

}  // namespace
}  // namespace paretoken::protocol
