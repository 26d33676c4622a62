#include "core/result/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/random.h"
#include "core/result/metric_summary.h"
#include "core/result/metrics.h"
#include "core/statistics.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

const MetricSummary* find(const RunSummary& summary, std::string_view key) {
    const auto found = std::find_if(summary.metrics.begin(), summary.metrics.end(),
                                    [key](const auto& metric) { return metric.key == key; });
    return found == summary.metrics.end() ? nullptr : &*found;
}

SummaryOptions closed(std::uint64_t concurrency) {
    SummaryOptions options;
    options.concurrency = concurrency;
    return options;
}

/// Returns one request of 100 output tokens that took `e2e`.
RequestRecord hundred_tokens_in(Duration e2e) {
    auto record = script::answered(kStart, {.ttft = e2e / 100, .gap = e2e / 100, .tokens = 100});
    record.last_event = record.closed = kStart + e2e;
    return record;
}

TEST(Summary, of_the_worked_example_has_its_figures) {
    RequestRecord record = script::answered(kStart, {});
    record.events.clear();
    for (const auto& [at, tokens] : {std::pair{100ms, 1U}, std::pair{140ms, 4U}, std::pair{170ms, 3U}}) {
        StreamEvent event;
        event.time = kStart + at;
        event.tokens = tokens;
        record.events.push_back(event);
    }
    record.last_event = record.closed = kStart + 170ms;
    record.streamed_tokens = 8;
    record.usage.completion = 8;
    const auto summary = summarize(std::vector{record}, closed(1));
    EXPECT_DOUBLE_EQ(*find(summary, "ttft_s")->mean, 0.1);
    EXPECT_EQ(find(summary, "itl_s")->n, 7U);
    EXPECT_DOUBLE_EQ(*find(summary, "itl_s")->at(0.5)->value, 0.010);
    EXPECT_DOUBLE_EQ(*find(summary, "itl_s")->max, 0.010);
    EXPECT_EQ(find(summary, "icl_s")->n, 2U);
    EXPECT_DOUBLE_EQ(*find(summary, "icl_s")->mean, 0.035);
    EXPECT_DOUBLE_EQ(*find(summary, "tpot_s")->mean, 0.010);
    EXPECT_DOUBLE_EQ(*find(summary, "interactivity_tok_per_s")->at(0.9)->value, 8 / 0.17);
    EXPECT_DOUBLE_EQ(*find(summary, "decode_interactivity_tok_per_s")->mean, 100);
    EXPECT_FALSE(summary.window_report.steady);
    EXPECT_NEAR(*summary.whole_run.at(figure::kOutputTokens), 8 / 0.17, 1e-6);
}

TEST(Summary, metrics_come_in_the_order_of_the_table_and_absent_ones_are_absent) {
    auto records = script::closed_loop(2, 30, {});
    const auto summary = summarize(records, closed(2));
    std::vector<std::string> expected;
    for (const auto& metric : metrics()) {
        if (metric.tag != "cache_hit" && !metric.of_jobs) expected.push_back(key_of(metric));
    }
    std::vector<std::string> found;
    for (const auto& metric : summary.metrics) found.push_back(metric.key);
    EXPECT_EQ(found, expected);
}

TEST(Summary, percentiles_are_inverted_after_they_were_taken) {
    const std::vector<RequestRecord> records{hundred_tokens_in(2s), hundred_tokens_in(10s)};
    const auto summary = summarize(records, closed(1));
    EXPECT_NEAR(*find(summary, "interactivity_tok_per_s")->at(0.5)->value, 16.667, 0.001);
}

TEST(Summary, an_inverse_keeps_its_own_extremes_and_its_interval_is_swapped) {
    const auto records = script::closed_loop(1, 200, {});
    const auto summary = summarize(records, closed(1));
    const auto* latency = find(summary, "norm_latency_s_per_tok");
    const auto* speed = find(summary, "interactivity_tok_per_s");
    EXPECT_DOUBLE_EQ(*speed->min, 1 / *latency->max);
    EXPECT_DOUBLE_EQ(*speed->max, 1 / *latency->min);
    EXPECT_DOUBLE_EQ(speed->at(0.9)->ci95->low, 1 / latency->at(0.9)->ci95->high);
    EXPECT_DOUBLE_EQ(speed->at(0.9)->ci95->high, 1 / latency->at(0.9)->ci95->low);
    EXPECT_LT(*speed->at(0.9)->value, *speed->at(0.5)->value);  // p90 is the user who is served worse
    EXPECT_GT(*speed->mean, 0);
}

TEST(Summary, of_an_inverse_a_percentile_among_failures_is_zero) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 80; ++i) records.push_back(script::answered(kStart + i * 1s, {}));
    for (int i = 0; i < 20; ++i) records.push_back(script::failed(kStart + i * 4s + 500ms));
    const auto summary = summarize(records, closed(1));
    const auto* speed = find(summary, "interactivity_tok_per_s");
    EXPECT_GT(*speed->at(0.5)->value, 0);
    EXPECT_EQ(speed->at(0.9)->value, 0) << "who gets no answer sees no tokens per second";
    EXPECT_EQ(find(summary, "norm_latency_s_per_tok")->at(0.9)->value, std::nullopt);
}

