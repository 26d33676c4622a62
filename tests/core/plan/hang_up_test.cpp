#include "core/plan/hang_up.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

TEST(HangUp, has_a_share_and_a_patience) {
    const HangUp fixed = parse_hang_up("p=.05,after=2s");
    EXPECT_DOUBLE_EQ(fixed.share, 0.05);
    Random random(1);
    EXPECT_EQ(fixed.after.draw(random), std::chrono::seconds(2));
    const HangUp drawn = parse_hang_up("p=1,after=uniform:min=1s;max=3s");
    for (int i = 0; i < 100; ++i) {
        const Duration after = drawn.after.draw(random);
        EXPECT_GE(after, std::chrono::seconds(1));
        EXPECT_LE(after, std::chrono::seconds(3));
    }
}

TEST(HangUp, refuses_what_is_none) {
    for (const char* text :
         {"", "p=.5", "after=2s", "p=0,after=2s", "p=1.5,after=2s", "p=.5,after=soon", "p=.5,after=2s,x=1"})
        EXPECT_THROW(parse_hang_up(text), UsageError) << text;
}

}  // namespace
}  // namespace paretoken
