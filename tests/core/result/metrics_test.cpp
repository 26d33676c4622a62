#include "core/result/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/random.h"
#include "core/record/record_events.h"
#include "tests/support/without_fact.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration since) {
    return TimePoint{} + 1000s + since;
}

/// Eight tokens in three chunks of 1, 4 and 3, at 100, 140 and 170 ms after sending; sent 5 ms late.
RequestRecord worked_example() {
    RequestRecord record;
    record.scheduled = at(-5ms);
    record.started = at(-5ms);
    record.sent = at(0ms);
    record.first_event = at(100ms);
    record.first_answer = at(140ms);
    record.last_event = at(170ms);
    record.closed = at(171ms);
    record.usage = {.prompt = 200, .cached_prompt = 50, .completion = 8, .reasoning = 1};
    record.streamed_tokens = 8;
    record.first_group_tokens = 1;
    record.chunks = 3;
    record.longest_gap = 40ms;
    record.events = {{.time = at(100ms), .tokens = 1, .kind = EventKind::reasoning},
                     {.time = at(140ms), .tokens = 4},
                     {.time = at(170ms), .tokens = 3}};
    return record;
}

std::optional<double> value(std::string_view tag, const RequestRecord& record) {
    return metric_named(tag)->of_request(record);
}

std::vector<PooledValue> pool(std::string_view tag, const RequestRecord& record) {
    std::vector<PooledValue> values;
    metric_named(tag)->pool(record, values);
    return values;
}

TEST(HeadlineMetric, is_counted_from_the_intended_start_in_an_open_loop_only) {
    EXPECT_EQ(headline_metric("ttft", true)->tag, "ttft_intended");
    EXPECT_EQ(headline_metric("e2e", true)->tag, "e2e_intended");
    EXPECT_EQ(headline_metric("ttft", false)->tag, "ttft");
    EXPECT_EQ(headline_metric("itl", true)->tag, "itl");
    EXPECT_EQ(headline_metric("nothing", true), nullptr);
    EXPECT_EQ(headline_key("ttft", true), "ttft_intended_s");
}

TEST(Metrics, need_exactly_the_facts_without_which_they_have_no_value) {
    const auto has_value = [](const Metric& metric, const RequestRecord& record) {
        if (metric.pool != nullptr) return !pool(metric.tag, record).empty();
        return value(metric.inverse_of.empty() ? metric.tag : metric.inverse_of, record).has_value();
    };
    for (const Metric& metric : metrics()) {
        if (metric.of_jobs) continue;
        EXPECT_TRUE(has_value(metric, worked_example())) << metric.tag;
        for (const FactText& text : kFacts)
            EXPECT_EQ(has_value(metric, testing::without_fact(worked_example(), text.fact)),
                      !metric.needs.overlaps({text.fact}))
                << metric.tag << " without " << text.name;
    }
}

TEST(Facts, have_the_names_and_the_order_of_their_table) {
    for (std::size_t i = 0; i < kFacts.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(kFacts[i].fact), i);
        EXPECT_EQ(fact_named(name_of(kFacts[i].fact)), kFacts[i].fact);
    }
    EXPECT_FALSE(fact_named("colour"));
}

TEST(Metrics, per_request_values_of_the_worked_example) {
    const auto record = worked_example();
    EXPECT_DOUBLE_EQ(*value("ttft", record), 0.100);
    EXPECT_DOUBLE_EQ(*value("ttft_intended", record), 0.105);
    EXPECT_DOUBLE_EQ(*value("ttfa", record), 0.140);
    EXPECT_DOUBLE_EQ(*value("tpot", record), 0.070 / 7);
    EXPECT_DOUBLE_EQ(*value("e2e", record), 0.170);
    EXPECT_DOUBLE_EQ(*value("e2e_intended", record), 0.175);
    EXPECT_DOUBLE_EQ(*value("norm_latency", record), 0.175 / 8);
    EXPECT_DOUBLE_EQ(*value("stall", record), 0.040);
    EXPECT_DOUBLE_EQ(*value("cache_hit", record), 0.25);
    EXPECT_DOUBLE_EQ(*value("send_lag", record), 0.005);
    EXPECT_DOUBLE_EQ(*value("input_tokens", record), 200);
    EXPECT_DOUBLE_EQ(*value("output_tokens", record), 8);
}