TEST(Summary, failures_are_infinite_in_percentiles_and_absent_from_means) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 90; ++i)
        records.push_back(script::answered(kStart + i * 1s, {.ttft = 100ms + i * 7 % 90 * 1us}));
    for (int i = 0; i < 10; ++i) records.push_back(script::failed(kStart + i * 9s + 500ms));
    const auto summary = summarize(records, closed(1));
    const auto* ttft = find(summary, "ttft_s");
    EXPECT_EQ(ttft->n, summary.counts.in_window);
    EXPECT_NEAR(ttft->failed_mass, 0.1, 0.02);
    EXPECT_NEAR(*ttft->mean, 0.1, 1e-4);
    EXPECT_NEAR(*ttft->max, 0.1, 1e-4);
    EXPECT_TRUE(ttft->at(0.75)->value);
    EXPECT_FALSE(ttft->at(0.95)->value);
    EXPECT_EQ(ttft->at(0.9)->ci95->high, std::numeric_limits<double>::infinity());
    EXPECT_EQ(find(summary, "interactivity_tok_per_s")->at(0.9)->ci95->low, 0);
    EXPECT_EQ(find(summary, "itl_s")->failed_mass, 0);
    EXPECT_TRUE(find(summary, "itl_s")->at(0.999)->value);
    EXPECT_EQ(find(summary, "output_tokens_tok")->failed_mass, 0);
}

TEST(Summary, counts_requests_failures_warm_up_and_what_was_cut_off) {
    std::vector<RequestRecord> records = script::closed_loop(1, 20, {});
    records[0].warmup = true;
    records[19].outcome = Outcome::cancelled;
    records[5].resent = true;
    records.push_back(script::failed(kStart + 1s));
    records.push_back(script::failed(kStart + 1s));
    records.push_back(script::failed(kStart + 2s, Outcome::timed_out));
    const auto counts = summarize(records, closed(1)).counts;
    EXPECT_EQ(counts.requests, 21U);
    EXPECT_EQ(counts.ok, 18U);
    EXPECT_EQ(counts.failed, 3U);
    EXPECT_EQ(counts.cancelled, 1U);
    EXPECT_EQ(counts.warmup, 1U);
    EXPECT_EQ(counts.resent, 1U);
    EXPECT_EQ(counts.by_outcome, (std::map<std::string, std::uint64_t>{{"http_error", 2}, {"timed_out", 1}}));
    EXPECT_EQ(counts.example_errors.at("http_error"), "HTTP 500");
}

TEST(Summary, latencies_are_of_requests_scheduled_in_the_window_and_followed_to_their_end) {
    auto records = script::closed_loop(4, 400, {});
    const auto before = summarize(records, closed(4));
    ASSERT_TRUE(before.window_report.steady);
    // The last request that is scheduled inside takes very long: it counts, although it ends far outside.
    auto& slow = *std::find_if(records.rbegin(), records.rend(),
                               [&](const auto& r) { return before.window.contains(r.scheduled); });
    slow = script::answered(slow.scheduled, {.ttft = 30s, .gap = 10ms, .tokens = 11});
    auto options = closed(4);
    options.last_dispatch = before.window.end;
    const auto after = summarize(records, options);
    EXPECT_EQ(after.window, before.window);
    EXPECT_DOUBLE_EQ(*find(after, "ttft_s")->max, 30);
    EXPECT_EQ(find(after, "ttft_s")->n, before.counts.in_window);
}

TEST(Summary, the_window_of_a_steady_closed_loop_shows_the_servers_rate) {
    const auto records = script::closed_loop(8, 3000, {});
    const auto summary = summarize(records, closed(8));
    ASSERT_TRUE(summary.window_report.steady);
    const double expected = 8 * 11 / 0.2;  // slots × tokens / end-to-end time
    EXPECT_NEAR(*summary.throughput.at(figure::kOutputTokens) / expected, 1, 0.02);
    EXPECT_NEAR(*summary.throughput.at(figure::kMeanInFlight), 8, 0.01);
    ASSERT_TRUE(summary.throughput.interval(figure::kOutputTokens));
    EXPECT_LT(summary.throughput.interval(figure::kOutputTokens)->low,
              *summary.throughput.at(figure::kOutputTokens));
    EXPECT_GT(summary.throughput.interval(figure::kOutputTokens)->high,
              *summary.throughput.at(figure::kOutputTokens));
    EXPECT_FALSE(summary.whole_run.interval(figure::kOutputTokens));
    EXPECT_NEAR(summary.window_report.end_s, summary.window_report.run_s, 1);
}

