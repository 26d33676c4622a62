#include "reports/analysis/plan/server_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/files/json/server_fit_json.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LoadFigures figures(double tokens, double ttft, double itl) {
    return {.output_tokens_per_s = tokens, .ttft_p50_s = ttft, .itl_p50_s = itl};
}

ServerFit some_fit() {
    return {.run = "sweeps/x/c2",
            .server = "llama-3.1-8b on vllm, fp8 on NVIDIA L40S 48 GB",
            .axis = "c",
            .load = 2,
            .measured = figures(100, 0.1, 0.02),
            .before = figures(130, 0.1, 0.015),
            .after = figures(101, 0.1, 0.02),
            .usual = FittedSpeeds{600e9, 400e12, 1e-3, {}, 0.69, 0.59},
            .speeds = {432e9, 0.4e12, 1e-3, {}, 0.5, 0.55},
            .levels = {{.load = 4,
                        .predicted = figures(190, 0.11, 0.021),
                        .low = figures(180, 0.1, 0.02),
                        .high = figures(200, 0.12, 0.022),
                        .measured = figures(200, 0.11, 0.02)}}};
}

/// A fit to 2 in flight. Its predictions are `off` times what was measured, for each doubling of the load.
ServerFit measured_at(const std::vector<double>& loads, double off) {
    ServerFit fit{
        .axis = "c", .load = 2, .measured = figures(100, 0.1, 0.02), .after = figures(100, 0.1, 0.02)};
    for (const double load : loads) {
        const LoadFigures predicted = figures(50 * load, 0.1, 0.02);
        const double all = std::pow(off, std::abs(std::log2(load / fit.load)));
        fit.levels.push_back({.load = load,
                              .predicted = predicted,
                              .low = predicted,
                              .high = predicted,
                              .measured = figures(50 * load / all, 0.1 / all, 0.02 / all)});
    }
    widen_ranges(fit);
    return fit;
}

TEST(ServerFit, ARangeIsWidenedByWhatTheFitMissesAtItsOwnLevel) {
    ServerFit fit{.load = 2,
                  .measured = figures(100, 0.1, 0.02),
                  .after = figures(80, 0.1, 0.02),
                  .levels = {{.load = 4,
                              .predicted = figures(200, 0.1, 0.02),
                              .low = figures(190, 0.09, 0.02),
                              .high = figures(210, 0.1, 0.02)}}};
    widen_ranges(fit);
    const PredictedLevel& level = fit.levels.front();
    EXPECT_LT(level.low.output_tokens_per_s.value(), 200 / 1.25);
    EXPECT_GT(level.high.output_tokens_per_s.value(), 200 * 1.25);
    EXPECT_LT(level.high.output_tokens_per_s.value(), 200 * 1.35);
    EXPECT_GT(0.1 / level.low.ttft_p50_s.value(), level.high.ttft_p50_s.value() / 0.1)
        << "the side on which the ends of the interval are farther apart is wider";
    EXPECT_NEAR(level.high.itl_p50_s.value() / 0.02, std::exp(2.353 * 0.04), 1e-3)
        << "the assumed error with three degrees of freedom";
}

TEST(ServerFit, ARangeHoldsTheOtherMeasuredLevelsIfAllAreAsFarOffForEachDoubling) {
    for (const double off : {0.7, 1.0, 1.25}) {
        const ServerFit fit = measured_at({1, 4, 8, 16}, off);
        for (const PredictedLevel& level : fit.levels) {
            EXPECT_LT(level.low.itl_p50_s.value(), level.measured->itl_p50_s.value()) << off;
            EXPECT_GT(level.high.itl_p50_s.value(), level.measured->itl_p50_s.value()) << off;
        }
    }
}

TEST(ServerFit, ARangeIsNarrowerWhereMoreLevelsWereForetoldAndNearerToTheFittedOne) {
    const auto width = [](const PredictedLevel& level) {
        return level.high.itl_p50_s.value() / level.low.itl_p50_s.value();
    };
    const ServerFit one = measured_at({16}, 1);
    const ServerFit several = measured_at({1, 4, 8, 16}, 1);
    EXPECT_LT(width(several.levels[3]), width(one.levels[0]));
    EXPECT_LT(width(several.levels[1]), width(several.levels[3]));
    EXPECT_GT(width(measured_at({1, 4, 8, 16}, 1.2).levels[3]), width(several.levels[3]));
    ServerFit asked = several;  // the levels before it were measured, and not asked for
    asked.others.assign(several.levels.begin(), several.levels.end() - 1);
    const LoadFigures& predicted = several.levels[3].predicted;
    asked.levels = {{.load = 16, .predicted = predicted, .low = predicted, .high = predicted}};
    widen_ranges(asked);
    EXPECT_NEAR(width(asked.levels[0]), width(several.levels[3]), 1e-9);
    EXPECT_THAT(certainty_of(asked), HasSubstr("At the 3 other measured levels"));
}

