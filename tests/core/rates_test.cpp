#include "core/rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/window.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

TEST(Flow, credits_what_happens_inside_and_drops_the_rest) {
    Flow flow({kStart, kStart + 4s}, 4);
    flow.add(kStart, 1);
    flow.add(kStart + 1500ms, 2);
    flow.add(kStart - 1ns, 8);
    flow.add(kStart + 4s, 8);
    EXPECT_EQ(flow.bins(), (std::vector<double>{1, 2, 0, 0}));
}

TEST(Flow, spreads_evenly_and_only_over_its_own_stretch) {
    Flow flow({kStart, kStart + 4s}, 4);
    flow.add_evenly(kStart + 500ms, kStart + 2500ms, 4);
    EXPECT_NEAR(flow.bins()[0], 1, 1e-9);
    EXPECT_NEAR(flow.bins()[1], 2, 1e-9);
    EXPECT_NEAR(flow.bins()[2], 1, 1e-9);
    flow.add_evenly(kStart - 10s, kStart + 14s, 24);
    EXPECT_NEAR(flow.total(), 4 + 4, 1e-9);
    flow.add_evenly(kStart + 1s, kStart + 1s, 3);
    EXPECT_NEAR(flow.total(), 11, 1e-9);
    flow.add_evenly(kStart - 3s, kStart - 1s, 5);
    flow.add_evenly(kStart + 5s, kStart + 6s, 5);
    EXPECT_NEAR(flow.total(), 11, 1e-9);
}

TEST(Flow, of_any_division_adds_up_to_the_same) {
    Random random(1);
    for (const std::size_t bins : {1U, 3U, 7U, 100U}) {
        Flow flow({kStart, kStart + 10s}, bins);
        for (int i = 0; i < 200; ++i) {
            const auto from = kStart + from_seconds(random.uniform() * 5);
            flow.add_evenly(from, from + from_seconds(random.uniform() * 5), 1);
        }
        EXPECT_NEAR(flow.total(), 200, 1e-6) << bins;
    }
}

TEST(OutputTokens, are_credited_at_the_time_of_their_events) {
    const auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 4});
    Flow flow({kStart, kStart + 5s}, 5);
    credit_output_tokens(record, flow);
    EXPECT_EQ(flow.bins(), (std::vector<double>{0, 1, 1, 1, 1}));
}

TEST(OutputTokens, without_events_are_spread_between_the_first_and_the_last) {
    auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 4});
    record.events.clear();
    Flow flow({kStart, kStart + 5s}, 5);
    credit_output_tokens(record, flow);
    EXPECT_NEAR(flow.bins()[0], 0, 1e-9);
    EXPECT_NEAR(flow.bins()[1], 2, 1e-9);  // the first arrival, and one of the three that follow
    EXPECT_NEAR(flow.bins()[3], 1, 1e-9);
    EXPECT_NEAR(flow.total(), 4, 1e-9);
}

TEST(OutputTokens, add_up_to_what_usage_counts) {
    auto record = script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 4});
    record.usage.completion = 6;
    for (const bool keeps_events : {true, false}) {
        if (!keeps_events) record.events.clear();
        Flow flow({kStart, kStart + 5s}, 1);
        credit_output_tokens(record, flow);
        EXPECT_NEAR(flow.total(), 6, 1e-9);
    }
}

TEST(Throughput, of_a_whole_run_is_its_totals_over_its_length) {
    const auto records = script::closed_loop(4, 60, {});
    const auto run = run_of(records);
    const auto rates = throughput_of(records, run, {});
    const double length = seconds(run.length());
    EXPECT_NEAR(*rates.requests_per_s * length, 60, 1e-6);
    EXPECT_NEAR(*rates.output_tokens_per_s * length, 60 * 11, 1e-6);
    EXPECT_NEAR(*rates.input_tokens_per_s * length, 60 * 100, 1e-6);
    EXPECT_NEAR(*rates.total_tokens_per_s * length, 60 * 111, 1e-6);
    EXPECT_FALSE(rates.goodput_per_s);
}

TEST(Throughput, of_a_stretch_is_additive_over_its_parts) {
    const auto records = script::closed_loop(5, 80, {});
    const auto run = run_of(records);
    const TimePoint middle = run.begin + run.length() / 3;
    const auto amount = [&](TimeSpan span) {
        return *throughput_of(records, span, {}).output_tokens_per_s * seconds(span.length());
    };
    EXPECT_NEAR(amount({run.begin, middle}) + amount({middle, run.end}), amount(run), 1e-6);
}

