#include "experiments/simulated_rate.h"

#include <gtest/gtest.h>

#include "cards/gpu.h"
#include "cards/model.h"
#include "tests/reports/temporary_directory.h"

namespace paretoken::experiments {
namespace {

TEST(SimulatedRate, IsHigherOnAFasterGpuWithMoreInFlightAndWithACacheThatHoldsThePrompts) {
    const reports::TemporaryDirectory directory;
    int number = 0;
    const auto speed = [&](const reports::SimulatedLoad& load) {
        return simulated_rate(load, directory.path() / std::to_string(number++), {});
    };
    const auto rate = [&](const reports::SimulatedLoad& load) {
        const auto all = speed(load);
        return all ? std::optional(all->output_tokens_per_s) : std::nullopt;
    };
    reports::SimulatedLoad load{.model = cards::model_card("llama-3.1-8b"),
                                .gpu = cards::gpu_card("l40s"),
                                .in_flight = 8,
                                .input_tokens = 1000,
                                .output_tokens = 40};
    const double plain = rate(load).value();
    EXPECT_EQ(rate(load), plain) << "it is the same every time";
    reports::SimulatedLoad cached = load;
    cached.hit = .7;
    EXPECT_GT(rate(cached).value(), 1.2 * plain);
    reports::SimulatedLoad faster = load;
    faster.gpu = cards::gpu_card("h200");
    EXPECT_GT(rate(faster).value(), 2 * plain);
    reports::SimulatedLoad fewer = load;
    fewer.in_flight = 1;
    EXPECT_LT(rate(fewer).value(), plain);
    reports::SimulatedLoad pausing = load;
    pausing.pause_s = 60;
    EXPECT_LT(speed(pausing)->in_flight, 1);
    EXPECT_NEAR(rate(pausing).value(), 8 * 40 / 60., 1);
    reports::SimulatedLoad arriving = load;
    arriving.arrivals_per_s = 2;
    EXPECT_NEAR(rate(arriving).value(), 2 * 40, 8);
    EXPECT_TRUE(speed(arriving)->keeps_up);
    EXPECT_GT(speed(arriving)->interactivity.value(), speed(load)->interactivity.value());
    arriving.arrivals_per_s = 60;
    EXPECT_FALSE(speed(arriving)->keeps_up);
    load.model = cards::model_card("llama-3.1-70b");
    EXPECT_FALSE(rate(load)) << "its weights do not fit";
}

}  // namespace
}  // namespace paretoken::experiments
