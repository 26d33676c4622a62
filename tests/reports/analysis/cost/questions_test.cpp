#include "reports/analysis/cost/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "core/error.h"
#include "core/result/speculation.h"
#include "reports/analysis/cost/cost.h"
#include "reports/analysis/cost/formula.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;

TEST(Formula, ObservesPrecedenceParenthesesAndFunctions) {
    const std::map<std::string, double> names{{"a", 2}, {"b_2", 5}};
    EXPECT_EQ(value_of("a + b_2 * a^3 - 4 / 2", names), 40);
    EXPECT_EQ(value_of("10 - 3 - a", names), 5);
    EXPECT_EQ(value_of("(a + 1) * (b_2 - 1)", names), 12);
    EXPECT_EQ(value_of("min(a, b_2) + max(a, b_2) + ceil(1.5e0)", names), 9);
    EXPECT_EQ(value_of("if(a + 1 < b_2, 7, 1 / 0)", names), 7);
    EXPECT_EQ(value_of("if(a >= b_2, 7, 8)", names), 8);
    EXPECT_DOUBLE_EQ(value_of("exp(0 - a)", names), std::exp(-2.0));
}

TEST(Formula, RefusesWhatItDoesNotKnow) {
    for (const char* const bad : {"", "c", "a +", "(a", "a)", "sin(a)", "min(a)", "a b", "a % 2"})
        EXPECT_THROW((void)value_of(bad, {{"a", 1}, {"b", 1}}), std::logic_error) << bad;
}

const CostQuestion& question(std::string_view name) {
    return *std::ranges::find(cost_questions(), name, &CostQuestion::name);
}

CostAnswer answer(std::string_view name, const std::map<std::string, double>& inputs) {
    CostGiven given;
    for (const auto& [input, value] : inputs) given.numbers[input].value = value;
    return answer_of(question(name), given);
}

TEST(Questions, SplitTheCostAsReportsDo) {
    const double rate = 4834;
    const TokenRates rates{rate * 8 / 9 * .1, rate * 8 / 9 * .9, rate / 9};
    const SplitPrices prices = split_by_ratio(2.808 / 3600, rates, 4, .1).value();
    const auto figures = answer("split", {{"usd_per_h", 2.808}, {"tokens_per_s", rate}, {"hit", .9}}).figures;
    EXPECT_NEAR(figures.at("fresh"), prices.fresh, 1e-12);
    EXPECT_NEAR(figures.at("cached"), prices.cached, 1e-12);
    EXPECT_NEAR(figures.at("output"), prices.output, 1e-12);
}

TEST(Questions, NeverBreakEvenBeyondCapacity) {
    const std::map<std::string, double> inputs{
        {"usd_per_month", 2520}, {"api_usd_per_m", .9}, {"tokens_per_s", 1000}};
    EXPECT_EQ(answer("self-host", inputs).result, "never");
    EXPECT_FALSE(self_host_break_even_tokens(2520, .9, 1000));
    EXPECT_NEAR(answer("self-host", inputs).figures.at("billion_tokens") * 1e9,
                self_host_break_even_tokens(2520, .9, 1200).value(), 1);
}

TEST(Questions, SpeculateAsSimulatedServersDo) {
    EXPECT_DOUBLE_EQ(answer("speculation", {{"drafts", 4}, {"acceptance", .7}}).figures.at("tokens_per_pass"),
                     speculative_tokens_per_pass(.7, 4));
}

TEST(Questions, SpeculateWithEveryDraftAccepted) {
    EXPECT_EQ(answer("speculation", {{"drafts", 4}, {"acceptance", 1}}).figures.at("tokens_per_pass"), 5);
    EXPECT_EQ(answer("speculation", {{"drafts", 4}, {"acceptance", .1}, {"draft_cost", .1}}).verdict,
              "speculation does not pay");
}

TEST(Questions, SayWhereEveryInputComesFrom) {
    const CostAnswer found = answer("energy", {{"watts", 1370}, {"tokens_per_s", 1000}});
    EXPECT_EQ(found.inputs.at("watts"), (CostValue{1370, "given"}));
    EXPECT_EQ(found.inputs.at("usd_per_kwh"), (CostValue{.1, "default"}));
    EXPECT_EQ(found.text(), "1.37 J per token, $0.0381 per million tokens");
}