/// Returns a closed loop of 16 whose requests run in step: those of a round begin and end together, and the
/// rounds take different times.
std::vector<RequestRecord> in_step(std::size_t rounds) {
    constexpr int kInFlight = 16;
    Random random(7);
    std::vector<RequestRecord> records;
    TimePoint at = kStart;
    for (std::size_t round = 0; round < rounds; ++round) {
        const script::Service service = script::jittered({}, 0.3, random);
        for (int i = 0; i < kInFlight; ++i) {
            script::Service own = service;
            own.ttft += std::chrono::microseconds(random.below(1000));
            own.gap = (length_of(service) - own.ttft) / (own.tokens - 1);
            records.push_back(script::answered(at, own));
            records.back().index = records.size();
        }
        at += length_of(service) + 1ms;
    }
    return records;
}

TEST(Summary, of_a_closed_loop_in_step_has_as_much_evidence_as_rounds) {
    const auto summary = summarize(in_step(120), closed(16));
    ASSERT_TRUE(summary.window_report.steady) << summary.window_report.how;
    const PercentileValue& p95 = *find(summary, "ttft_s")->at(0.95);
    EXPECT_GE(*p95.effective_n, 100);
    ASSERT_TRUE(p95.ci95);
    EXPECT_FALSE(is_from_blocks(p95));
    EXPECT_TRUE(p95.certified);
    EXPECT_EQ(shown_on(p95, 0.2, false), true);
    EXPECT_EQ(shown_on(p95, 0.09, false), false);
    EXPECT_EQ(shown_on(p95, *p95.value, false), std::nullopt);
    EXPECT_GE(*find(summary, "itl_s")->at(0.95)->effective_n, 100);
}

TEST(Summary, of_a_closed_loop_gives_intervals_from_blocks_where_rounds_are_too_few) {
    const auto summary = summarize(in_step(70), closed(16));
    ASSERT_TRUE(summary.window_report.steady) << summary.window_report.how;
    const PercentileValue& p95 = *find(summary, "ttft_s")->at(0.95);
    ASSERT_LT(*p95.effective_n, 72);
    ASSERT_TRUE(p95.ci95);
    EXPECT_TRUE(is_from_blocks(p95));
    EXPECT_FALSE(p95.certified);
    EXPECT_LE(p95.ci95->low, *p95.value);
    EXPECT_GE(p95.ci95->high, *p95.value);
    EXPECT_FALSE(is_from_blocks(*find(summary, "ttft_s")->at(0.5)));
}

TEST(Summary, of_a_closed_loop_has_rates_with_intervals_from_its_rounds) {
    SummaryOptions options = closed(16);
    options.slos = {parse_slo("ttft:10000")};
    const auto summary = summarize(in_step(40), options);
    const auto rate = summary.throughput.interval(figure::kOutputTokens);
    ASSERT_TRUE(rate);
    EXPECT_LT(rate->low, *summary.throughput.at(figure::kOutputTokens));
    EXPECT_GT(rate->high, *summary.throughput.at(figure::kOutputTokens));
    const auto good = summary.throughput.interval(figure::kGoodputRatio);
    ASSERT_TRUE(good);
    EXPECT_EQ(good->high, 1);
    EXPECT_LT(good->low, 0.95) << "about 36 rounds do not show that every request is good";
    EXPECT_GT(good->low, 0.85);
}

TEST(Summary, is_the_same_in_whatever_order_records_come) {
    auto records = script::closed_loop(5, 300, {});
    const auto first = summarize(records, closed(5));
    Random random(9);
    for (std::size_t i = records.size(); i > 1; --i) std::swap(records[i - 1], records[random.below(i)]);
    const auto second = summarize(records, closed(5));
    EXPECT_EQ(first.window, second.window);
    EXPECT_EQ(first.counts, second.counts);
    EXPECT_EQ(find(first, "ttft_s")->percentiles, find(second, "ttft_s")->percentiles);
    EXPECT_EQ(find(first, "e2e_s")->max, find(second, "e2e_s")->max);
    EXPECT_EQ(first.series.size(), second.series.size());
}

TEST(Summary, without_events_keeps_every_per_request_metric_and_the_rates) {
    auto records = script::closed_loop(4, 400, {});
    const auto full = summarize(records, closed(4));
    for (auto& record : records) record.events.clear();
    const auto scalars = summarize(records, closed(4));
    EXPECT_EQ(find(scalars, "itl_s"), nullptr);
    EXPECT_EQ(*find(full, "tpot_s"), *find(scalars, "tpot_s"));
    EXPECT_NEAR(*scalars.throughput.at(figure::kOutputTokens) / *full.throughput.at(figure::kOutputTokens), 1,
                0.01);
}

TEST(Summary, of_nothing_counts_nothing) {
    const auto summary = summarize({}, {});
    EXPECT_EQ(summary.counts, Counts{});
    EXPECT_TRUE(summary.metrics.empty());
    EXPECT_TRUE(summary.series.empty());
    EXPECT_FALSE(summary.window_report.steady);
}

