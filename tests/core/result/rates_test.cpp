#include "core/result/rates.h"
#include "core/result/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/result/window.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

Figures figures_in(const std::vector<RequestRecord>& records, TimeSpan span,
                   const SummaryOptions& options = {}) {
    return figures_of(script::totals_of(records, span, options));
}

TEST(Figures, of_a_whole_run_are_its_totals_over_its_length) {
    const auto records = script::closed_loop(4, 60, {});
    const auto run = run_of(records);
    const auto rates = figures_in(records, run);
    const double length = seconds(run.length());
    EXPECT_NEAR(*rates.at(figure::kRequests) * length, 60, 1e-6);
    EXPECT_NEAR(*rates.at(figure::kOutputTokens) * length, 60 * 11, 1e-6);
    EXPECT_NEAR(*rates.at(figure::kInputTokens) * length, 60 * 100, 1e-6);
    EXPECT_NEAR(*rates.at(figure::kTotalTokens) * length, 60 * 111, 1e-6);
    EXPECT_FALSE(rates.at(figure::kGoodput));
}

TEST(Figures, of_a_stretch_are_additive_over_its_parts) {
    const auto records = script::closed_loop(5, 80, {});
    const auto run = run_of(records);
    const TimePoint middle = run.begin + run.length() / 3;
    const auto amount = [&](TimeSpan span) {
        return *figures_in(records, span).at(figure::kOutputTokens) * seconds(span.length());
    };
    EXPECT_NEAR(amount({run.begin, middle}) + amount({middle, run.end}), amount(run), 1e-6);
}

TEST(Figures, count_a_request_across_the_edge_by_its_tokens) {
    const std::vector<RequestRecord> records{script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 10})};
    const auto rates = figures_in(records, {kStart + 3500ms, kStart + 6500ms});
    EXPECT_DOUBLE_EQ(*rates.at(figure::kOutputTokens), 1);
    EXPECT_DOUBLE_EQ(*rates.at(figure::kRequests), 0);
    EXPECT_DOUBLE_EQ(*rates.at(figure::kInputTokens), 0);
    EXPECT_NEAR(*rates.at(figure::kMeanInFlight), 1, 1e-9);
}

TEST(Figures, credit_nothing_to_failures_and_what_was_streamed_to_requests_cut_off) {
    std::vector<RequestRecord> records{script::answered(kStart, {}), script::answered(kStart, {}),
                                       script::answered(kStart, {})};
    records[1].outcome = Outcome::truncated;
    records[2].outcome = Outcome::cancelled;
    const auto rates = figures_in(records, {kStart, kStart + 1s});
    EXPECT_NEAR(*rates.at(figure::kOutputTokens), 22, 1e-9);
    EXPECT_NEAR(*rates.at(figure::kRequests), 1, 1e-9);
    EXPECT_NEAR(*rates.at(figure::kMeanInFlight), 3 * 0.2, 1e-9);
}

TEST(Figures, without_prompt_counts_have_no_input_rate) {
    std::vector<RequestRecord> records{script::answered(kStart, {})};
    records[0].usage.prompt.reset();
    const auto rates = figures_in(records, run_of(records));
    EXPECT_FALSE(rates.at(figure::kInputTokens));
    EXPECT_FALSE(rates.at(figure::kTotalTokens));
    EXPECT_TRUE(rates.at(figure::kOutputTokens));
    EXPECT_EQ(figures_in({}, {}), Figures{});
}

TEST(Figures, take_the_cached_share_over_tokens_and_not_over_requests) {
    std::vector<RequestRecord> records{script::answered(kStart, {}), script::answered(kStart, {})};
    records[0].usage.prompt = 10000;
    records[0].usage.cached_prompt = 10000;
    records[1].usage.prompt = 100;
    records[1].usage.cached_prompt = 0;
    const auto rates = figures_in(records, {kStart, kStart + 1s});
    EXPECT_NEAR(*rates.at(figure::kCachedPromptRatio), 10000.0 / 10100, 1e-12);
    EXPECT_NEAR(*rates.at(figure::kFreshInputTokens), 100, 1e-9);
    EXPECT_NEAR(*rates.at(figure::kCachedInputTokens), 10000, 1e-9);
}

TEST(Figures, count_failures_as_bad_and_leave_out_what_the_end_of_the_run_cut_off) {
    std::vector<RequestRecord> records{script::answered(kStart, {}),
                                       script::answered(kStart, {.ttft = 300ms, .gap = 10ms, .tokens = 21}),
                                       script::failed(kStart), script::answered(kStart, {})};
    records[3].outcome = Outcome::cancelled;
    SummaryOptions options;
    options.slos = {{"ttft", 0.2}};
    const auto rates = figures_in(records, {kStart, kStart + 1s}, options);
    EXPECT_DOUBLE_EQ(*rates.at(figure::kGoodputRatio), 1.0 / 3);
    EXPECT_DOUBLE_EQ(*rates.at(figure::kGoodput), 1);
    EXPECT_DOUBLE_EQ(*rates.at(figure::kGoodOutputTokens), 11);  // 11 + 21 + 11 were streamed in all
}

