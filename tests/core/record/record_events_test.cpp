#include "core/record/record_events.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kScheduled{std::chrono::hours(20)};

std::vector<StreamEvent> random_events(std::uint64_t seed) {
    Random random(seed);
    std::vector<StreamEvent> events(random.below(40));
    TimePoint time = kScheduled;
    for (StreamEvent& event : events) {
        event.same_read = &event != &events.front() && random.below(3) == 0;
        if (!event.same_read) time += Duration(static_cast<std::int64_t>(random.below(50'000'000)));
        event.time = time;
        event.tokens = static_cast<std::uint32_t>(random.below(5));
        event.kind = static_cast<EventKind>(random.below(3));
    }
    return events;
}

RequestRecord with(std::vector<StreamEvent> events) {
    RequestRecord record;
    record.events = std::move(events);
    derive_from_events(record);
    return record;
}

TEST(RecordEvents, of_the_worked_example_give_its_scalars) {
    const auto record = with({{.time = kScheduled + 100ms, .tokens = 1, .kind = EventKind::reasoning},
                              {.time = kScheduled + 140ms, .tokens = 4},
                              {.time = kScheduled + 140ms, .tokens = 2, .same_read = true},
                              {.time = kScheduled + 170ms, .tokens = 3, .kind = EventKind::tool_call}});
    EXPECT_EQ(record.chunks, 4);
    EXPECT_EQ(record.grouped_chunks, 1);
    EXPECT_EQ(record.streamed_tokens, 10);
    EXPECT_EQ(record.first_group_tokens, 1);
    EXPECT_EQ(record.first_event, kScheduled + 100ms);
    EXPECT_EQ(record.first_answer, kScheduled + 140ms);
    EXPECT_EQ(record.last_event, kScheduled + 170ms);
    EXPECT_EQ(record.longest_gap, 40ms);
}

TEST(RecordEvents, that_share_the_first_read_are_the_first_group) {
    const auto record = with({{.time = kScheduled, .tokens = 2},
                              {.time = kScheduled, .tokens = 3, .same_read = true},
                              {.time = kScheduled + 1ms, .tokens = 5}});
    EXPECT_EQ(record.first_group_tokens, 5);
    EXPECT_EQ(record.longest_gap, 1ms);
}

TEST(RecordEvents, of_several_choices_are_decoded_side_by_side) {
    const auto record = with({{.time = kScheduled},
                              {.time = kScheduled, .same_read = true, .choice = 1},
                              {.time = kScheduled + 10ms, .tokens = 2, .choice = 1},
                              {.time = kScheduled + 12ms, .tokens = 3}});
    EXPECT_EQ(record.first_group_tokens, 2);
    EXPECT_EQ(record.decoding, 22ms);
    EXPECT_EQ(record.grouped_chunks, 0) << "each read has one event of a choice";
    EXPECT_FALSE(with({{.time = kScheduled}, {.time = kScheduled + 10ms}}).decoding);
}

TEST(RecordEvents, of_one_read_have_no_gap_and_one_that_goes_back_ends_a_gap_of_zero) {
    EXPECT_FALSE(with({{.time = kScheduled}, {.time = kScheduled, .same_read = true}}).longest_gap);
    EXPECT_EQ(with({{.time = kScheduled + 1ms}, {.time = kScheduled}}).longest_gap, Duration{});
}

TEST(RecordEvents, that_are_missing_leave_nothing_of_an_answer_before) {
    RequestRecord record = with(random_events(3));
    ASSERT_GT(record.chunks, 0);
    record.events.clear();
    derive_from_events(record);
    EXPECT_EQ(record, RequestRecord{});
}

TEST(RecordEvents, give_totals_and_extremes_of_any_events) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const auto record = with(random_events(seed));
        const auto& events = record.events;
        std::int64_t tokens = 0;
        Duration gaps{};
        for (std::size_t i = 0; i < events.size(); ++i) {
            tokens += events[i].tokens;
            if (i > 0) gaps = std::max(gaps, events[i].time - events[i - 1].time);
        }
        EXPECT_EQ(record.chunks, static_cast<std::int64_t>(events.size()));
        EXPECT_EQ(record.streamed_tokens, tokens);
        EXPECT_LE(record.first_group_tokens, tokens);
        EXPECT_EQ(record.grouped_chunks, std::count_if(events.begin(), events.end(),
                                                       [](const auto& event) { return event.same_read; }));
        EXPECT_EQ(record.longest_gap.value_or(Duration{}), gaps);
        EXPECT_EQ(record.first_event.has_value(), !events.empty());
        EXPECT_TRUE(!record.first_answer || record.first_event <= record.first_answer);
        EXPECT_TRUE(!record.last_event || record.first_event <= record.last_event);
    }
}

TEST(RecordEvents, give_the_same_when_the_events_of_a_read_are_made_one) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const auto record = with(random_events(seed));
        std::vector<StreamEvent> merged;
        for (const StreamEvent& event : record.events) {
            if (event.same_read) {
                merged.back().tokens += event.tokens;
            } else {
                merged.push_back(event);
            }
        }
        const auto same = with(merged);
        EXPECT_EQ(same.streamed_tokens, record.streamed_tokens);
        EXPECT_EQ(same.first_group_tokens, record.first_group_tokens);
        EXPECT_EQ(same.longest_gap, record.longest_gap);
        EXPECT_EQ(same.chunks, record.chunks - record.grouped_chunks);
    }
}

}  // namespace
}  // namespace paretoken
