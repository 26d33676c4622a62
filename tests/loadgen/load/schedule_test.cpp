#include "loadgen/load/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "datasets/catalog.h"
#include "tests/support/arrivals.h"

namespace paretoken::loadgen {
namespace {

std::vector<Planned> all_of(Schedule schedule) {
    std::vector<Planned> entries;
    for (; schedule.next(); schedule.pop()) entries.push_back(*schedule.next());
    return entries;
}

TEST(Schedule, WarmupsComeFirstWithACountOfTheirOwn) {
    const auto entries = all_of({parse_arrivals("at_once"), {.warmups = 2, .requests = 3}, 0, {}});
    ASSERT_EQ(entries.size(), 5U);
    EXPECT_TRUE(entries[0].warmup);
    EXPECT_EQ(entries[1].index, 1U);
    EXPECT_FALSE(entries[2].warmup);
    EXPECT_EQ(entries[2].index, 0U);
    EXPECT_EQ(entries[4].index, 2U);
}

TEST(Schedule, WorkersShareItWithoutGapOrOverlapAndAtTheSameTimes) {
    const Arrivals arrivals = parse_arrivals("poisson:rate=100");
    const Limits limits{.warmups = 3, .requests = 50};
    const auto whole = all_of({arrivals, limits, 9, {}});
    std::vector<Planned> joined;
    for (std::uint32_t w = 0; w < 4; ++w) {
        for (const Planned& p : all_of({arrivals, limits, 9, {w, 4}})) joined.push_back(p);
    }
    std::sort(joined.begin(), joined.end(), [](const Planned& a, const Planned& b) { return a.at < b.at; });
    ASSERT_EQ(joined.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(joined[i].index, whole[i].index);
        EXPECT_EQ(joined[i].warmup, whole[i].warmup);
        EXPECT_EQ(joined[i].at, whole[i].at);
    }
}

TEST(Schedule, WorkersAgreeOnAWarmupByTime) {
    const Arrivals arrivals = parse_arrivals("poisson:rate=100");
    const Limits limits{.requests = 50, .warmup_duration = std::chrono::seconds(1)};
    const auto whole = all_of({arrivals, limits, 9, {}});
    std::vector<Planned> joined;
    for (std::uint32_t w = 0; w < 3; ++w) {
        for (const Planned& p : all_of({arrivals, limits, 9, {w, 3}})) joined.push_back(p);
    }
    std::sort(joined.begin(), joined.end(), [](const Planned& a, const Planned& b) { return a.at < b.at; });
    EXPECT_EQ(joined, whole);
    EXPECT_TRUE(whole.front().warmup);
    EXPECT_EQ(whole.back().index, 49U);
}

TEST(Schedule, WarmupsAreDrawnFromOtherPlacesOfTheDatasetThanMeasuredRequests) {
    const auto entries = all_of({parse_arrivals("at_once"), {.warmups = 2, .requests = 2}, 0, {}});
    EXPECT_GT(entries[0].place, 1'000'000U);
    EXPECT_EQ(entries[2].place, 0U);
    EXPECT_EQ(entries[3].place, 1U);
}

TEST(Schedule, MayBeginAtALaterPlaceOfTheDataset) {
    const auto entries =
        all_of({parse_arrivals("at_once"), {.requests = 3}, 0, {}, nullptr, {.part = 0, .first_place = 7}});
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(entries[0].index, 0U);
    EXPECT_EQ(entries[0].place, 7U);
    EXPECT_EQ(entries[2].place, 9U);
}

TEST(Schedule, TimesAscendAndDependOnTheSeed) {
    const Arrivals arrivals = parse_arrivals("poisson:rate=100");
    const auto one = all_of({arrivals, {.requests = 100}, 1, {}});
    const auto two = all_of({arrivals, {.requests = 100}, 2, {}});
    EXPECT_TRUE(std::is_sorted(one.begin(), one.end(), [](auto& a, auto& b) { return a.at < b.at; }));
    EXPECT_NE(one.back().at, two.back().at);
}

TEST(Schedule, EveryTurnOfAConversationHasAnIndexThatIsTheSameForAnyNumberOfWorkers) {
    const auto dataset = datasets::make_dataset({.spec = parse_spec("multi_turn:turns=uniform:min=1;max=4")});
    const Arrivals arrivals = parse_arrivals("poisson:rate=100");
    const Limits limits{.warmups = 3, .requests = 30};
    const auto whole = all_of({arrivals, limits, 9, {}, dataset.get()});
    std::vector<Planned> joined;
    for (std::uint32_t w = 0; w < 2; ++w) {
        for (const Planned& p : all_of({arrivals, limits, 9, {w, 2}, dataset.get()})) joined.push_back(p);
    }
    std::sort(joined.begin(), joined.end(), [](const Planned& a, const Planned& b) { return a.at < b.at; });
    EXPECT_EQ(joined, whole);
    ASSERT_EQ(whole.size(), 33U);
    std::uint64_t warmups = 0;
    std::uint64_t measured = 0;
    for (const Planned& p : whole) {
        std::uint64_t& next = p.warmup ? warmups : measured;
        EXPECT_EQ(p.index, next);
        EXPECT_EQ(p.turns, dataset->turns(p.place));
        next += p.turns;
    }
    EXPECT_GT(measured, 45U);
}

TEST(Schedule, UsersOpenNoConversationWhileOneOfTheirsHasTurnsToCome) {
    const auto dataset = datasets::make_dataset({.spec = parse_spec("multi_turn:turns=uniform:min=1;max=4")});
    const Arrivals arrivals = parse_arrivals("users:n=5,rate=10");
    const auto whole = all_of({arrivals, {.requests = 40}, 9, {}, dataset.get()});
    ASSERT_EQ(whole.size(), 40U);
    std::map<std::int64_t, Duration> busy_until;  // key: the user's phase within 500 ms, in 50 µs
    std::uint64_t requests = 0;
    for (const Planned& p : whole) {
        const auto user = (p.at + std::chrono::microseconds(1)) % std::chrono::milliseconds(500) /
                          std::chrono::microseconds(50);
        const Duration free_since = busy_until.contains(user) ? busy_until[user] : p.at;
        EXPECT_NEAR(seconds(p.at - free_since), 0, 1e-6);
        busy_until[user] = p.at + p.turns * std::chrono::milliseconds(500);
        requests += p.turns;
    }
    EXPECT_EQ(busy_until.size(), 5U);
    EXPECT_NEAR(seconds(whole.back().at) * 10, static_cast<double>(requests), 20);
    std::vector<Planned> joined;
    for (std::uint32_t w = 0; w < 2; ++w)
        for (const Planned& p : all_of({arrivals, {.requests = 40}, 9, {w, 2}, dataset.get()}))
            joined.push_back(p);
    std::sort(joined.begin(), joined.end(), [](const Planned& a, const Planned& b) { return a.at < b.at; });
    EXPECT_EQ(joined, whole);
}

}  // namespace
}  // namespace paretoken::loadgen
