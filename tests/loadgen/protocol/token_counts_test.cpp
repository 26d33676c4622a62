#include "loadgen/protocol/token_counts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace paretoken::protocol {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// Events of the same kind, 10 ms apart.
struct Stream {
    std::size_t events = 0;
    std::uint32_t text_bytes = 5;             ///< of each event
    std::vector<std::uint32_t> counted = {};  ///< with each event; empty: none
    EventKind kind = EventKind::content;
    std::optional<int> sent_before_ms = {};  ///< time from the sending to the first event
    std::size_t thoughts = 0;                ///< number of first events that are reasoning
    std::uint8_t choices = 1;                ///< to which the events belong in turn
};

RequestRecord decided(const Stream& stream, StreamFacts facts, TokenUsage usage,
                      std::optional<std::int64_t> wanted = std::nullopt) {
    std::vector<Chunk> chunks(stream.events);
    RequestRecord record;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        chunks[i].time = TimePoint(std::chrono::milliseconds(10 * i));
        chunks[i].text_bytes = stream.text_bytes;
        chunks[i].kind = i < stream.thoughts ? EventKind::reasoning : stream.kind;
        chunks[i].choice = static_cast<std::uint8_t>(i % stream.choices);
        chunks[i].counted = stream.counted.empty() ? 0 : stream.counted[i];
        record.events.push_back({chunks[i].time, 1, stream.kind, false, true});
    }
    if (stream.sent_before_ms) record.sent = TimePoint(-std::chrono::milliseconds(*stream.sent_before_ms));
    record.usage = usage;
    record.wanted_output_tokens = wanted;
    facts.all_counted = !stream.counted.empty();
    decide_tokens(chunks, facts, record);
    return record;
}

std::vector<std::uint32_t> tokens_of(const RequestRecord& record) {
    std::vector<std::uint32_t> tokens;
    for (const StreamEvent& event : record.events) tokens.push_back(event.tokens);
    return tokens;
}

TokenUsage counting(std::int64_t completion, std::optional<std::int64_t> reasoning = std::nullopt) {
    return {.prompt = 20, .cached_prompt = {}, .completion = completion, .reasoning = reasoning};
}

TEST(TokenCounts, of_thoughts_that_were_not_streamed_are_not_those_of_the_first_event) {
    const RequestRecord record =
        decided({.events = 4, .text_bytes = 20, .counted = {104, 108, 112, 116}}, {}, counting(116, 100));
    EXPECT_THAT(tokens_of(record), ElementsAre(4, 4, 4, 4));
    EXPECT_EQ(record.usage.completion, 116) << "they are output nevertheless";
    EXPECT_TRUE(record.unseen_output);
    const RequestRecord streamed =
        decided({.events = 4, .text_bytes = 20, .counted = {4, 8, 12, 16}, .kind = EventKind::reasoning}, {},
                counting(16, 16));
    EXPECT_THAT(tokens_of(streamed), ElementsAre(4, 4, 4, 4));
    EXPECT_FALSE(streamed.unseen_output);
}

TEST(TokenCounts, that_the_text_is_unlikely_to_hold_are_output_that_was_not_shown) {
    const auto unseen = [](std::int64_t tokens) {
        return decided({.events = 10, .text_bytes = 5}, {}, counting(tokens)).unseen_output;
    };
    EXPECT_FALSE(unseen(10));
    EXPECT_FALSE(unseen(33)) << "1.5 bytes for each token";
    EXPECT_TRUE(unseen(34));
    EXPECT_TRUE(unseen(60));
    EXPECT_FALSE(decided({.events = 40, .text_bytes = 1}, {}, counting(40)).unseen_output) << "digits";
}

TEST(TokenCounts, of_reasoning_inside_the_text_are_shown_by_its_events) {
    const RequestRecord record = decided({.events = 132}, {}, counting(132, 100));
    EXPECT_THAT(tokens_of(record), Each(1U));
    EXPECT_FALSE(record.unseen_output);
    const RequestRecord hidden = decided({.events = 32}, {}, counting(132, 100));
    EXPECT_THAT(tokens_of(hidden), Each(1U));
    EXPECT_TRUE(hidden.unseen_output);
}

