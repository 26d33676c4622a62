#include "loadgen/protocol/token_counts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "loadgen/protocol/repeated_text.h"

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

/// `prompt_left_out`: whether counts that include the prompt are corrected before.
RequestRecord decided(const Stream& stream, StreamFacts facts, TokenUsage usage,
                      std::optional<std::int64_t> wanted = std::nullopt, bool* prompt_left_out = nullptr) {
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
    if (prompt_left_out != nullptr) *prompt_left_out = leave_out_prompt(chunks, facts, record);
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

TEST(TokenCounts, that_include_the_prompt_are_corrected) {
    const auto completion = [](const Stream& stream, std::int64_t counted, std::optional<std::int64_t> total,
                               std::optional<std::int64_t> wanted) {
        bool left_out = false;
        const RequestRecord record =
            decided(stream, {.largest_count = counted, .total = total}, counting(counted), wanted, &left_out);
        EXPECT_EQ(left_out, record.usage.completion != counted);
        return record.usage.completion.value_or(0);
    };
    // The prompt has 20 tokens. The total, the limit of the request and the number of events contradict.
    EXPECT_EQ(completion({.events = 32}, 52, 52, 32), 32);
    EXPECT_EQ(completion({.events = 32}, 52, 52, std::nullopt), 32);
    EXPECT_EQ(completion({.events = 32}, 52, 72, 32), 32) << "the total counts the prompt twice";
    EXPECT_EQ(completion({.events = 8, .text_bytes = 20}, 52, 52, 32), 32) << "four tokens in an event";
    EXPECT_EQ(completion({.events = 8, .text_bytes = 20}, 52, 72, 32), 32);
    // Counts that may be right stay.
    EXPECT_EQ(completion({.events = 52}, 52, 52, 64), 52) << "a total that leaves out the prompt";
    EXPECT_EQ(completion({.events = 32, .text_bytes = 10}, 52, 72, 64), 52) << "it is as many by chance";
    EXPECT_EQ(completion({.events = 8, .text_bytes = 20}, 40, 60, 32), 40) << "more than were asked for";
    EXPECT_EQ(completion({.events = 4, .text_bytes = 40}, 24, 24, 64), 24) << "few events prove nothing";
    bool left_out = false;
    decided({.events = 32}, {.total = 72}, counting(52, 20), 32, &left_out);
    EXPECT_FALSE(left_out) << "20 tokens of reasoning, which the limit does not bind";
}

TEST(TokenCounts, that_include_the_prompt_in_every_event_are_corrected) {
    std::vector<std::uint32_t> counted(8);
    for (std::size_t i = 0; i < counted.size(); ++i)
        counted[i] = static_cast<std::uint32_t>(20 + 4 * (i + 1));
    bool left_out = false;
    const RequestRecord record =
        decided({.events = 8, .text_bytes = 20, .counted = counted},
                {.largest_count = 52, .total = 52, .first_alone = 20}, counting(52), 32, &left_out);
    EXPECT_TRUE(left_out);
    EXPECT_EQ(record.usage.completion, 32);
    EXPECT_THAT(tokens_of(record), Each(4U));
}

// Whatever a right server sends, no prompt is taken from its count.
TEST(TokenCounts, that_are_right_include_no_prompt) {
    Random random(11);
    for (int round = 0; round < 20000; ++round) {
        const std::size_t events = 1 + random.below(200);
        const auto tokens = static_cast<std::int64_t>(events * (1 + random.below(3)));
        const auto prompt = static_cast<std::int64_t>(1 + random.below(300));
        const auto limit = tokens + static_cast<std::int64_t>(random.below(2) * random.below(100));
        bool left_out = false;
        TokenUsage usage = counting(tokens);
        usage.prompt = prompt;
        decided({.events = events, .text_bytes = 12}, {.largest_count = tokens, .total = prompt + tokens},
                usage, random.below(4) == 0 ? std::nullopt : std::optional(limit), &left_out);
        ASSERT_FALSE(left_out) << tokens << " tokens in " << events << " events, prompt of " << prompt;
    }
}

TEST(TokenCounts, of_an_answer_that_had_ended_do_not_count_what_follows) {
    const auto goes_on = [](std::size_t before, std::size_t after, std::int64_t tokens, std::string reason,
                            std::int64_t wanted) {
        std::vector<Chunk> chunks(before + after);
        for (std::size_t i = 0; i < chunks.size(); ++i)
            chunks[i].text_bytes = 3 + static_cast<std::uint32_t>(i < before ? i : i - before) % 5;
        RequestRecord record;
        record.usage.completion = tokens;
        record.finish_reason = std::move(reason);
        record.wanted_output_tokens = wanted;
        return events_before_repeat(chunks, {.until_end = before}, record) == before && after > 0;
    };
    EXPECT_TRUE(goes_on(32, 32, 32, "stop", 64));
    EXPECT_TRUE(goes_on(32, 7, 32, "length", 32));
    EXPECT_FALSE(goes_on(32, 0, 32, "length", 32));
    EXPECT_FALSE(goes_on(32, 32, 64, "length", 32)) << "the usage counts both";
    EXPECT_FALSE(goes_on(1, 31, 32, "stop", 32)) << "a server that states a reason with every event";
    EXPECT_TRUE(goes_on(8, 8, 32, "length", 32)) << "four tokens in an event, which come again one by one";
    EXPECT_FALSE(goes_on(8, 8, 32, "stop", 64)) << "both may be counted";
    EXPECT_FALSE(goes_on(8, 9, 32, "length", 32)) << "other text";
    EXPECT_TRUE(goes_on(12, 12, 18, "stop", 64)) << "the text of both is too long for the tokens";
}

TEST(TokenCounts, of_a_text_that_comes_twice_before_its_end_are_those_of_the_first) {
    const auto kept = [](std::uint32_t sizes, std::int64_t tokens, std::string reason, std::size_t events) {
        std::vector<Chunk> chunks(events);
        for (std::size_t i = 0; i < events; ++i)
            chunks[i].text_bytes = 12 + static_cast<std::uint32_t>(i % (events / 2)) % sizes;
        RequestRecord record;
        record.usage.completion = tokens;
        record.finish_reason = std::move(reason);
        return events_before_repeat(chunks, {.until_end = events}, record);
    };
    EXPECT_EQ(kept(5, 24, "stop", 16), 8U);
    EXPECT_EQ(kept(5, 48, "stop", 16), 16U) << "the usage counts both";
    EXPECT_EQ(kept(5, 24, "length", 16), 16U) << "a model that repeats itself";
    EXPECT_EQ(kept(2, 24, "stop", 16), 16U) << "events of equal length show nothing";
    EXPECT_EQ(kept(5, 24, "stop", 15), 15U);
}

TEST(TokenCounts, above_the_limit_that_ended_the_answer_are_those_of_the_events_or_the_limit) {
    const auto limited = [](std::size_t events, std::int64_t tokens, std::string reason) {
        std::vector<Chunk> chunks(events);
        RequestRecord record;
        for (Chunk& chunk : chunks) {
            chunk.text_bytes = 10;
            record.events.emplace_back();
        }
        record.usage.completion = tokens;
        record.wanted_output_tokens = 24;
        record.finish_reason = std::move(reason);
        decide_tokens(chunks, {}, record);
        return record;
    };
    for (const std::size_t events : {24U, 12U}) {  // a failed attempt is counted, too; drafts are
        const RequestRecord record = limited(events, 60, "length");
        EXPECT_EQ(record.token_source, TokenSource::disputed);
        EXPECT_EQ(record.usage.completion, 24);
        EXPECT_THAT(tokens_of(record), Each(24U / events));
    }
    EXPECT_EQ(limited(12, 60, "stop").usage.completion, 60) << "the server does not know the limit";
    EXPECT_EQ(limited(60, 60, "length").usage.completion, 60);
    const RequestRecord stopped = limited(24, 33, "stop");
    EXPECT_EQ(stopped.usage.completion, 24) << "no reason lets a server exceed the limit";
    EXPECT_EQ(stopped.token_source, TokenSource::disputed);
}

TEST(TokenCounts, below_the_limit_that_ended_the_answer_are_those_of_the_events) {
    const auto counted = [](std::string reason) {
        std::vector<Chunk> chunks(24, Chunk{.time = {}, .text_bytes = 5});
        RequestRecord record;
        record.events.resize(24);
        record.usage.completion = 19;
        record.wanted_output_tokens = 24;
        record.finish_reason = std::move(reason);
        decide_tokens(chunks, {}, record);
        return record;
    };
    EXPECT_EQ(counted("length").usage.completion, 24) << "a gateway counts with a tokenizer of its own";
    EXPECT_EQ(counted("length").token_source, TokenSource::disputed);
    EXPECT_EQ(counted("stop").usage.completion, 19);
}

TEST(TokenCounts, that_have_the_reasoning_twice_lose_it_once) {
    const RequestRecord twice =
        decided({.events = 24, .thoughts = 16}, {.largest_count = 40}, counting(40, 16));
    EXPECT_EQ(twice.token_source, TokenSource::one_per_event);
    EXPECT_EQ(twice.usage.completion, 24);
    EXPECT_EQ(
        decided({.events = 40, .thoughts = 16}, {.largest_count = 40}, counting(40, 16)).usage.completion,
        40);
}

/// Chunks with reasoning and then with text of the answer, each of the same number of bytes.
std::vector<Chunk> thoughts_and_answer(std::size_t thoughts, std::size_t answers, std::uint32_t bytes = 5) {
    std::vector<Chunk> chunks(thoughts + answers);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        chunks[i].text_bytes = bytes;
        chunks[i].kind = i < thoughts ? EventKind::reasoning : EventKind::content;
    }
    return chunks;
}

