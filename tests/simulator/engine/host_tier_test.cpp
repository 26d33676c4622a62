#include "simulator/engine/host_tier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "core/random.h"

namespace paretoken::sim {
namespace {

using Names = std::vector<std::uint64_t>;

TEST(HostTier, KeepsWhatWasPutInOrWantedLast) {
    HostTier tier(2);
    tier.keep(1);
    tier.keep(2);
    EXPECT_EQ(tier.wanted(Names{1}), 1U);
    tier.keep(3);
    EXPECT_EQ(tier.wanted(Names{2}), 0U) << "2 was wanted longest ago";
    EXPECT_EQ(tier.wanted(Names{1, 3}), 2U);
    EXPECT_EQ(tier.size(), 2U);
}

TEST(HostTier, FindsOnlyTheBeginning) {
    HostTier tier(10);
    for (const std::uint64_t name : {1U, 2U, 4U}) tier.keep(name);
    EXPECT_EQ(tier.wanted(Names{1, 2, 3, 4}), 2U);
    EXPECT_EQ(tier.wanted(Names{3, 1}), 0U);
    EXPECT_EQ(tier.wanted({}), 0U);
}

TEST(HostTier, KeepsNothingWithoutRoomAndAfterForgetting) {
    HostTier none(0);
    none.keep(1);
    EXPECT_EQ(none.wanted(Names{1}), 0U);
    HostTier tier(3);
    tier.keep(1);
    tier.forget();
    EXPECT_EQ(tier.wanted(Names{1}), 0U);
    EXPECT_EQ(tier.size(), 0U);
}

/// The same, by its definition.
class OrderedNames {
  public:
    explicit OrderedNames(std::size_t most) : most_(most) {}
    void keep(std::uint64_t name) {
        std::erase(names_, name);
        if (names_.size() == most_) names_.pop_front();
        names_.push_back(name);
    }
    bool has(std::uint64_t name) {
        if (std::find(names_.begin(), names_.end(), name) == names_.end()) return false;
        keep(name);
        return true;
    }

  private:
    std::size_t most_;
    std::deque<std::uint64_t> names_;
};

TEST(HostTier, ForgetsInTheOrderOfUse) {
    Random random(7);
    HostTier tier(8);
    OrderedNames expected(8);
    for (int i = 0; i < 5000; ++i) {
        const std::uint64_t name = random.below(20);
        if (random.below(2) == 0) {
            tier.keep(name);
            expected.keep(name);
        } else {
            ASSERT_EQ(tier.wanted(Names{name}) == 1, expected.has(name)) << "after " << i << " steps";
        }
    }
}

}  // namespace
}  // namespace paretoken::sim
