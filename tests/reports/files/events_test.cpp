#include "reports/files/events.h"

#include <gmock/gmock.h>

#include <boost/crc.hpp>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "tests/reports/temporary_directory.h"

namespace paretoken::reports {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const TimePoint kZero{std::chrono::hours(5000) + std::chrono::nanoseconds(123'456'789)};

std::vector<StreamEvent> steady_stream(std::size_t tokens, Duration gap, Duration jitter,
                                       std::uint64_t seed) {
    Random random(seed);
    std::vector<StreamEvent> events(tokens);
    TimePoint time = kZero + 5min;
    for (StreamEvent& event : events) {
        time +=
            gap +
            Duration(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(jitter.count()) + 1)));
        event.time = time;
    }
    return events;
}

/// Random events with any values that the type can hold.
std::vector<StreamEvent> any_events(std::uint64_t seed) {
    Random random(seed);
    std::vector<StreamEvent> events(random.below(50));
    for (StreamEvent& event : events) {
        event.time = TimePoint(Duration(static_cast<std::int64_t>(random() >> random.below(64))));
        event.tokens = static_cast<std::uint32_t>(random() >> (32 + random.below(32)));
        event.kind = static_cast<EventKind>(random.below(3));
        event.same_read = random.below(2) == 0;
        event.kernel_stamp = random.below(2) == 0;
        event.choice = static_cast<std::uint8_t>(seed % 2 == 0 ? 0 : random() >> 56);
    }
    return events;
}

RequestKey any_key(std::uint64_t seed) {
    Random random(seed + 1000);
    return {.index = random() >> random.below(64), .warmup = random.below(2) == 0};
}

TEST(Events, of_any_request_are_read_back_as_they_were) {
    std::string bytes;
    for (std::uint64_t seed = 0; seed < 500; ++seed)
        append_frame(bytes, any_key(seed), any_events(seed), kZero);
    std::string_view rest = bytes;
    Frame frame;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        const auto taken = decode_frame(rest, kZero, frame);
        ASSERT_TRUE(taken) << seed;
        rest.remove_prefix(*taken);
        EXPECT_EQ(frame.key, any_key(seed));
        EXPECT_EQ(frame.events, any_events(seed)) << seed;
    }
    EXPECT_TRUE(rest.empty());
}

TEST(Events, have_the_same_checksum_on_every_processor) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::string bytes;
        append_frame(bytes, any_key(seed), any_events(seed), kZero);
        boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc32c;
        crc32c.process_bytes(bytes.data() + 8, bytes.size() - 8);
        std::uint32_t stored = 0;
        std::memcpy(&stored, bytes.data() + 4, sizeof stored);
        EXPECT_EQ(stored, crc32c.checksum()) << seed;
    }
}

TEST(Events, of_extreme_times_are_read_back_as_they_were) {
    std::vector<StreamEvent> events(3);
    events[0].time = TimePoint::min();
    events[1].time = TimePoint::max();
    events[2].time = TimePoint::min();
    events[2].tokens = std::numeric_limits<std::uint32_t>::max();
    std::string bytes;
    append_frame(bytes, {}, events, kZero);
    Frame frame;
    ASSERT_TRUE(decode_frame(bytes, kZero, frame));
    EXPECT_EQ(frame.events, events);
}

TEST(Events, of_a_steady_stream_take_at_most_six_bytes_a_token) {
    for (const Duration gap : {Duration(200us), Duration(10ms), Duration(130ms), Duration(2s)}) {
        for (const std::size_t tokens : {32U, 64U, 1000U}) {
            std::string bytes;
            append_frame(bytes, {.index = 1'000'000'000}, steady_stream(tokens, gap, gap / 50, 1), kZero);
            EXPECT_LE(static_cast<double>(bytes.size()) / static_cast<double>(tokens), 6)
                << seconds(gap) << " s, " << tokens << " tokens";
        }
    }
    std::string bytes;
    append_frame(bytes, {}, steady_stream(1000, 10ms, 100us, 2), kZero);
    EXPECT_LT(bytes.size(), 4100U);
}

TEST(Events, of_a_frame_that_is_cut_off_are_not_read) {
    std::string bytes;
    append_frame(bytes, {.index = 3}, steady_stream(20, 10ms, 1ms, 1), kZero);
    Frame frame;
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_frame(std::string_view(bytes).substr(0, size), kZero, frame)) << size;
}

TEST(Events, of_a_frame_with_one_wrong_bit_are_not_read) {
    std::string bytes;
    append_frame(bytes, {.index = 3}, steady_stream(20, 10ms, 1ms, 1), kZero);
    Frame frame;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        std::string damaged = bytes;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(decode_frame(damaged, kZero, frame)) << bit;
    }
}