TEST(TokenCounts, of_reasoning_past_the_output_are_a_part_of_it_where_the_total_or_the_text_shows_this) {
    struct Case {
        std::vector<Chunk> chunks;
        std::int64_t reasoning;
        std::optional<std::int64_t> total;
    };
    const Case cases[] = {
        {thoughts_and_answer(8, 0, 15), 25, 44}, {thoughts_and_answer(8, 0, 15), 25, std::nullopt},
        {thoughts_and_answer(7, 1, 15), 25, 44}, {thoughts_and_answer(7, 1, 15), 30, std::nullopt},
        {thoughts_and_answer(10, 14), 29, 44},   {thoughts_and_answer(10, 14), 29, std::nullopt},
        {thoughts_and_answer(4, 4, 15), 90, 44}, {thoughts_and_answer(0, 24), 25, std::nullopt},
    };
    for (const auto& [chunks, reasoning, total] : cases) {
        TokenUsage usage = counting(24, reasoning);
        EXPECT_TRUE(settle_reasoning(chunks, {.total = total}, usage)) << reasoning << " " << chunks.size();
        EXPECT_EQ(usage, counting(24, 24)) << reasoning << " " << chunks.size();
    }
}

TEST(TokenCounts, of_reasoning_past_the_output_are_added_where_the_answer_alone_has_the_output) {
    for (const auto& chunks :
         {thoughts_and_answer(25, 24), thoughts_and_answer(0, 24), thoughts_and_answer(20, 6, 20)}) {
        TokenUsage usage = counting(24, 80);
        EXPECT_TRUE(settle_reasoning(chunks, {}, usage)) << chunks.size();
        EXPECT_EQ(usage, counting(104, 80)) << chunks.size();
    }
}

