#include "experiments/server_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paretoken::experiments {
namespace {

using reports::LoadFigures;
using sim::SpeedFactors;

/// A server whose steps read weights for 8 ms and compute a token for 20 µs at the usual speeds: both overlap
/// in part, and prompts have 1000 tokens.
LoadFigures figures_with(const SpeedFactors& factors) {
    const double step = factors.step_s.value_or(1e-3);
    const double reading = 8e-3 / factors.memory;
    const auto seconds = [&](double tokens) {
        const double computing = tokens * 20e-6 / factors.arithmetic;
        return step + std::pow(std::pow(reading, 1.7) + std::pow(computing, 1.7), 1 / 1.7);
    };
    return {.output_tokens_per_s = 1 / seconds(4), .ttft_p50_s = seconds(1000), .itl_p50_s = seconds(4)};
}

TEST(FittedFactors, AreThoseOfTheServer) {
    for (const double memory : {0.4, 0.9, 1.3})
        for (const double arithmetic : {0.05, 0.5, 3.0}) {
            const LoadFigures goal = figures_with({.memory = memory, .arithmetic = arithmetic});
            const SpeedFactors found = fitted_factors(figures_with, goal, 0.1, 10, 1e-3);
            EXPECT_NEAR(found.memory / memory, 1, 0.03);
            EXPECT_NEAR(found.arithmetic / arithmetic, 1, 0.03);
            EXPECT_NEAR(found.step_s.value(), 1e-3, 1e-4);
        }
}

TEST(FittedFactors, WhatMemoryCannotExplainIsFixedTime) {
    const LoadFigures slow = figures_with({.arithmetic = 0.5, .step_s = 30e-3});
    const SpeedFactors waits = fitted_factors(figures_with, slow, 0.5, 1.4, 1e-3);
    EXPECT_NEAR(waits.memory, 0.5, 1e-9) << "at its bound";
    EXPECT_NEAR(figures_with(waits).itl_p50_s.value() / slow.itl_p50_s.value(), 1, 0.02);
    EXPECT_GT(waits.step_s.value(), 20e-3);

    const LoadFigures fast = figures_with({.memory = 1.4, .step_s = 0.1e-3});
    const SpeedFactors quick = fitted_factors(figures_with, fast, 0.5, 1.4, 3e-3);
    EXPECT_LE(quick.memory, 1.4 + 1e-9);
    EXPECT_LT(quick.step_s.value(), 1e-3);
    EXPECT_NEAR(figures_with(quick).itl_p50_s.value() / fast.itl_p50_s.value(), 1, 0.02);
}

TEST(FittedFactors, ArithmeticCanFollowFromTheThroughput) {
    // A level at which two prompts of 1000 tokens were computed together, so that the median time to first
    // token is twice that of one, while the throughput is that of the server.
    const auto with_throughput = [](const SpeedFactors& factors) {
        LoadFigures figures = figures_with(factors);
        figures.output_tokens_per_s = 2 * 32 / (2 * *figures.ttft_p50_s + 31 * *figures.itl_p50_s);
        return figures;
    };
    LoadFigures goal = with_throughput({.memory = 0.8, .arithmetic = 0.5});
    goal.ttft_p50_s = 2 * *goal.ttft_p50_s;
    const SpeedFactors found =
        fitted_factors(with_throughput, goal, 0.1, 10, 1e-3, &LoadFigures::output_tokens_per_s);
    EXPECT_NEAR(found.memory / 0.8, 1, 0.03);
    EXPECT_NEAR(found.arithmetic / 0.5, 1, 0.03);
}

TEST(FittedFactors, WithoutATimeToFirstTokenArithmeticStays) {
    LoadFigures goal = figures_with({.memory = 0.5});
    goal.ttft_p50_s.reset();
    const SpeedFactors found = fitted_factors(figures_with, goal, 0.1, 10, 1e-3);
    EXPECT_NEAR(found.memory, 0.5, 0.02);
    EXPECT_NEAR(found.arithmetic, 1, 1e-6);
}

TEST(EngineOf, MetricsAreBelievedBeforeWhatTheApiTells) {
    RunResult result;
    EXPECT_EQ(engine_of(result), "");
    result.provenance.server_kind = "llama.cpp";
    EXPECT_EQ(engine_of(result), "llamacpp");
    result.server.emplace().engine = "trtllm";
    EXPECT_EQ(engine_of(result), "trtllm");
}

}  // namespace
}  // namespace paretoken::experiments