TEST(Summary, of_failures_alone_has_no_metrics_and_still_counts) {
    const auto summary =
        summarize(std::vector{script::failed(kStart), script::failed(kStart + 1s)}, closed(1));
    EXPECT_EQ(summary.counts.failed, 2U);
    EXPECT_TRUE(summary.metrics.empty());
    EXPECT_EQ(summary.whole_run.at(figure::kOutputTokens), 0);
}

TEST(Certified, needs_at_least_the_published_number_of_requests_and_little_more_when_they_are_independent) {
    for (std::size_t count = 40; count < 80; ++count) {
        const auto summary = summarize(script::closed_loop(1, count, {}), closed(1));
        const auto* ttft = find(summary, "ttft_s");
        const auto* p90 = ttft->at(0.9);
        EXPECT_TRUE(!p90->certified || (ttft->n >= 44 && *p90->effective_n >= 44)) << ttft->n;
        EXPECT_TRUE(ttft->at(0.5)->certified);
        EXPECT_FALSE(ttft->at(0.99)->certified);
    }
    const auto enough = summarize(script::closed_loop(1, 100, {}), closed(1));
    EXPECT_TRUE(find(enough, "ttft_s")->at(0.9)->certified);
}

TEST(Instrument, is_by_how_much_a_percentile_could_be_lower_if_the_client_had_not_been_late) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 100; ++i)
        records.push_back(
            script::answered(kStart + i * 1s, {.ttft = 20ms + i * 10us, .gap = 10ms, .tokens = 11}));
    const auto on_time = summarize(records, closed(1));
    for (const char* key : {"ttft_s", "tpot_s", "e2e_s"})
        EXPECT_FALSE(find(on_time, key)->at(0.95)->instrument);
    for (int i = 90; i < 100; ++i) {  // the second token came with the first, 10 ms after it
        records[static_cast<std::size_t>(i)].first_event =
            *records[static_cast<std::size_t>(i)].first_event + 10ms;
        records[static_cast<std::size_t>(i)].first_early = 10ms;
    }
    const auto late = summarize(records, closed(1));
    EXPECT_NEAR(find(late, "ttft_s")->at(0.95)->instrument.value(), 0.010, 0.001);
    EXPECT_NEAR(find(late, "ttft_s")->at(0.5)->instrument.value_or(0), 0, 1e-4);
    EXPECT_FALSE(find(late, "e2e_s")->at(0.95)->instrument) << "the last event was not late";
    for (RequestRecord& record : records) record.last_early = 5ms;
    const auto ends_late = summarize(records, closed(1));
    EXPECT_NEAR(find(ends_late, "e2e_s")->at(0.5)->instrument.value(), 0.005, 1e-6);
    EXPECT_NEAR(find(ends_late, "tpot_s")->at(0.5)->instrument.value(), 0.0005, 1e-6);
    EXPECT_GT(find(ends_late, "interactivity_tok_per_s")->at(0.5)->instrument.value(), 0)
        << "a speed could be higher";
}

/// Returns a figure's FigureValue::instrument; 0 if it has none.
double instrument_of(const RunSummary& summary, std::string_view key) {
    const auto found = std::ranges::find(summary.throughput.values, key, &FigureValue::key);
    return found->instrument.value_or(0);
}

TEST(Instrument, of_a_rate_is_what_slots_would_have_served_that_the_client_left_empty) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 100; ++i) {  // 200 ms each
        records.push_back(script::answered(kStart + i * 220ms, {}));
        if (i > 0) records.back().scheduled = records[static_cast<std::size_t>(i - 1)].closed;
        records.back().started = records.back().ready = records.back().scheduled;
    }
    const auto summary = summarize(records, closed(1));
    for (const auto key : {figure::kOutputTokens, figure::kRequests, figure::kMeanInFlight})
        EXPECT_NEAR(instrument_of(summary, key), 0.1 * *summary.throughput.at(key),
                    0.002 * *summary.throughput.at(key))
            << key;
    EXPECT_EQ(instrument_of(summarize(script::closed_loop(1, 100, {}), closed(1)), figure::kOutputTokens), 0);
    for (const FigureValue& held : summary.whole_run.values) EXPECT_FALSE(held.instrument) << held.key;
}

TEST(Instrument, of_goodput_counts_requests_that_only_the_client_may_have_made_bad) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 100; ++i) {
        records.push_back(script::answered(kStart + i * 1s, {}));
        if (i < 30) records.back().first_early = 10ms;  // its first token may have come after 90 ms
    }
    SummaryOptions options = closed(1);
    options.slos = {{"ttft", 0.095}, {"tpot", 0.0101}};
    const auto summary = summarize(records, options);
    EXPECT_EQ(summary.throughput.at(figure::kGoodputRatio), 0);
    EXPECT_NEAR(instrument_of(summary, figure::kGoodputRatio), 0.3, 0.01);
    EXPECT_NEAR(instrument_of(summary, figure::kGoodput), 0.3, 0.01);
    EXPECT_GT(instrument_of(summary, figure::kGoodOutputTokens), 3);
    EXPECT_EQ(instrument_of(summary, figure::kOutputTokens), 0);
    options.slos[0].limit = 0.085;
    EXPECT_EQ(instrument_of(summarize(records, options), figure::kGoodputRatio), 0) << "bad in any case";
}

