#include "core/plan/events_kept.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

TEST(EventsKept, are_read_from_the_text_that_they_are_written_as) {
    for (const char* text : {"all", "none", "sample=2", "sample=100"})
        EXPECT_EQ(text_of(parse_events_kept(text)), text);
    EXPECT_EQ(parse_events_kept("sample=1"), parse_events_kept("all"));
    for (const char* text : {"", "some", "sample", "sample=", "sample=0", "sample=-1", "sample=2x"})
        EXPECT_THROW(parse_events_kept(text), UsageError) << text;
}

TEST(EventsKept, of_a_sample_are_one_request_in_so_many) {
    int kept = 0;
    for (std::uint64_t index = 0; index < 100'000; ++index) {
        EXPECT_TRUE(EventsKept{}.keeps(index));
        EXPECT_FALSE(parse_events_kept("none").keeps(index));
        kept += parse_events_kept("sample=10").keeps(index) ? 1 : 0;
    }
    EXPECT_NEAR(kept, 10'000, 500);
}

}  // namespace
}  // namespace paretoken