TEST(Metrics, itl_spreads_a_gap_over_its_tokens_and_icl_does_not) {
    const auto itl = pool("itl", worked_example());
    ASSERT_EQ(itl.size(), 2U);
    EXPECT_DOUBLE_EQ(itl[0].value, 0.010);
    EXPECT_EQ(itl[0].weight, 4U);
    EXPECT_EQ(itl[0].at, at(140ms));
    EXPECT_DOUBLE_EQ(itl[1].value, 0.010);
    EXPECT_EQ(itl[1].weight, 3U);

    const auto icl = pool("icl", worked_example());
    ASSERT_EQ(icl.size(), 2U);
    EXPECT_DOUBLE_EQ(icl[0].value, 0.040);
    EXPECT_DOUBLE_EQ(icl[1].value, 0.030);
    EXPECT_EQ(icl[1].weight, 1U);
}

TEST(Metrics, events_of_one_read_are_one_arrival_and_the_gap_inside_is_unknown) {
    auto record = worked_example();
    record.events[2].same_read = true;
    record.events[2].time = record.events[1].time;
    const auto itl = pool("itl", record);
    ASSERT_EQ(itl.size(), 1U);
    EXPECT_DOUBLE_EQ(itl[0].value, 0.040 / 7);
    EXPECT_EQ(itl[0].weight, 7U);
    EXPECT_EQ(pool("icl", record).size(), 1U);
}

TEST(Metrics, an_arrival_without_tokens_lengthens_the_next_gap) {
    auto record = worked_example();
    record.events[1].tokens = 0;
    const auto itl = pool("itl", record);
    ASSERT_EQ(itl.size(), 1U);
    EXPECT_DOUBLE_EQ(itl[0].value, 0.070 / 3);
    EXPECT_EQ(pool("icl", record).size(), 2U);
}

TEST(Metrics, gaps_are_those_of_each_choice_and_itl_and_tpot_agree_in_the_mean) {
    Random random(7);
    for (int round = 0; round < 200; ++round) {
        const auto choices = static_cast<std::uint8_t>(1 + random.below(4));
        RequestRecord record = worked_example();
        record.events.clear();
        std::vector<TimePoint> next(choices, at(100ms));
        for (int token = 0; token < 60; ++token) {
            const auto choice = static_cast<std::uint8_t>(random.below(choices));
            next[choice] = at(100ms) + 10ms * (token / choices);
            record.events.push_back({.time = next[choice], .choice = choice});
        }
        derive_from_events(record);
        const auto values = pool("itl", record);
        double sum = 0;
        double tokens = 0;
        for (const PooledValue& gap : values) {
            EXPECT_TRUE(gap.value == 0 || gap.value > 0.00999) << gap.value;  // never a gap to another choice
            sum += gap.value * static_cast<double>(gap.weight);
            tokens += static_cast<double>(gap.weight);
        }
        EXPECT_NEAR(sum / tokens, *value("tpot", record), 1e-12);
    }
}

TEST(Metrics, what_did_not_happen_is_undefined_and_never_zero) {
    const RequestRecord nothing;
    for (const auto& metric : metrics()) {
        EXPECT_FALSE(metric.of_request != nullptr && metric.of_request(nothing).has_value()) << metric.tag;
        EXPECT_FALSE(metric.pool != nullptr && !pool(metric.tag, nothing).empty()) << metric.tag;
    }
    auto one_token = worked_example();
    one_token.streamed_tokens = 1;
    EXPECT_FALSE(value("tpot", one_token));
}

TEST(Metrics, every_row_is_complete_and_computed_in_exactly_one_way) {
    std::set<std::string> keys;
    for (const auto& metric : metrics()) {
        keys.insert(key_of(metric));
        EXPECT_EQ((metric.of_request != nullptr) + (metric.pool != nullptr) + !metric.inverse_of.empty() +
                      metric.of_jobs,
                  1);
        EXPECT_EQ(metric_named(metric.tag), &metric);
        EXPECT_FALSE(metric.title.empty());
        EXPECT_EQ(metric.definition.back(), '.') << metric.tag;
        EXPECT_TRUE(metric.inverse_of.empty() || metric_named(metric.inverse_of)->of_request != nullptr);
    }
    EXPECT_EQ(keys.size(), metrics().size());
    EXPECT_EQ(metric_named("latency"), nullptr);
}

TEST(Metrics, keys_are_tag_and_unit) {
    EXPECT_EQ(key_of(*metric_named("ttft")), "ttft_s");
    EXPECT_EQ(key_of(*metric_named("itl")), "itl_s");
    EXPECT_EQ(key_of(*metric_named("interactivity")), "interactivity_tok_per_s");
    EXPECT_EQ(key_of(*metric_named("decode_interactivity")), "decode_interactivity_tok_per_s");
    EXPECT_EQ(key_of(*metric_named("norm_latency")), "norm_latency_s_per_tok");
    EXPECT_EQ(key_of(*metric_named("cache_hit")), "cache_hit_ratio");
}

}  // namespace
}  // namespace paretoken
