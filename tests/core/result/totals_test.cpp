#include "core/result/totals.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

std::vector<double> output_by_bin(const TotalsTimeline& timeline) {
    std::vector<double> tokens;
    for (const Totals& bin : timeline.bins()) tokens.push_back(bin.output_tokens);
    return tokens;
}

TEST(Totals, of_any_division_of_time_add_up_to_the_same) {
    auto records = script::closed_loop(4, 120, {});
    for (std::size_t i = 0; i < records.size(); i += 3) records[i].events.clear();
    const TimeSpan span{kStart - 1s, kStart + 3500ms};
    const auto total_of = [&](std::size_t bins) {
        TotalsTimeline timeline(span, bins);
        for (const auto& record : records) timeline.add(record, Judgement::good);
        return timeline.total();
    };
    const Totals one = total_of(1);
    EXPECT_GT(one.requests, 0);
    for (const std::size_t bins : {3U, 7U, 100U}) {
        const Totals many = total_of(bins);
        EXPECT_DOUBLE_EQ(many.seconds, 4.5);
        EXPECT_NEAR(many.output_tokens, one.output_tokens, 1e-6);
        EXPECT_NEAR(many.time_in_system_s, one.time_in_system_s, 1e-6);
        EXPECT_NEAR(many.decoded_context_tokens, one.decoded_context_tokens, 1e-3);
        EXPECT_NEAR(many.fresh_input_tokens, one.fresh_input_tokens, 1e-6);
        EXPECT_NEAR(many.requests, one.requests, 1e-9);
        EXPECT_NEAR(many.judged_good, one.judged_good, 1e-9);
        for (std::size_t i = 0; i < kWindows.size(); ++i)
            EXPECT_NEAR(many.decoded_context_within.within[i], one.decoded_context_within.within[i], 1e-3);
    }
}

TEST(Totals, of_unequal_parts_of_time_add_up_to_the_same_too) {
    auto records = script::closed_loop(4, 120, {});
    for (std::size_t i = 0; i < records.size(); i += 3) records[i].events.clear();
    const TimePoint begin = kStart - 1s;
    TotalsTimeline one({begin, kStart + 3500ms}, 1);
    TotalsTimeline many({begin, begin + 1200ms, begin + 1200ms, kStart + 2s, kStart + 3500ms});
    TotalsTimeline middle({begin + 1200ms, kStart + 2s}, 1);
    for (const auto& record : records) {
        one.add(record, Judgement::good);
        many.add(record, Judgement::good);
        middle.add(record, Judgement::good);
    }
    ASSERT_EQ(many.bins().size(), 4U);
    EXPECT_DOUBLE_EQ(many.total().seconds, 4.5);
    EXPECT_NEAR(many.total().output_tokens, one.total().output_tokens, 1e-6);
    EXPECT_NEAR(many.total().time_in_system_s, one.total().time_in_system_s, 1e-6);
    EXPECT_EQ(many.bins()[1], Totals{}) << "a part without length";
    const Totals& third = many.bins()[2];
    EXPECT_DOUBLE_EQ(third.seconds, 1.8);
    EXPECT_NEAR(third.output_tokens, middle.total().output_tokens, 1e-6);
    EXPECT_NEAR(third.time_in_system_s, middle.total().time_in_system_s, 1e-6);
    EXPECT_EQ(third.judged_good, middle.total().judged_good);
}

TEST(Totals, credit_output_tokens_at_the_time_of_their_events) {
    TotalsTimeline timeline({kStart, kStart + 5s}, 5);
    timeline.add(script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 4}));
    EXPECT_EQ(output_by_bin(timeline), (std::vector<double>{0, 1, 1, 1, 1}));
}

TEST(Totals, do_not_depend_on_the_order_of_a_requests_events) {
    RequestRecord record = script::answered(kStart - 2s, {.ttft = 1s, .gap = 250ms, .tokens = 40});
    TotalsTimeline ordered({kStart, kStart + 5s}, 5);
    ordered.add(record);
    std::reverse(record.events.begin(), record.events.end());
    TotalsTimeline reversed({kStart, kStart + 5s}, 5);
    reversed.add(record);
    EXPECT_EQ(output_by_bin(ordered), (std::vector<double>{4, 4, 4, 4, 4}));
    EXPECT_EQ(output_by_bin(reversed), output_by_bin(ordered));
}

TEST(Totals, spread_output_tokens_without_events_between_the_first_and_the_last) {
    auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 4});
    record.events.clear();
    TotalsTimeline timeline({kStart, kStart + 5s}, 5);
    timeline.add(record);
    const auto tokens = output_by_bin(timeline);
    EXPECT_NEAR(tokens[0], 0, 1e-9);
    EXPECT_NEAR(tokens[1], 2, 1e-9);  // the first arrival, and one of the three that follow
    EXPECT_NEAR(tokens[3], 1, 1e-9);
    EXPECT_NEAR(timeline.total().output_tokens, 4, 1e-9);
}