class EventsOnDisk : public testing::Test {
  protected:
    void write(std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }
    std::vector<RequestKey> keys_read() {
        file.for_each([this](const RequestKey& key, std::span<const StreamEvent> events) {
            keys.push_back(key);
            all_events.emplace_back(events.begin(), events.end());
        });
        return keys;
    }

    const TemporaryDirectory directory;
    const std::filesystem::path path = directory.path() / "events.bin";
    EventsFile file{path, kZero};
    std::vector<RequestKey> keys;
    std::vector<std::vector<StreamEvent>> all_events;
};

TEST_F(EventsOnDisk, are_read_in_pieces_and_in_order) {
    std::string bytes = events_header(kZero);
    std::vector<std::vector<StreamEvent>> written;
    for (std::uint64_t i = 0; i < 40; ++i) {  // more than 4 MB in total
        written.push_back(steady_stream(i == 7 ? 500'000 : 20'000, 10ms, 5ms, i));
        append_frame(bytes, {.index = i}, written.back(), kZero);
    }
    write(bytes);
    EXPECT_EQ(keys_read().size(), 40U);
    EXPECT_EQ(keys[39], (RequestKey{.index = 39}));
    EXPECT_EQ(all_events, written);
    EXPECT_EQ(file.extent().frames, 40U);
    EXPECT_EQ(file.extent().unread_bytes, 0U);
}

TEST_F(EventsOnDisk, are_read_up_to_the_damage) {
    std::string bytes = events_header(kZero);
    std::vector<std::size_t> ends{bytes.size()};
    for (std::uint64_t i = 0; i < 5; ++i) {
        append_frame(bytes, {.index = i}, steady_stream(30, 10ms, 1ms, i), kZero);
        ends.push_back(bytes.size());
    }
    for (std::size_t size = 0; size < bytes.size(); size += 7) {
        write(std::string_view(bytes).substr(0, size));
        keys.clear();
        const auto whole =
            std::count_if(ends.begin() + 1, ends.end(), [size](std::size_t end) { return end <= size; });
        EXPECT_EQ(keys_read().size(), static_cast<std::size_t>(whole)) << size;
    }
    std::string damaged = bytes;
    damaged.replace(ends[2], 4, "\xff\xff\xff\xff");  // a length beyond the end of the file
    write(damaged);
    keys.clear();
    EXPECT_EQ(keys_read().size(), 2U);
    EXPECT_EQ(file.extent().unread_bytes, bytes.size() - ends[2]);
}

TEST_F(EventsOnDisk, that_are_missing_or_empty_are_none) {
    EXPECT_TRUE(keys_read().empty());
    write("");
    EXPECT_TRUE(keys_read().empty());
}

TEST_F(EventsOnDisk, of_another_version_are_refused_by_name) {
    std::string bytes = events_header(kZero);
    bytes[kEventsSchema.size() - 1] = '2';
    write(bytes);
    try {
        keys_read();
        FAIL() << "the file was read";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("events.bin"));
        EXPECT_THAT(error.what(), HasSubstr("paretoken/events/1"));
    }
}

TEST_F(EventsOnDisk, tell_the_zero_of_their_times) {
    EXPECT_EQ(zero_of_events(events_header(kZero), "x"), kZero);
    EXPECT_FALSE(zero_of_events(events_header(kZero).substr(0, 31), "x"));
}

}  // namespace
}  // namespace paretoken::reports