TEST(Certified, counts_equal_values_as_one_sample) {
    std::vector<RequestRecord> records;
    Random random(1);
    for (int i = 0; i < 541; ++i)
        records.push_back(script::answered(kStart + i * 1s, {.ttft = (100 + random.below(48)) * 1ms}));
    // A closed loop has as many samples as it has groups of four requests, however few values they have.
    SummaryOptions open;
    open.open_loop = true;
    for (const auto& [options, most] : {std::pair(open, 48.0), {closed(1), 135.0}}) {
        const auto summary = summarize(records, options);
        const auto* ttft = find(summary, "ttft_s");
        for (const auto& held : ttft->percentiles) {
            ASSERT_TRUE(held.effective_n);
            EXPECT_LE(*held.effective_n, most) << held.p;
        }
        EXPECT_FALSE(ttft->at(0.99)->certified);
    }
}

TEST(Certified, never_holds_for_a_percentile_when_it_does_not_for_a_lower_one) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        // Every other half minute is slow: few such intervals decide p50 and p90, single
        // requests decide p99.
        Random random(seed);
        std::vector<RequestRecord> records;
        for (int i = 0; i < 800; ++i) {
            const auto common = (i / 30 % 2 == 0 ? 100ms : 300ms);
            const auto own = random.below(100) == 0 ? 1s : 0s;
            records.push_back(
                script::answered(kStart + i * 2s, {.ttft = common + own + random.below(1000) * 1us}));
        }
        for (const auto& metric : summarize(records, closed(1)).metrics)
            for (std::size_t i = 1; i < metric.percentiles.size(); ++i)
                EXPECT_TRUE(!metric.percentiles[i].certified || metric.percentiles[i - 1].certified)
                    << metric.key << " " << metric.percentiles[i].p;
    }
}

TEST(Certified, is_withheld_with_its_interval_when_all_requests_start_at_once) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 600; ++i)
        records.push_back(script::answered(kStart, {.ttft = 100ms + i / 50 * 20ms}));
    SummaryOptions open;
    open.open_loop = true;
    for (const auto& metric : summarize(records, open).metrics) {
        for (const auto& held : metric.percentiles) {
            EXPECT_FALSE(held.certified) << metric.key << " " << held.p;
            EXPECT_FALSE(held.ci95) << metric.key << " " << held.p;
        }
    }
}

