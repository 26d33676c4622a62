// Whether a queue is told from a load that only rises. The simulated server completes about 44 requests of
// 1,024 input and 128 output tokens per second.
#include <gtest/gtest.h>

#include <string>

#include "loadgen/load/class_load.h"
#include "tests/support/coverage.h"

namespace paretoken::loadgen {
namespace {

/// Returns how many of four runs have a growing queue. `requests`: those that arrive in the time of the plan.
int overloaded_of_four(const std::string& arrivals, std::uint64_t requests) {
    const coverage::Load load{
        .name = "rising", .profile = "llama3-8b-h100-fp8", .arrivals = arrivals, .isl = "1024", .osl = "128"};
    int overloaded = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto outcome = coverage::run_of_load(load, requests, seed);
        const SteadyWindow window = steady_window_of(
            outcome.records,
            {.open_loop = true,
             .stationary = false,
             .constant_rate = spans_of(parse_arrivals(arrivals).constant_rate, outcome.began),
             .last_dispatch = outcome.ran_dry});
        overloaded += window.overloaded ? 1 : 0;
    }
    return overloaded;
}

TEST(RisingRate, below_the_capacity_is_no_overload_although_requests_take_longer) {
    EXPECT_EQ(overloaded_of_four("steps:rates=5;20;40,each=30s", 1950), 0);
    EXPECT_EQ(overloaded_of_four("ramp:from=1,to=40,over=60s", 1230), 0);
    EXPECT_EQ(overloaded_of_four("ramp:from=1,to=40,over=60s,shape=exponential", 634), 0);
}

TEST(RisingRate, beyond_the_capacity_is_an_overload) {
    EXPECT_EQ(overloaded_of_four("steps:rates=5;20;55,each=30s", 2400), 4);
    EXPECT_EQ(overloaded_of_four("ramp:from=1,to=80,over=60s", 2430), 4);
    EXPECT_EQ(overloaded_of_four("ramp:from=1,to=60,over=60s", 3630), 4) << "30 s at 60 requests per second";
}

}  // namespace
}  // namespace paretoken::loadgen