TEST(TokenCounts, of_reasoning_past_the_output_are_an_estimate_where_nothing_tells) {
    TokenUsage many = counting(24, 80);
    EXPECT_FALSE(settle_reasoning(thoughts_and_answer(8, 0, 15), {.total = 50}, many));
    EXPECT_EQ(many, counting(24, 24));
    TokenUsage few = counting(24, 27);
    EXPECT_FALSE(settle_reasoning(thoughts_and_answer(4, 4, 15), {}, few)) << "both are possible";
    EXPECT_EQ(few, counting(24, 24));
}

TEST(TokenCounts, of_a_prompt_that_grows_with_the_events_are_the_first) {
    TokenUsage usage;
    usage.prompt = 768;
    leave_out_summed_prompts({.first_prompt = 32, .prompt_growths = 23}, usage);
    EXPECT_EQ(usage.prompt, 32);
    usage.prompt = 40;
    leave_out_summed_prompts({.first_prompt = 8, .prompt_growths = 1}, usage);
    EXPECT_EQ(usage.prompt, 40) << "the first count may leave out cached tokens";
}

TEST(TokenCounts, that_sum_up_running_totals_are_not_used) {
    std::vector<std::uint32_t> counted(32);
    for (std::uint32_t i = 0; i < counted.size(); ++i) counted[i] = (i + 1) * (i + 2) / 2;
    const RequestRecord record = decided({.events = 32, .counted = counted},
                                         {.largest_count = 528, .first_alone = 528}, counting(528), 32);
    EXPECT_EQ(record.token_source, TokenSource::disputed);
    EXPECT_THAT(tokens_of(record), Each(1U));
}

