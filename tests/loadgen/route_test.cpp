#include "loadgen/route.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace paretoken::loadgen {
namespace {

constexpr std::vector<std::size_t>::size_type kTargets = 3;

TEST(Route, RoundRobinTakesOneAfterTheOther) {
    const std::vector<std::size_t> in_flight{9, 0, 0};
    for (std::uint64_t i = 0; i < 9; ++i)
        EXPECT_EQ(target_for(Route::round_robin, i, Prompt("x"), in_flight), i % kTargets);
}

TEST(Route, LeastInFlightTakesTheEmptiestAndSpreadsTies) {
    EXPECT_EQ(target_for(Route::least_in_flight, 0, Prompt("x"), std::vector<std::size_t>{5, 2, 3}), 1U);
    std::set<std::size_t> seen;
    for (std::uint64_t i = 0; i < 9; ++i)
        seen.insert(target_for(Route::least_in_flight, i, Prompt("x"), std::vector<std::size_t>{4, 4, 4}));
    EXPECT_EQ(seen.size(), kTargets);
}

TEST(Route, PrefixSendsWhatBeginsAlikeToOneServer) {
    const std::vector<std::size_t> in_flight{0, 0, 0};
    std::set<std::size_t> seen;
    for (int group = 0; group < 40; ++group) {
        const std::string beginning(kRoutedBytes, static_cast<char>('0' + group));
        const std::size_t first = target_for(Route::prefix, 0, Prompt(beginning + "a"), in_flight);
        EXPECT_EQ(target_for(Route::prefix, 1, Prompt(beginning + "b"), in_flight), first);
        const Messages chat{{"user", beginning}, {"assistant", "yes"}, {"user", std::to_string(group)}};
        EXPECT_EQ(target_for(Route::prefix, 2, Prompt(chat), in_flight), first)
            << "a conversation stays where it began";
        seen.insert(first);
        const Messages opened{{"system", "Be brief."}, {"user", std::to_string(group)}};
        const Messages later{opened[0], opened[1], {"assistant", "yes"}, {"user", "and then?"}};
        EXPECT_EQ(target_for(Route::prefix, 0, Prompt(opened), in_flight),
                  target_for(Route::prefix, 1, Prompt(later), in_flight))
            << "a conversation that begins briefly stays too";
    }
    EXPECT_EQ(seen.size(), kTargets);
}

TEST(Route, SessionSendsAConversationToOneServer) {
    std::set<std::size_t> seen;
    for (std::uint64_t conversation = 0; conversation < 30; ++conversation) {
        const std::size_t first =
            target_for(Route::session, conversation, Prompt("a"), std::vector<std::size_t>{0, 0, 0});
        EXPECT_EQ(target_for(Route::session, conversation, Prompt("b"), std::vector<std::size_t>{9, 0, 9}),
                  first);
        seen.insert(first);
    }
    EXPECT_EQ(seen.size(), kTargets);
}

TEST(Route, HasNames) {
    EXPECT_EQ(route_named("session"), Route::session);
    EXPECT_EQ(route_named("least-in-flight"), Route::least_in_flight);
    EXPECT_FALSE(route_named("random"));
}

}  // namespace
}  // namespace paretoken::loadgen
