#include "tests/virtual_gpu/runtime/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paretoken::virtual_gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StreamsTest : public ::testing::Test {
  protected:
    Task task(std::string name, double seconds = 1) {
        return [this, name = std::move(name), seconds](double begin_s) {
            done.push_back(name);
            begun.push_back(begin_s);
            return seconds;
        };
    }

    Streams streams{true};
    std::vector<std::string> done;
    std::vector<double> begun;
};

TEST_F(StreamsTest, work_waits_until_its_stream_is_waited_for) {
    const StreamNumber a = streams.create(false);
    const StreamNumber b = streams.create(false);
    const Place place = streams.enqueue(a, task("a"));
    streams.enqueue(b, task("b"));
    EXPECT_THAT(done, IsEmpty());
    EXPECT_FALSE(streams.is_done(place));
    streams.wait_for(a);
    EXPECT_THAT(done, ElementsAre("a"));
    EXPECT_TRUE(streams.is_done(place));
    streams.wait_for_all();
    EXPECT_THAT(done, ElementsAre("a", "b"));
}

TEST_F(StreamsTest, a_place_is_waited_for_without_what_comes_after_it) {
    const StreamNumber a = streams.create(false);
    streams.enqueue(a, task("1"));
    const Place second = streams.enqueue(a, task("2"));
    streams.enqueue(a, task("3"));
    streams.wait_for(second);
    EXPECT_THAT(done, ElementsAre("1", "2"));
}

TEST_F(StreamsTest, blocking_streams_and_the_legacy_stream_wait_for_each_other) {
    const StreamNumber blocking = streams.create(true);
    streams.enqueue(kLegacyStream, task("legacy 1"));
    streams.enqueue(blocking, task("blocking"));
    streams.enqueue(kLegacyStream, task("legacy 2"));
    streams.wait_for(blocking);
    EXPECT_THAT(done, ElementsAre("legacy 1", "blocking"));
    streams.enqueue(blocking, task("later"));
    streams.enqueue(kLegacyStream, task("legacy 3"));
    streams.wait_for(kLegacyStream);
    EXPECT_THAT(done, ElementsAre("legacy 1", "blocking", "legacy 2", "later", "legacy 3"));
}

TEST_F(StreamsTest, non_blocking_streams_wait_for_nobody) {
    const StreamNumber other = streams.create(false);
    streams.enqueue(kLegacyStream, task("legacy"));
    streams.enqueue(other, task("other"));
    streams.wait_for_all();
    EXPECT_THAT(done, ElementsAre("other", "legacy"));
}

TEST_F(StreamsTest, what_is_to_come_after_other_work_does) {
    const StreamNumber a = streams.create(false);
    const StreamNumber b = streams.create(false);
    const Place first = streams.enqueue(a, task("a", 3));
    streams.enqueue(b, task("b"), first);
    streams.wait_for(b);
    EXPECT_THAT(done, ElementsAre("a", "b"));
    EXPECT_THAT(begun, ElementsAre(0, 3));
}

TEST_F(StreamsTest, streams_run_beside_each_other_until_the_host_waits) {
    const StreamNumber a = streams.create(false);
    const StreamNumber b = streams.create(false);
    streams.enqueue(a, task("a", 5));
    streams.enqueue(b, task("b", 1));
    streams.wait_for(a);
    streams.enqueue(b, task("b 2", 1));
    streams.wait_for(b);
    EXPECT_THAT(begun, ElementsAre(0, 0, 5));  // "b 2" was issued after the host had waited until 5 s
}

TEST_F(StreamsTest, a_destroyed_stream_still_does_its_work) {
    const StreamNumber a = streams.create(false);
    const Place place = streams.enqueue(a, task("a"));
    EXPECT_TRUE(streams.destroy(a));
    EXPECT_FALSE(streams.has(a));
    EXPECT_FALSE(streams.destroy(a));
    streams.wait_for_all();
    EXPECT_THAT(done, ElementsAre("a"));
    EXPECT_TRUE(streams.is_done(place));
}

TEST_F(StreamsTest, the_legacy_stream_cannot_be_destroyed) {
    EXPECT_FALSE(streams.destroy(kLegacyStream));
    EXPECT_TRUE(streams.has(kLegacyStream));
}

TEST_F(StreamsTest, eager_streams_do_their_work_at_once) {
    Streams eager(false);
    const StreamNumber a = eager.create(false);
    EXPECT_TRUE(eager.is_done(eager.enqueue(a, task("a"))));
    EXPECT_THAT(done, ElementsAre("a"));
}

}  // namespace
}  // namespace paretoken::virtual_gpu