std::string refusal(std::string_view name, const std::map<std::string, double>& inputs) {
    try {
        return answer(name, inputs).text();
    } catch (const UsageError& error) {
        return error.what();
    }
}

TEST(Questions, RefuseWhatIsMissingOrOutOfRange) {
    EXPECT_THAT(refusal("per-million", {{"usd_per_h", 1}}), HasSubstr("--tokens-per-s is required"));
    EXPECT_EQ(refusal("per-million", {{"usd_per_h", 1}, {"tokens_per_s", 0}}),
              "--tokens-per-s must be above 0");
    EXPECT_EQ(refusal("cascade", {{"cheap", 1}, {"dear", 2}, {"escalated", 2}}),
              "--escalated is a share: at most 1");
    EXPECT_EQ(refusal("hit-rate", {{"fresh", 0}, {"writes", 0}, {"reads", 0}}),
              "--fresh + --writes + --reads must be above 0");
}

TEST(Questions, TakePricesOfAnApiWhereNoneIsGiven) {
    CostGiven given{.api = cards::api_price_named("claude-sonnet-4.6", {}), .api_name = "claude-sonnet-4.6"};
    given.numbers["base"].value = 6;
    const CostAnswer found = answer_of(question("prompt-cache"), given);
    EXPECT_EQ(found.inputs.at("write"), (CostValue{3.75, "api:claude-sonnet-4.6"}));
    EXPECT_EQ(found.inputs.at("base"), (CostValue{6, "given"}));
    EXPECT_DOUBLE_EQ(found.figures.at("requests"), 3.45 / 5.7);
}

TEST(Questions, AreAnsweredIfAllTheirInputsAreKnown) {
    const CostGiven known{.numbers = {{"usd_per_h", {3.5, "price card"}},
                                      {"tokens_per_s", {1000, "simulated runs"}},
                                      {"all_tokens_per_s", {9000, "simulated runs"}}}};
    const std::vector<CostAnswer> answers = answers_from(known);
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0].question, &question("per-million"));
    EXPECT_EQ(answers[0].text(), "$0.9722 per million output tokens");
    EXPECT_EQ(answers[1].question, &question("split"));
    EXPECT_EQ(answers[1].inputs.at("tokens_per_s"), (CostValue{9000, "simulated runs"}));
}

TEST(Questions, HedgeByTheTimesOfARun) {
    CostGiven given{.latencies_s = std::vector<double>(950, .1)};
    given.latencies_s.resize(1000, 1.0);
    given.numbers["after"].value = .9;
    // 5 % are slower than 0.1 s. A second request at 0.1 s is slow in 5 % of them, that is, in 0.25 % of all.
    const CostAnswer found = answer_of(question("hedging"), given);
    EXPECT_NEAR(found.figures.at("p99_ms"), 1000, 1e-6);
    EXPECT_NEAR(found.figures.at("hedged_p99_ms"), 200, 1e-6);
    EXPECT_NEAR(found.figures.at("more_percent"), 5, 1e-9);
    EXPECT_EQ(found.verdict, "");
    given.latencies_s.assign(1000, .1);
    EXPECT_EQ(answer_of(question("hedging"), given).verdict, "hedging does not pay");
    given.latencies_s.resize(99);
    EXPECT_THROW((void)answer_of(question("hedging"), given), UsageError);
}

TEST(Questions, CanAllBeComputed) {
    for (const CostQuestion& row : cost_questions()) {
        CostGiven given;
        for (const CostInput& input : row.inputs)
            given.numbers[input.name].value = input.otherwise.value_or(.5);
        given.numbers["base"].value = 2;
        given.numbers["requests"].value = 10;
        given.model = cards::model_card("llama-3.1-8b");
        given.latencies_s.assign(100, .5);
        const CostAnswer found = answer_of(row, given);
        EXPECT_FALSE(found.text().empty()) << row.name;
        EXPECT_THAT(found.text(), testing::Not(HasSubstr("nan"))) << row.name;
        EXPECT_EQ(found.figures.size(), row.formulas.size()) << row.name << ": names are not unique";
    }
}

}  // namespace
}  // namespace paretoken::reports