// 60 of 100 tokens are reasoning, and the text came in 64 events within 630 ms, or in 150 within 1490 ms.
TEST(TokenCounts, of_reasoning_are_hidden_where_the_time_before_the_text_was_long_enough) {
    for (const std::size_t events : {64U, 150U}) {
        const int needed = static_cast<int>(10 * (events - 1) * 60 / 39);
        const auto unseen_after = [&](std::optional<int> ms) {
            return decided({.events = events, .sent_before_ms = ms}, {}, counting(100, 60)).unseen_output;
        };
        EXPECT_TRUE(unseen_after(needed)) << events;
        EXPECT_FALSE(unseen_after(needed / 2)) << events << ": the reasoning is part of the text";
        EXPECT_TRUE(unseen_after(std::nullopt)) << "of other clients, this time may not be known";
    }
    EXPECT_FALSE(decided({.events = 100, .sent_before_ms = 9000}, {}, counting(100, 60)).unseen_output)
        << "an event for each token shows all of them";
    EXPECT_FALSE(decided({.events = 50, .text_bytes = 10, .sent_before_ms = 9000}, {}, counting(100, 100))
                     .unseen_output)
        << "an answer that its limit cut off within the reasoning";
}

TEST(TokenCounts, of_reasoning_are_hidden_behind_a_short_summary_of_it) {
    const auto unseen = [](std::int64_t reasoning) {
        const std::uint32_t bytes = 20;
        return decided({.events = 10, .text_bytes = bytes, .kind = EventKind::reasoning}, {},
                       counting(reasoning, reasoning))
            .unseen_output;
    };
    EXPECT_FALSE(unseen(40)) << "5 bytes for each token";
    EXPECT_TRUE(unseen(400));
}

TEST(TokenCounts, that_repeat_the_same_total_with_every_event_are_that_total) {
    const StreamFacts with_an_end{.empty_deltas = 1, .largest_count = 32, .first_alone = 32};
    const Stream repeating{.events = 8, .text_bytes = 40, .counted = std::vector<std::uint32_t>(8, 32)};
    const RequestRecord record = decided(repeating, with_an_end, counting(32));
    EXPECT_EQ(record.usage.completion, 32);
    EXPECT_THAT(tokens_of(record), Each(4U));
    // Without a count at the end, the length of the text or of what was asked for tells.
    EXPECT_EQ(decided({.events = 8, .text_bytes = 20, .counted = repeating.counted}, {}, counting(32))
                  .usage.completion,
              32);
    EXPECT_EQ(decided(repeating, {}, counting(32), 32).usage.completion, 32);
}

TEST(TokenCounts, of_each_event_by_itself_stay_their_sum) {
    const Stream four_each{.events = 8, .text_bytes = 20, .counted = std::vector<std::uint32_t>(8, 4)};
    EXPECT_EQ(decided(four_each, {.largest_count = 4}, counting(4), 32).usage.completion, 32);
    EXPECT_THAT(tokens_of(decided(four_each, {.largest_count = 4}, counting(4), 32)), Each(4U));
    const StreamFacts with_total{.empty_deltas = 1, .largest_count = 32, .first_alone = 32};
    EXPECT_THAT(tokens_of(decided(four_each, with_total, counting(32), 32)), Each(4U));
}

TEST(TokenCounts, below_the_number_of_events_do_not_replace_an_earlier_total) {
    const RequestRecord record =
        decided({.events = 32}, {.largest_count = 32, .first_alone = 32}, counting(16));
    EXPECT_EQ(record.usage.completion, 32);
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
    EXPECT_EQ(decided({.events = 32}, {.largest_count = 16}, counting(16)).usage.completion, 16);
    EXPECT_EQ(decided({.events = 8, .text_bytes = 20}, {.largest_count = 64}, counting(32)).usage.completion,
              32)
        << "the last count is possible";
    EXPECT_EQ(
        decided({.events = 32}, {.largest_count = 64, .first_alone = 32}, counting(64)).usage.completion, 32)
        << "the first total is the number of events, the second twice that";
    EXPECT_EQ(decided({.events = 1, .text_bytes = 160}, {.largest_count = 32, .first_alone = 1}, counting(32))
                  .usage.completion,
              32)
        << "one event proves nothing";
}

TEST(TokenCounts, of_as_many_empty_events_before_the_first_output_are_not_spread_over_the_text) {
    for (const std::size_t roles : {0, 1}) {
        const RequestRecord record =
            decided({.events = 16}, {.empty_deltas = 18, .empty_first = 16 + roles}, counting(32));
        EXPECT_THAT(tokens_of(record), Each(1U)) << roles;
        EXPECT_TRUE(record.unseen_output);
        EXPECT_EQ(record.usage.completion, 32);
    }
    const RequestRecord grouped =
        decided({.events = 8, .text_bytes = 20}, {.empty_deltas = 3, .empty_first = 1}, counting(32));
    EXPECT_THAT(tokens_of(grouped), Each(4U));
    EXPECT_FALSE(grouped.unseen_output) << "a role and the end explain no token";
}