TEST(Figures, hold_a_request_against_its_own_slos_before_those_of_its_class_and_of_the_run) {
    // Each is answered after 100 ms, and then has a token every 10 ms.
    std::vector<RequestRecord> records(6, script::answered(kStart, {}));
    records[0].slo = "ttft:150 tpot:15";  // good, although the run's limit is missed
    records[1].slo = "ttft:150 tpot:5";   // bad
    records[2].request_class = "strict";
    records[2].slo = "ttft:150";  // good, although the class's limit is missed
    records[3].request_class = "lax";
    records[3].slo = "ttft:50";        // bad, although the class's limit is met
    records[4].request_class = "lax";  // good
    SummaryOptions options{
        .open_loop = false, .concurrency = {}, .last_dispatch = {}, .slos = {{"ttft", .01}}};
    options.class_slos = {{"strict", {{"ttft", .05}}}, {"lax", {{"ttft", 1}}}};
    auto totals = script::totals_of(records, {kStart, kStart + 1s}, options);
    EXPECT_EQ(totals.judged_good, 3);
    EXPECT_EQ(totals.judged, 6);
    options.slos.clear();
    options.class_slos.clear();
    totals = script::totals_of(records, {kStart, kStart + 1s}, options);
    EXPECT_EQ(totals.judged_good, 2) << "a run without limits judges the requests that have some";
    EXPECT_EQ(totals.judged, 4);
}

TEST(Intervals, of_a_rate_hold_it_and_need_ten_blocks_of_three_requests) {
    const auto records = script::closed_loop(8, 2000, {});
    const TimeSpan window{kStart + 1s, records.back().started};
    const auto blocks = script::blocks_of(records, window, interval_blocks(window, 0.2), {});
    Totals totals;
    for (const Totals& block : blocks) totals += block;
    const auto found = figures_of(totals, Blocks{blocks.size(), blocks});
    const auto interval = found.interval(figure::kOutputTokens);
    ASSERT_TRUE(interval);
    const double rate = *found.at(figure::kOutputTokens);
    EXPECT_LT(interval->low, rate);
    EXPECT_GT(interval->high, rate);
    EXPECT_LT(interval->high - interval->low, 0.1 * rate);
    EXPECT_EQ(interval_blocks({kStart, kStart + 5900ms}, 0.2), 0U);
    EXPECT_EQ(interval_blocks({kStart, kStart + 6100ms}, 0.2), 10U);
}

Series named(const std::vector<Series>& series, std::string_view name) {
    return *std::find_if(series.begin(), series.end(), [&](const Series& one) { return one.name == name; });
}

TEST(Series, have_a_value_a_second_and_add_up) {
    auto records = script::closed_loop(4, 103, {});
    records.push_back(script::failed(kStart + 2500ms));
    const auto run = run_of(records);
    const auto series = script::series_of(records, run);
    const double run_s = seconds(run.length());
    const Series tokens = named(series, "output_tokens_per_s");
    const Series requests = named(series, "requests_per_s");
    ASSERT_EQ(tokens.values.size(), static_cast<std::size_t>(std::ceil(run_s)));
    double all_tokens = 0;
    double all_requests = 0;
    for (std::size_t i = 0; i < tokens.values.size(); ++i) {
        const double covered = std::min(1.0, run_s - tokens.times_s[i]);
        all_tokens += tokens.values[i] * covered;
        all_requests += requests.values[i] * covered;
    }
    EXPECT_NEAR(all_tokens, 103 * 11, 1e-6);
    EXPECT_NEAR(all_requests, 103, 1e-6);
    EXPECT_NEAR(named(series, "in_flight").values[1], 4, 1e-6);
    EXPECT_NEAR(named(series, "ttft_p50_s").values[1], 0.1, 0.03);
    EXPECT_EQ(named(series, "failed").values[2], 1);
    EXPECT_EQ(named(series, "failed").values[1], 0);
}

TEST(Series, leave_out_the_seconds_without_a_value) {
    const std::vector<RequestRecord> records{
        script::answered(kStart, {.ttft = 2500ms, .gap = 1ms, .tokens = 11})};
    const Series ttft = named(script::series_of(records, run_of(records)), "ttft_p50_s");
    EXPECT_EQ(ttft.times_s, (std::vector<double>{2}));
    EXPECT_EQ(ttft.values, (std::vector<double>{2.5}));
}

TEST(Series, of_a_run_of_years_have_values_of_longer_stretches) {
    const std::vector<RequestRecord> records{
        script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 11}),
        script::answered(kStart + 100'000'000s, {.ttft = 1s, .gap = 1s, .tokens = 11})};
    const auto run = run_of(records);
    EXPECT_EQ(stretches_of({kStart, kStart + 100'000s})->length_s, 1);
    EXPECT_EQ(stretches_of(run)->length_s, 1001);
    const auto series = script::series_of(records, run);
    const Series tokens = named(series, "output_tokens_per_s");
    EXPECT_LE(tokens.values.size(), 100'000U);
    EXPECT_EQ(tokens.times_s[1], 1001) << "times are in seconds";
    EXPECT_NEAR(tokens.values.front(), 11.0 / 1001, 1e-9);
    EXPECT_NEAR(tokens.values.back() * (seconds(run.length()) - tokens.times_s.back()), 11, 1e-6);
    EXPECT_EQ(named(series, "ttft_p50_s").values, (std::vector<double>{1, 1}));
}

TEST(Series, of_less_than_a_second_have_one_value) {
    const std::vector<RequestRecord> records{
        script::answered(kStart, {.ttft = 20ms, .gap = 1ms, .tokens = 11})};
    const Series tokens = named(script::series_of(records, run_of(records)), "output_tokens_per_s");
    ASSERT_EQ(tokens.values.size(), 1U);
    EXPECT_NEAR(tokens.values[0], 11 / 0.03, 1);
    EXPECT_TRUE(script::series_of({}, {}).empty());
}

}  // namespace
}  // namespace paretoken