TEST(Certified, is_withheld_in_a_short_window_of_an_open_loop_whose_intervals_are_wider) {
    constexpr std::uint64_t kCount = 2000;
    RequestTable table;
    Random random(7);
    for (std::uint64_t i = 0; i < kCount; ++i)
        table.add(script::answered(kStart + static_cast<int>(i) * 1s,
                                   {.ttft = 100ms + static_cast<int>(random.below(100'000)) * 1us}));
    const auto p95_of = [&](const LoadMemory& memory) {
        for (const auto& metric : summaries_of({RequestRows(table), true, memory}))
            if (metric && metric->key == "ttft_s") return *metric->at(.95);
        return PercentileValue{};
    };
    LoadMemory memory{.window_s = kCount, .residence_s = 1, .queue_s = 1, .enough_s = kCount};
    const PercentileValue whole = p95_of(memory);
    EXPECT_TRUE(whole.ci95 && whole.certified && whole.decided);
    const auto width = [](const PercentileValue& held) { return held.ci95->high - held.ci95->low; };
    memory.enough_s = 4 * kCount;
    const PercentileValue quarter = p95_of(memory);
    ASSERT_TRUE(quarter.ci95);
    EXPECT_GT(width(quarter), 1.5 * width(whole));
    EXPECT_FALSE(quarter.certified);
    EXPECT_FALSE(quarter.decided);
    EXPECT_EQ(quarter.enough_n, 4 * kCount);
    memory.enough_s = 100 * kCount;  // 20 values count, and p95 needs 72
    EXPECT_FALSE(p95_of(memory).ci95);
    memory = {.window_s = kCount, .residence_s = 1, .enough_s = 4 * kCount};
    EXPECT_FALSE(p95_of(memory).ci95) << "a closed loop of few rounds";
}

TEST(Insufficient, evidence_gives_no_interval_and_says_how_many_requests_would_be_enough) {
    const auto summary = summarize(script::closed_loop(1, 150, {}), closed(1));
    const auto* p99 = find(summary, "ttft_s")->at(0.99);
    ASSERT_TRUE(p99->value);
    EXPECT_FALSE(p99->ci95);
    ASSERT_TRUE(p99->enough_n);
    EXPECT_GE(*p99->enough_n, 368U);
    EXPECT_LE(*p99->enough_n, 800U);
    EXPECT_FALSE(find(summary, "ttft_s")->at(0.5)->enough_n);
}

TEST(Certified, is_withheld_when_slow_requests_come_in_bursts) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 100; ++i) {
        const bool slow = i % 50 >= 40;  // one in five, ten in a row
        records.push_back(script::answered(kStart + i * 1s, {.ttft = slow ? 500ms + i * 1ms : 100ms}));
    }
    const auto summary = summarize(records, closed(1));
    EXPECT_FALSE(find(summary, "ttft_s")->at(0.9)->certified);
}

TEST(PooledMetrics, get_an_interval_from_blocks_of_time) {
    const auto records = script::closed_loop(4, 400, {});
    const auto summary = summarize(records, closed(4));
    const auto* itl = find(summary, "itl_s");
    ASSERT_TRUE(itl->at(0.5)->ci95);
    EXPECT_LE(itl->at(0.5)->ci95->low, *itl->at(0.5)->value);
    EXPECT_GE(itl->at(0.5)->ci95->high, *itl->at(0.5)->value);
    EXPECT_LT(itl->at(0.5)->ci95->high - itl->at(0.5)->ci95->low, 0.002);
    EXPECT_TRUE(itl->at(0.5)->certified);
}

TEST(PooledMetrics, a_gap_belongs_where_its_later_event_is) {
    const auto records = script::closed_loop(2, 100, {});
    const auto summary = summarize(records, closed(2));
    std::uint64_t expected = 0;
    for (const auto& record : records) {
        for (std::size_t i = 1; i < record.events.size(); ++i) {
            expected += summary.window.contains(record.events[i].time) ? 1 : 0;
        }
    }
    EXPECT_EQ(find(summary, "itl_s")->n, expected);
}

TEST(Summary, tells_each_class_on_its_own_and_their_totals_add_up) {
    auto records = script::closed_loop(4, 200, {});
    for (std::size_t i = 0; i < records.size(); ++i)
        records[i].request_class = i % 4 == 0 ? "batch" : "interactive";
    const auto summary = summarize(records, closed(4));
    ASSERT_EQ(summary.classes.size(), 2U);
    const Scope& batch = summary.classes.at("batch");
    const Scope& interactive = summary.classes.at("interactive");
    EXPECT_EQ(batch.counts.requests + interactive.counts.requests, summary.counts.requests);
    Totals sum = batch.totals;
    sum += interactive.totals;
    EXPECT_NEAR(sum.output_tokens, summary.totals.output_tokens, 1e-6);
    EXPECT_NEAR(
        *batch.throughput.at(figure::kOutputTokens) + *interactive.throughput.at(figure::kOutputTokens),
        *summary.throughput.at(figure::kOutputTokens), 1e-6);
    EXPECT_TRUE(batch.metric("ttft_s"));
    EXPECT_TRUE(summarize(script::closed_loop(4, 200, {}), closed(4)).classes.empty());
}

TEST(Summary, tells_each_turn_of_conversations_on_its_own) {
    auto records = script::closed_loop(4, 200, {});
    for (std::size_t i = 0; i < records.size(); ++i)
        records[i].turn = Turn{.conversation = i - i % 4, .number = static_cast<std::uint32_t>(i % 4)};
    const auto summary = summarize(records, closed(4));
    ASSERT_EQ(summary.turns.size(), 4U);
    double tokens = 0;
    for (const Scope& turn : summary.turns) {
        EXPECT_EQ(turn.counts.requests, 50U);
        EXPECT_TRUE(turn.metric("itl_s"));
        tokens += turn.totals.output_tokens;
    }
    EXPECT_NEAR(tokens, summary.totals.output_tokens, 1e-6);
    EXPECT_TRUE(summarize(script::closed_loop(4, 200, {}), closed(4)).turns.empty());
}

TEST(Summary, tells_each_of_several_servers_on_its_own) {
    auto records = script::closed_loop(4, 200, {});
    for (std::size_t i = 0; i < records.size(); ++i) records[i].target = i % 2;
    const auto summary = summarize(records, closed(4));
    ASSERT_EQ(summary.targets.size(), 2U);
    EXPECT_EQ(summary.targets[0].counts.requests, 100U);
    EXPECT_NEAR(summary.targets[0].totals.output_tokens + summary.targets[1].totals.output_tokens,
                summary.totals.output_tokens, 1e-6);
}

TEST(Summary, holds_each_class_against_limits_of_its_own) {
    auto records = script::closed_loop(4, 200, {});
    for (std::size_t i = 0; i < records.size(); ++i) records[i].request_class = i % 2 == 0 ? "strict" : "lax";
    SummaryOptions options = closed(4);
    options.class_slos = {{"strict", {parse_slo("ttft:1")}}, {"lax", {parse_slo("ttft:10000")}}};
    const auto summary = summarize(records, options);
    EXPECT_EQ(summary.classes.at("strict").totals.judged_good, 0);
    EXPECT_GT(summary.classes.at("lax").totals.judged_good, 20);
    EXPECT_EQ(summary.totals.judged_good, summary.classes.at("lax").totals.judged_good);
}

/// Returns a request whose user hung up `after` its start; its first token came before, or not at all.
RequestRecord abandoned(TimePoint scheduled, Duration after, bool with_first_token) {
    RequestRecord record = script::answered(scheduled, {});
    record.outcome = Outcome::abandoned;
    record.error = "the user hung up";
    record.closed = scheduled + after;
    if (!with_first_token) {
        record.first_event = record.first_answer = record.last_event = std::nullopt;
        record.events.clear();
        record.chunks = record.streamed_tokens = record.first_group_tokens = 0;
        record.longest_gap.reset();
    }
    record.usage.completion.reset();
    return record;
}

TEST(Summary, of_a_request_that_was_given_up_before_its_first_token_knows_that_it_took_longer) {
    auto records = script::closed_loop(1, 99, {}, 0);  // each has its first token after 100 ms
    for (std::size_t i = 0; i < 60; ++i) {             // 60 slower ones
        RequestRecord& record = records[i];
        record.first_event = record.first_answer = *record.sent + std::chrono::milliseconds(180);
    }
    records.push_back(abandoned(records[50].scheduled, std::chrono::milliseconds(150), false));
    const auto summary = summarize(records, closed(1));
    EXPECT_EQ(summary.counts.abandoned, 1U);
    EXPECT_EQ(summary.counts.failed, 0U);
    const MetricSummary& ttft = *summary.metric("ttft_s");
    EXPECT_EQ(ttft.failed_mass, 0);
    EXPECT_NEAR(*ttft.at(0.5)->value, 0.18, 1e-9) << "an estimate, since it lies beyond what was waited for";
    EXPECT_FALSE(ttft.at(0.5)->ci95);
    EXPECT_FALSE(ttft.at(0.5)->decided);
    EXPECT_FALSE(ttft.at(0.5)->certified);
    records.back().closed = records.back().scheduled + std::chrono::milliseconds(200);
    const auto patient = summarize(records, closed(1));
    EXPECT_NEAR(*patient.percentile("ttft_s", 0.5), 0.18, 1e-9);
    EXPECT_FALSE(patient.percentile("ttft_s", 0.999)) << "it is the abandoned request's own";
    EXPECT_TRUE(patient.metric("ttft_s")->at(0.5)->decided);
    EXPECT_FALSE(patient.metric("ttft_s")->at(0.999)->decided)
        << "nothing is known beyond the time of waiting";
}

TEST(Summary, of_users_who_hang_up_does_not_hide_the_slow_answers) {
    constexpr std::size_t kRequests = 4000;
    Random random(3);
    std::vector<RequestRecord> patient;
    std::vector<RequestRecord> hasty;
    for (std::size_t i = 0; i < kRequests; ++i) {
        const TimePoint at = script::kStart + i * 10ms;
        patient.push_back(script::answered(
            at, {.ttft = from_seconds(0.5 * std::exp(0.5 * random.normal())), .gap = 1ms, .tokens = 11}));
        hasty.push_back(patient.back());
        if (i % 10 >= 3 || patient.back().closed <= at + 400ms) continue;
        hasty.back() = abandoned(at, 400ms, *patient.back().first_event < at + 400ms);
    }
    SummaryOptions options;
    options.open_loop = true;
    const RunSummary truth = summarize(patient, options);
    const RunSummary seen = summarize(hasty, options);
    EXPECT_GT(seen.counts.abandoned, kRequests / 10);
    for (const char* key : {"e2e_s", "ttft_s"}) {
        for (const double p : {0.25, 0.5, 0.75, 0.9, 0.95}) {
            if (truth.metric(key)->at(p) == nullptr) continue;
            EXPECT_NEAR(*seen.percentile(key, p) / *truth.percentile(key, p), 1, 0.05) << key << " " << p;
        }
    }
}

TEST(Summary, tells_a_percentile_among_failures_from_one_beyond_an_abandoned_request) {
    auto records = script::closed_loop(1, 96, {}, 0);
    for (std::size_t i = 0; i < 60; ++i)
        records[i].first_event = records[i].first_answer = *records[i].sent + std::chrono::milliseconds(180);
    for (std::size_t i = 0; i < 3; ++i)
        records.push_back(script::failed(records[20 + 5 * i].scheduled + std::chrono::milliseconds(1)));
    records.push_back(abandoned(records[50].scheduled, std::chrono::milliseconds(150), false));
    const auto summary = summarize(records, closed(1));
    const MetricSummary& ttft = *summary.metric("ttft_s");
    EXPECT_GT(ttft.failed_mass, 0);
    EXPECT_NEAR(*ttft.at(0.75)->value, 0.18, 1e-9);
    EXPECT_FALSE(ttft.at(0.75)->ci95) << "it lies beyond what the abandoned request waited for";
    EXPECT_FALSE(falls_among_failures(ttft, 0.75));
    EXPECT_FALSE(ttft.at(0.99)->value);
    EXPECT_TRUE(falls_among_failures(ttft, 0.99));
}

TEST(Summary, of_a_request_that_was_given_up_later_keeps_its_first_token_and_that_it_took_longer) {
    auto records = script::closed_loop(1, 50, {}, 0);
    SummaryOptions options = closed(1);
    options.slos = {parse_slo("ttft:1000")};
    const auto before = summarize(records, options);
    records.push_back(abandoned(records[20].scheduled, std::chrono::milliseconds(150), true));
    const auto after = summarize(records, options);
    EXPECT_EQ(after.metric("ttft_s")->n, before.metric("ttft_s")->n + 1);
    EXPECT_EQ(after.metric("e2e_s")->n, before.metric("e2e_s")->n + 1);
    EXPECT_EQ(after.metric("e2e_s")->mean, before.metric("e2e_s")->mean);
    EXPECT_EQ(after.metric("tpot_s")->n, before.metric("tpot_s")->n);
    EXPECT_EQ(after.whole_run_totals.judged, before.whole_run_totals.judged) << "goodput leaves it out";
}

TEST(Summary, counts_requests_that_waited_through_the_whole_window) {
    auto records = script::closed_loop(1, 100, {});
    auto starved = script::answered(kStart, {});
    starved.first_event = starved.last_event = starved.finished = starved.closed = kStart + 60s;
    records.insert(records.begin(), 3, starved);
    const auto summary = summarize(records, closed(4));
    EXPECT_EQ(summary.counts.starved, summary.window_report.steady ? 3U : 0U);
    ASSERT_NE(find(summary, "e2e_s"), nullptr);
    EXPECT_NEAR(*find(summary, "e2e_s")->at(0.99)->value, 60, 1);
}

TEST(Summary, leaves_out_what_streams_that_came_in_one_piece_do_not_show) {
    auto records = script::closed_loop(4, 200, {.tokens = 32});
    EXPECT_NE(find(summarize(records, closed(4)), "tpot_s"), nullptr);
    for (RequestRecord& record : records) {
        record.first_event = *record.last_event - 1ms;  // all within a millisecond at the end
        record.longest_gap = 1ms;
    }
    const RunSummary bunched = summarize(records, closed(4));
    EXPECT_EQ(bunched.counts.bunched, 200U);
    for (const char* key : {"itl_s", "icl_s", "tpot_s", "decode_interactivity_tok_per_s"})
        EXPECT_EQ(find(bunched, key), nullptr) << key;
    for (const char* key : {"ttft_s", "e2e_s", "interactivity_tok_per_s"})
        EXPECT_NE(find(bunched, key), nullptr) << key;
    records = script::closed_loop(4, 200, {.tokens = 8});
    for (RequestRecord& record : records) record.grouped_chunks = record.chunks - 1;
    EXPECT_NE(find(summarize(records, closed(4)), "tpot_s"), nullptr) << "seven of eight share a read";
    for (RequestRecord& record : records) record.grouped_chunks = record.chunks;
    EXPECT_EQ(find(summarize(records, closed(4)), "tpot_s"), nullptr);
}

TEST(Summary, requests_per_second_times_their_time_is_the_number_in_flight_of_a_closed_loop) {
    Random random(11);
    const auto whole = [&](int least, int most) {
        return least + static_cast<int>(random.uniform() * (most - least + 1));
    };
    for (int plan = 0; plan < 200; ++plan) {
        const int slots = whole(1, 64);
        const int rounds = whole(8, 30);
        const script::Service service{.ttft = std::chrono::milliseconds(whole(5, 500)),
                                      .gap = std::chrono::milliseconds(whole(0, 20)),
                                      .tokens = static_cast<std::uint32_t>(whole(2, 40))};
        const bool in_step = plan % 2 == 0;
        const Duration until_started = plan % 4 < 2 ? 0us : 50us;  // as over sockets
        std::vector<RequestRecord> records;
        for (int slot = 0; slot < slots; ++slot) {
            TimePoint at = script::kStart;
            if (!in_step) at += from_seconds(seconds(script::length_of(service)) * random.uniform());
            for (int round = 0; round < rounds; ++round) {
                records.push_back(script::answered(at, service));
                records.back().started += until_started;
                at = records.back().closed;
            }
        }
        SummaryOptions options;
        options.concurrency = static_cast<std::uint64_t>(slots);
        const RunSummary summary = summarize(records, options);
        if (!summary.window_report.steady) continue;
        const double by_requests =
            *summary.throughput.at(figure::kRequests) * seconds(script::length_of(service));
        const double by_tokens = *summary.throughput.at(figure::kOutputTokens) / service.tokens *
                                 seconds(script::length_of(service));
        const auto in_flight = *summary.throughput.at(figure::kMeanInFlight);
        EXPECT_NEAR(by_requests / in_flight, 1, .01) << "plan " << plan << ", in step " << in_step;
        EXPECT_NEAR(by_tokens / in_flight, 1, .01) << "plan " << plan << ", in step " << in_step;
    }
}

}  // namespace
}  // namespace paretoken