TEST(TokenCounts, of_one_of_several_choices_are_those_of_each) {
    const RequestRecord record = decided({.events = 64, .choices = 2}, {}, counting(32));
    EXPECT_EQ(record.token_source, TokenSource::disputed);
    EXPECT_EQ(record.usage.completion, 64);
    EXPECT_THAT(tokens_of(record), Each(1U));
    EXPECT_EQ(decided({.events = 64, .choices = 2}, {}, counting(64)).token_source,
              TokenSource::one_per_event);
}

TEST(TokenCounts, of_the_bytes_of_the_text_are_not_used) {
    const RequestRecord record = decided({.events = 32}, {.largest_count = 160}, counting(160), 32);
    EXPECT_EQ(record.token_source, TokenSource::disputed);
    EXPECT_THAT(tokens_of(record), Each(1U));
    const RequestRecord digits = decided({.events = 8, .text_bytes = 4}, {}, counting(32), 32);
    EXPECT_EQ(digits.token_source, TokenSource::usage_by_text) << "digits, of which each is a token";
}

TEST(TokenCounts, of_ids_are_not_used_where_the_usage_contradicts) {
    const auto with_ids = [](std::size_t events, const auto& ids, std::optional<std::int64_t> completion) {
        std::vector<Chunk> chunks(events);
        RequestRecord record;
        for (std::size_t i = 0; i < events; ++i) {
            chunks[i].text_bytes = 20;
            chunks[i].token_ids = ids(i);
            record.events.emplace_back();
        }
        record.usage.completion = completion;
        decide_tokens(chunks, {}, record);
        return record;
    };
    const auto so_far = [](std::size_t i) { return static_cast<std::uint32_t>(i + 1); };
    const auto first_only = [](std::size_t) { return 1U; };
    const auto four = [](std::size_t) { return 4U; };
    EXPECT_EQ(with_ids(32, so_far, 32).token_source, TokenSource::one_per_event);
    EXPECT_THAT(tokens_of(with_ids(8, first_only, 32)), Each(4U)) << "a log probability of the first token";
    EXPECT_EQ(with_ids(8, four, 32).token_source, TokenSource::token_ids);
    EXPECT_EQ(with_ids(8, four, std::nullopt).token_source, TokenSource::token_ids);
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
