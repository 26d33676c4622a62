#include "loadgen/load/mix.h"
#include "tests/support/arrivals.h"

#include <gtest/gtest.h>

namespace paretoken::loadgen {
namespace {

ClassLoad closed(std::uint64_t concurrency) {
    return {.arrivals = parse_arrivals("at_once"), .concurrency = concurrency};
}

ClassLoad open(std::string_view arrivals, std::optional<std::uint64_t> requests = {}) {
    return {.arrivals = parse_arrivals(arrivals), .limits = {.requests = requests}};
}

TEST(CombinedLoad, OfOneClassIsThatClass) {
    ClassLoad of = open("poisson:rate=8", 100);
    of.concurrency = 4;
    const CombinedLoad all = combined({of});
    EXPECT_TRUE(all.open_loop);
    EXPECT_TRUE(all.stationary);
    EXPECT_EQ(all.request_rate, 8);
    EXPECT_EQ(all.concurrency, 4U);
    EXPECT_EQ(all.filled_cap, 4U);
    EXPECT_EQ(all.limits.requests, 100U);
    EXPECT_FALSE(combined({closed(4)}).open_loop);
}

TEST(CombinedLoad, AddsUpRatesRequestsAndCaps) {
    const CombinedLoad open_loops = combined({open("poisson:rate=8", 80), open("constant:rate=2", 20)});
    EXPECT_EQ(open_loops.request_rate, 10);
    EXPECT_EQ(open_loops.limits.requests, 100U);
    EXPECT_FALSE(open_loops.concurrency);
    EXPECT_EQ(combined({closed(4), closed(2)}).concurrency, 6U);
    EXPECT_FALSE(combined({open("poisson:rate=8", 80), open("poisson:rate=1")}).limits.requests);
}

TEST(CombinedLoad, HasTheMeanRateThatRampsAndStepsReachUntilTheEnd) {
    const auto rate_of = [](std::string_view arrivals, const Limits& limits) {
        return combined({{.arrivals = parse_arrivals(arrivals), .limits = limits}}).request_rate;
    };
    const auto within = [](Duration duration) { return Limits{.duration = duration}; };
    // 100 requests in the first 100 s, then 20 per second.
    EXPECT_NEAR(rate_of("steps:rates=1;20,each=100s", within(std::chrono::seconds(110))), 300. / 110, 1e-6);
    EXPECT_NEAR(rate_of("steps:rates=1;20,each=100s", {.requests = 300}), 300. / 110, 1e-6);
    EXPECT_NEAR(rate_of("steps:rates=1;20,each=100s", {.requests = 50}), 1, 1e-6);
    // 105 requests in the 10 s of the ramp, then 20 per second.
    EXPECT_NEAR(rate_of("ramp:from=1,to=20,over=10s", within(std::chrono::seconds(120))), 2305. / 120, 1e-6);
    EXPECT_NEAR(rate_of("ramp:from=1,to=20,over=10s", {}), 10.5, 1e-9);
    EXPECT_EQ(rate_of("poisson:rate=8", within(std::chrono::seconds(1))), 8);
}

TEST(CombinedLoad, IsAnOpenLoopWithoutACapWhereOneClassIs) {
    const CombinedLoad all = combined({closed(4), open("ramp:from=1,to=4,over=60s")});
    EXPECT_TRUE(all.open_loop);
    EXPECT_FALSE(all.stationary);
    EXPECT_FALSE(all.concurrency);
}

TEST(CombinedLoad, HasAConstantRateWhereAllClassesHaveOne) {
    const auto s = [](int count) { return Duration(std::chrono::seconds(count)); };
    const CombinedLoad all =
        combined({closed(4), open("steps:rates=1;2;4,each=20s"), open("ramp:from=1,to=4,over=30s")});
    const std::vector<LoadPart> parts = {{s(30), s(40)}, {.begin = s(40)}};
    EXPECT_EQ(all.constant_rate, parts);
    const TimePoint began{s(100)};
    const std::vector<TimeSpan> spans = {{TimePoint(s(130)), TimePoint(s(140))},
                                         {TimePoint(s(140)), TimePoint::max()}};
    EXPECT_EQ(spans_of(all.constant_rate, began), spans);
}

TEST(CombinedLoad, DoesNotFillItsCapWhereSlotsPause) {
    ClassLoad thinking = closed(4);
    thinking.pacing.think_time = RandomDuration("1s");
    ClassLoad few_prefills = closed(4);
    few_prefills.pacing.prefills = 1;
    ClassLoad few_requests = closed(4);
    few_requests.pacing.requests = 1;
    for (const ClassLoad& of : {thinking, few_prefills, few_requests}) {
        EXPECT_EQ(combined({of, closed(2)}).concurrency, 6U);
        EXPECT_FALSE(combined({of, closed(2)}).filled_cap);
    }
}

}  // namespace
}  // namespace paretoken::loadgen