TEST(Throughput, a_request_across_the_edge_counts_by_its_tokens) {
    const std::vector<RequestRecord> records{script::answered(kStart, {.ttft = 1s, .gap = 1s, .tokens = 10})};
    const auto rates = throughput_of(records, {kStart + 3500ms, kStart + 6500ms}, {});
    EXPECT_DOUBLE_EQ(*rates.output_tokens_per_s, 1);
    EXPECT_DOUBLE_EQ(*rates.requests_per_s, 0);
    EXPECT_DOUBLE_EQ(*rates.input_tokens_per_s, 0);
    EXPECT_NEAR(*rates.mean_in_flight, 1, 1e-9);
}

TEST(Throughput, failures_earn_nothing_and_requests_cut_off_earn_what_was_streamed) {
    std::vector<RequestRecord> records{script::answered(kStart, {}), script::answered(kStart, {}),
                                       script::answered(kStart, {})};
    records[1].outcome = Outcome::truncated;
    records[2].outcome = Outcome::cancelled;
    const TimeSpan second{kStart, kStart + 1s};
    const auto rates = throughput_of(records, second, {});
    EXPECT_NEAR(*rates.output_tokens_per_s, 22, 1e-9);
    EXPECT_NEAR(*rates.requests_per_s, 1, 1e-9);
    EXPECT_NEAR(*rates.mean_in_flight, 3 * 0.2, 1e-9);
}

TEST(Throughput, without_prompt_counts_has_no_input_rate) {
    std::vector<RequestRecord> records{script::answered(kStart, {})};
    records[0].usage.prompt.reset();
    const auto rates = throughput_of(records, run_of(records), {});
    EXPECT_FALSE(rates.input_tokens_per_s);
    EXPECT_FALSE(rates.total_tokens_per_s);
    EXPECT_TRUE(rates.output_tokens_per_s);
    EXPECT_EQ(throughput_of({}, {}, {}), Throughput{});
}

TEST(Goodput, counts_failures_as_bad_and_leaves_out_what_the_end_of_the_run_cut_off) {
    std::vector<RequestRecord> records{script::answered(kStart, {}),
                                       script::answered(kStart, {.ttft = 300ms, .gap = 10ms, .tokens = 11}),
                                       script::failed(kStart), script::answered(kStart, {})};
    records[3].outcome = Outcome::cancelled;
    SummaryOptions options;
    options.slos = {{"ttft", 0.2}};
    const auto rates = throughput_of(records, {kStart, kStart + 1s}, options);
    EXPECT_DOUBLE_EQ(*rates.goodput_ratio, 1.0 / 3);
    EXPECT_DOUBLE_EQ(*rates.goodput_per_s, 1);
}

TEST(OutputRateInterval, holds_the_rate_and_needs_ten_blocks_of_three_requests) {
    const auto records = script::closed_loop(8, 2000, {});
    const TimeSpan window{kStart + 1s, records.back().started};
    const auto interval = output_rate_interval(records, window, 0.2);
    ASSERT_TRUE(interval);
    const double rate = *throughput_of(records, window, {}).output_tokens_per_s;
    EXPECT_LT(interval->low, rate);
    EXPECT_GT(interval->high, rate);
    EXPECT_LT(interval->high - interval->low, 0.1 * rate);
    EXPECT_FALSE(output_rate_interval(records, {kStart, kStart + 5900ms}, 0.2));
    EXPECT_TRUE(output_rate_interval(records, {kStart, kStart + 6100ms}, 0.2));
}

TEST(Series, has_a_point_a_second_and_adds_up) {
    auto records = script::closed_loop(4, 103, {});
    records.push_back(script::failed(kStart + 2500ms));
    const auto run = run_of(records);
    const auto series = series_of(records, run);
    const double run_s = seconds(run.length());
    ASSERT_EQ(series.size(), static_cast<std::size_t>(std::ceil(run_s)));
    double tokens = 0;
    double requests = 0;
    for (const auto& point : series) {
        const double covered = std::min(1.0, run_s - point.at_s);
        tokens += point.output_tokens_per_s * covered;
        requests += point.requests_per_s * covered;
    }
    EXPECT_NEAR(tokens, 103 * 11, 1e-6);
    EXPECT_NEAR(requests, 103, 1e-6);
    EXPECT_NEAR(series[1].in_flight, 4, 1e-6);
    EXPECT_NEAR(*series[1].ttft_p50_s, 0.1, 0.03);
    EXPECT_EQ(series[2].failed, 1U);
    EXPECT_EQ(series[1].failed, 0U);
}

TEST(Series, of_less_than_a_second_is_one_point) {
    const std::vector<RequestRecord> records{
        script::answered(kStart, {.ttft = 20ms, .gap = 1ms, .tokens = 11})};
    EXPECT_EQ(series_of(records, run_of(records)).size(), 1U);
    EXPECT_NEAR(series_of(records, run_of(records))[0].output_tokens_per_s, 11 / 0.03, 1);
    EXPECT_TRUE(series_of({}, {}).empty());
}

}  // namespace
}  // namespace paretoken