TEST(TokenCounts, fewer_than_the_events_with_text_are_told) {
    const auto uncounted = [](const Stream& stream, std::int64_t tokens) {
        const RequestRecord record = decided(stream, {}, counting(tokens));
        EXPECT_EQ(record.usage.completion, tokens) << "the count may be right: events may be parts of tokens";
        return record.uncounted_output;
    };
    EXPECT_TRUE(uncounted({.events = 64}, 32)) << "an answer that comes twice";
    EXPECT_TRUE(uncounted({.events = 44}, 32)) << "one that is begun again after a failure";
    EXPECT_FALSE(uncounted({.events = 33}, 32));
    EXPECT_FALSE(uncounted({.events = 8, .text_bytes = 20}, 32));
    EXPECT_FALSE(uncounted({.events = 64, .kind = EventKind::tool_call}, 32))
        << "a call of a tool may have several events for a token";
}

TEST(TokenCounts, without_the_reasoning_of_the_stream_are_not_used) {
    const RequestRecord record = decided({.events = 64, .thoughts = 32}, {}, counting(32));
    EXPECT_EQ(record.token_source, TokenSource::disputed);
    EXPECT_EQ(record.usage.completion, std::nullopt);
    EXPECT_THAT(tokens_of(record), Each(1U));
    EXPECT_FALSE(record.uncounted_output);
    EXPECT_EQ(decided({.events = 64, .thoughts = 32}, {}, counting(64)).token_source,
              TokenSource::one_per_event);
    EXPECT_EQ(decided({.events = 16, .text_bytes = 20, .thoughts = 8}, {}, counting(64)).token_source,
              TokenSource::usage_by_text);
}

TEST(TokenCounts, below_what_any_text_has_are_not_used) {
    const RequestRecord record = decided({.events = 32}, {.largest_count = 1}, counting(1));
    EXPECT_EQ(record.token_source, TokenSource::disputed) << "160 bytes in a token";
    EXPECT_EQ(record.usage.completion, std::nullopt);
    EXPECT_EQ(decided({.events = 32, .text_bytes = 1}, {}, counting(8)).usage.completion, 8)
        << "letters, of which a token has four";
}

TEST(TokenCounts, of_all_choices_together_are_divided_among_their_events) {
    std::vector<std::uint32_t> counted(32);
    std::iota(counted.begin(), counted.end(), 1U);
    const StreamFacts with_total{.largest_count = 32, .first_alone = 32};
    const Stream together{.events = 32, .counted = counted, .choices = 2};
    EXPECT_THAT(tokens_of(decided(together, with_total, counting(32))), Each(1U));
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::uint32_t>(i / 2 + 1);
    const Stream apart{.events = 32, .counted = counted, .choices = 2};
    EXPECT_THAT(tokens_of(decided(apart, with_total, counting(32))), Each(1U));
}

// Counts that nearly agree with the number of events are one token per event, hence the tolerance.
TEST(TokenCounts, sum_up_to_the_usage_whatever_the_server_sends_along) {
    Random random(7);
    for (int round = 0; round < 2000; ++round) {
        const auto events = 1 + random.below(40);
        const auto each = 1 + random.below(6);
        const auto hidden = static_cast<std::int64_t>(random.below(3) == 0 ? random.below(50) : 0);
        Stream stream{.events = events, .text_bytes = static_cast<std::uint32_t>(5 * each)};
        const auto shown = static_cast<std::int64_t>(events * each);
        const bool along = random.below(2) == 0;
        for (std::size_t i = 1; along && i <= events; ++i)
            stream.counted.push_back(
                static_cast<std::uint32_t>(hidden + static_cast<std::int64_t>(i * each)));
        const RequestRecord record =
            decided(stream, {.largest_count = shown + hidden, .first_alone = along ? shown + hidden : 0},
                    counting(shown + hidden, hidden > 0 ? std::optional(hidden) : std::nullopt));
        const auto tokens = tokens_of(record);
        EXPECT_NEAR(std::accumulate(tokens.begin(), tokens.end(), 0.0), static_cast<double>(shown),
                    std::max(1.0, 0.02 * static_cast<double>(shown)))
            << events << " events of " << each << " tokens, " << hidden << " hidden, along: " << along;
        EXPECT_EQ(record.unseen_output, hidden > 0);
    }
}

}  // namespace
}  // namespace paretoken::protocol