TEST(Totals, credit_an_answer_in_one_piece_at_its_end) {
    auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 4});
    record.first_event = record.first_answer = std::nullopt;  // as of a server that does not stream
    record.events.clear();
    record.streamed_tokens = record.first_group_tokens = 0;
    TotalsTimeline timeline({kStart, kStart + 5s}, 5);
    timeline.add(record);
    EXPECT_EQ(output_by_bin(timeline), (std::vector<double>{0, 0, 0, 0, 4}));
    EXPECT_EQ(timeline.bins()[4].fresh_input_tokens, 100);
    record.outcome = Outcome::abandoned;
    TotalsTimeline given_up({kStart, kStart + 5s}, 5);
    given_up.add(record);
    EXPECT_EQ(given_up.total().output_tokens, 0);
}

TEST(Totals, hold_the_output_tokens_that_usage_counts) {
    auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 4});
    record.usage.completion = 6;
    for (const bool keeps_events : {true, false}) {
        if (!keeps_events) record.events.clear();
        TotalsTimeline timeline({kStart, kStart + 5s}, 1);
        timeline.add(record);
        EXPECT_NEAR(timeline.total().output_tokens, 6, 1e-9);
    }
}

TEST(Totals, decode_every_token_but_the_one_that_the_prompt_brings) {
    for (const bool keeps_events : {true, false}) {
        auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 5});
        record.usage.prompt = 100;
        record.usage.cached_prompt = 30;
        if (!keeps_events) record.events.clear();
        TotalsTimeline timeline({kStart, kStart + 9s}, 3);
        timeline.add(record);
        const Totals totals = timeline.total();
        EXPECT_NEAR(totals.decoded_tokens, 4, 1e-9);
        EXPECT_NEAR(totals.decoded_context_tokens, 101 + 102 + 103 + 104, 1e-6);
        EXPECT_NEAR(totals.prefill_pairs, 70 * 30 + 70 * 70 / 2.0, 1e-9);
        EXPECT_EQ(totals.known_cached, 1);
    }
}

TEST(Totals, count_no_more_context_than_each_window) {
    for (const bool keeps_events : {true, false}) {
        auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 5});
        record.usage.prompt = 126;
        record.usage.cached_prompt = 30;
        if (!keeps_events) record.events.clear();
        TotalsTimeline timeline({kStart, kStart + 9s}, 3);
        timeline.add(record);
        const Totals totals = timeline.total();
        EXPECT_NEAR(within_window(totals.decoded_context_within, 128), 127 + 128 * 3, 1e-6);
        EXPECT_NEAR(within_window(totals.decoded_context_within, 256), totals.decoded_context_tokens, 1e-6);
        EXPECT_NEAR(totals.decoded_cached_tokens, 4 * 30, 1e-9);
        EXPECT_NEAR(within_window(totals.prefill_pairs_within, 256), totals.prefill_pairs, 1e-6);
    }
    const double pairs = 28 * 100 + 28 * 28 / 2.0 + 72 * 128;  // 100 fresh tokens after 100 cached ones
    EXPECT_NEAR(within_window(work_of_request(100, 100, 1).prefill_pairs_within, 128), pairs, 1e-6);
}

TEST(Totals, of_a_window_between_two_that_were_summed_are_never_above_the_true_sum) {
    for (const double prompt : {10.0, 300.0, 5000.0, 400000.0}) {
        const Totals work = work_of_request(prompt, 0, 201);
        for (const double window : {1.0, 100.0, 128.0, 200.0, 700.0, 4096.0, 131072.0, 300000.0}) {
            double sum = 0;
            for (int token = 1; token <= 200; ++token) sum += std::min(window, prompt + token);
            EXPECT_LE(within_window(work.decoded_context_within, window), sum * (1 + 1e-12));
            EXPECT_GE(within_window(work.decoded_context_within, window), 0.4 * sum);
        }
    }
}

TEST(Totals, of_a_request_served_whole_are_those_of_its_record) {
    auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 5});
    record.usage.prompt = 126;
    record.usage.cached_prompt = 30;
    TotalsTimeline timeline({kStart, kStart + 9s}, 1);
    timeline.add(record);
    Totals expected = work_of_request(96, 30, 5);
    expected.seconds = 9;
    expected.time_in_system_s = timeline.total().time_in_system_s;
    EXPECT_EQ(timeline.total(), expected);
}

TEST(Totals, keep_the_time_of_failures_and_none_of_their_tokens) {
    auto record = script::answered(kStart, {.ttft = 100ms, .gap = 10ms, .tokens = 11});
    record.outcome = Outcome::truncated;
    TotalsTimeline timeline({kStart, kStart + 1s}, 1);
    timeline.add(record, Judgement::bad);
    const Totals totals = timeline.total();
    EXPECT_NEAR(totals.time_in_system_s, 0.2, 1e-9);
    EXPECT_EQ(totals.output_tokens, 0);
    EXPECT_EQ(totals.requests, 0);
    EXPECT_EQ(totals.judged, 1);
    EXPECT_EQ(totals.judged_good, 0);
}

}  // namespace
}  // namespace paretoken