TEST(ServerFit, TheScreenSaysHowFarOffEachFigureIs) {
    const std::string text = server_fit_console(some_fit());
    EXPECT_THAT(text, HasSubstr("50 % of the datasheet (usual: 69 %)"));
    EXPECT_THAT(text, HasSubstr("400 GFLOP/s"));
    EXPECT_THAT(text, HasSubstr("+30 %"));
    EXPECT_THAT(text, HasSubstr("estimated"));
    EXPECT_THAT(text, HasSubstr("-5 %"));
    EXPECT_THAT(text, Not(HasSubstr("profile")));
    ServerFit unknown = some_fit();
    unknown.before.reset();
    unknown.usual.reset();
    unknown.speeds.memory_share.reset();
    unknown.speeds.linear_share.reset();
    unknown.measured.ttft_p50_s.reset();
    unknown.profile = "out/profile.json";
    const std::string other = server_fit_console(unknown);
    EXPECT_THAT(other, Not(HasSubstr("datasheet")));
    EXPECT_THAT(other, Not(HasSubstr("by the card")));
    EXPECT_THAT(other, HasSubstr("sim:out/profile.json"));
}

TEST(ServerFit, ItSaysHowSureItIsAndWhichLevelToMeasure) {
    ServerFit fit = some_fit();
    fit.again = "http://server:8000 --isl 300";
    EXPECT_THAT(certainty_of(fit), HasSubstr("At the 1 other measured level, "));
    EXPECT_THAT(certainty_of(fit), HasSubstr("output tokens/s by 5 %, TTFT p50 by 0 %, ITL p50 by 5 %"));
    EXPECT_THAT(certainty_of(fit), Not(HasSubstr("sweep"))) << "every level was measured";
    fit.levels.push_back({.load = 16, .predicted = figures(400, 0.2, 0.03)});
    fit.levels.push_back({.load = 1, .predicted = figures(60, 0.1, 0.02)});
    EXPECT_THAT(certainty_of(fit),
                HasSubstr("paretoken sweep http://server:8000 --isl 300 --concurrency 16"));
    fit.axis = "req/s";
    EXPECT_THAT(certainty_of(fit), HasSubstr("--request-rate 16"));
    fit.levels.front().measured.reset();
    EXPECT_THAT(certainty_of(fit), HasSubstr("None of these levels was measured"));
}

TEST(ServerFit, ItWarnsOfWhatTheFitMissesAndOfRequestsInStep) {
    ServerFit fit = some_fit();
    EXPECT_TRUE(doubts_of(fit).empty());
    fit.after = figures(67, 0.1, 0.0219);
    ASSERT_EQ(doubts_of(fit).size(), 1U) << "9.5 % is not worth a warning";
    EXPECT_THAT(doubts_of(fit).front(), HasSubstr("output tokens/s of its own level by -33 %"));
    fit.equal_lengths = true;
    EXPECT_THAT(doubts_of(fit).back(), HasSubstr("run in step"));
    EXPECT_THAT(server_fit_console(fit), HasSubstr("doubt"));
    fit.load = 1;
    EXPECT_EQ(doubts_of(fit).size(), 1U) << "one request runs in step with none";
    fit.speeds.linear_share = 1.2;
    EXPECT_THAT(doubts_of(fit).back(), HasSubstr("120 % of its datasheet"));
}

TEST(ServerFit, LengthsAreEqualIfSmallestAndLargestAre) {
    RunResult result;
    EXPECT_FALSE(has_equal_lengths(result));
    MetricSummary input{
        .key = "input_tokens_tok", .n = 2, .mean = {}, .std = {}, .min = 96, .max = 96, .percentiles = {}};
    MetricSummary output{
        .key = "output_tokens_tok", .n = 2, .mean = {}, .std = {}, .min = 32, .max = 32, .percentiles = {}};
    result.metrics = {input, output};
    EXPECT_TRUE(has_equal_lengths(result));
    output.max = 33;
    result.metrics = {input, output};
    EXPECT_FALSE(has_equal_lengths(result));
}

TEST(ServerFit, ItsFileHasEveryFigure) {
    const nlohmann::json json = nlohmann::json::parse(server_fit_json(some_fit()));
    EXPECT_EQ(json.at("schema"), "paretoken/prediction/1");
    EXPECT_EQ(json.at("axis"), "concurrency");
    EXPECT_EQ(json.at("before").at("output_tokens_per_s"), 130);
    EXPECT_EQ(json.at("levels").at(0).at("high").at("ttft_p50_s"), 0.12);
    EXPECT_EQ(json.at("usual_speeds").at("memory_share"), 0.69);
}

}  // namespace
}  // namespace paretoken::reports
