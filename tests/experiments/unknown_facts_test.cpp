// Takes one fact after the other away from a run in virtual time. What needs the fact must vanish from the
// result, the result must say so, and everything else must stay as it was.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/run/judging.h"
#include "core/run/result_of.h"
#include "reports/files/json/run_json.h"
#include "tests/experiments/virtual_sweep.h"
#include "tests/support/kept_run.h"
#include "tests/support/without_fact.h"

namespace paretoken::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

using Names = std::set<std::string, std::less<>>;

/// What a fact takes away.
struct Vanishing {
    Fact fact;
    Names metrics;  ///< tags
    Names figures;  ///< keys
    Names series = {};
};

const Names kInputFigures = {"input_tokens_per_s", "fresh_input_tokens_per_s", "cached_input_tokens_per_s",
                             "total_tokens_per_s", "cached_prompt_ratio"};
const Names kOutputFigures = {"output_tokens_per_s", "good_output_tokens_per_s", "total_tokens_per_s"};

Names with(Names names, const Names& more) {
    names.insert(more.begin(), more.end());
    return names;
}

/// A run whose requests are limited by `goodput`, which is a limit on the sending or on the scheduled start.
const std::vector<Vanishing>& vanishing() {
    static const std::vector<Vanishing> all = {
        {Fact::sent, {"ttft", "ttfa", "e2e", "send_lag"}, {}, {"ttft_p50_s"}},
        {Fact::first_event,
         {"ttft", "ttft_intended", "ttfa", "itl", "icl", "tpot", "decode_interactivity", "stall"},
         with(kInputFigures, kOutputFigures),
         {"ttft_p50_s", "output_tokens_per_s"}},
        {Fact::event_times, {"itl", "icl", "stall"}, {}},
        {Fact::output_tokens,
         {"itl", "tpot", "norm_latency", "interactivity", "decode_interactivity", "output_tokens"},
         kOutputFigures,
         {"output_tokens_per_s"}},
        {Fact::input_tokens, {"input_tokens", "cache_hit"}, kInputFigures},
        {Fact::cached_tokens,
         {"cache_hit"},
         {"fresh_input_tokens_per_s", "cached_input_tokens_per_s", "cached_prompt_ratio"}},
        {Fact::server_counters, {}, {}},
    };
    return all;
}

Names tags_of(const RunResult& result) {
    Names tags;
    for (const Metric& metric : metrics())
        if (result.metric(key_of(metric)) != nullptr) tags.emplace(metric.tag);
    return tags;
}
Names keys_of(const Figures& figures) {
    Names keys;
    for (const FigureValue& held : figures.values) keys.insert(held.key);
    return keys;
}
Names names_of(const std::vector<Series>& all) {
    Names names;
    for (const Series& series : all)
        if (series.source == "requests" && !series.values.empty()) names.insert(series.name);
    return names;
}

/// Returns a metric without the evidence of pooled ones, whose blocks of time have the length of a median
/// request from its sending or, if that is unknown, from its start.
MetricSummary values_of(MetricSummary metric) {
    if (metric.key != "itl_s" && metric.key != "icl_s") return metric;
    for (PercentileValue& held : metric.percentiles) held = {.p = held.p, .value = held.value};
    return metric;
}

/// Returns the names in `all` that are not in `left`.
Names missing(const Names& all, const Names& left) {
    Names names;
    for (const std::string& name : all)
        if (!left.contains(name)) names.insert(name);
    return names;
}

struct UnknownFacts : VirtualExperiment {
    void SetUp() override {
        VirtualExperiment::SetUp();
        PlanTexts closed = small();
        closed["osl"] = {"32"};
        closed["num_prompts"] = {"400"};
        closed["concurrency"] = {"8"};
        PlanTexts open = closed;
        open.erase("concurrency");
        open["request_rate"] = {"12"};
        runs = {kept(closed, "closed"), kept(open, "open")};
    }
    paretoken::testing::KeptRun kept(const PlanTexts& texts, const std::string& name) {
        measured(texts, name);
        paretoken::testing::KeptRun run(directory_ / name);
        paretoken::testing::add_scrapes(run.recorded.observed);
        return run;
    }

    /// Returns what a source had recorded of the same run that does not know `fact`.
    static paretoken::testing::KeptRun without(paretoken::testing::KeptRun run, Fact fact) {
        for (RequestRecord& record : run.requests)
            record = paretoken::testing::without_fact(std::move(record), fact);
        if (fact == Fact::server_counters) run.recorded.observed.server = {};
        run.recorded.begun.unknown_facts = {fact};
        return run;
    }

    const Judging judging{.goodput = {"e2e:3000"}, .slos = {"ttft_p90:2000", "e2e_p90:8000", "tpot_p90:40"}};
    std::vector<paretoken::testing::KeptRun> runs;
};

TEST_F(UnknownFacts, take_away_what_needs_them_and_nothing_else) {
    for (const auto& run : runs) {
        const RunResult full = run.result(judging);
        ASSERT_EQ(full.metrics.size(), std::count_if(metrics().begin(), metrics().end(),
                                                     [](const Metric& metric) { return !metric.of_jobs; }));
        ASSERT_EQ(full.throughput.values.size(), figures().size());
        ASSERT_TRUE(full.server);
        ASSERT_TRUE(full.window.steady) << full.window.how;
        for (const Vanishing& expected : vanishing()) {
            SCOPED_TRACE(fmt::format("{}, open loop {}", name_of(expected.fact), full.open_loop()));
            const RunResult part = without(run, expected.fact).result(judging);
            Names figures = expected.figures;
            const bool unjudged = expected.fact == Fact::sent && !full.open_loop();
            if (unjudged) figures.insert({"goodput_per_s", "goodput_ratio", "good_output_tokens_per_s"});
            EXPECT_EQ(missing(tags_of(full), tags_of(part)), expected.metrics);
            EXPECT_EQ(missing(keys_of(full.throughput), keys_of(part.throughput)), figures);
            EXPECT_EQ(missing(keys_of(full.whole_run), keys_of(part.whole_run)), figures);
            EXPECT_EQ(missing(names_of(full.series), names_of(part.series)), expected.series);
            EXPECT_EQ(part.server.has_value(), expected.fact != Fact::server_counters);

            for (const MetricSummary& metric : part.metrics)
                EXPECT_EQ(values_of(metric), values_of(*full.metric(metric.key))) << metric.key;
            const bool credited_evenly = expected.fact == Fact::event_times;
            for (const FigureValue& figure : part.throughput.values) {
                const double value = *full.throughput.at(figure.key);
                if (credited_evenly)
                    EXPECT_NEAR(figure.value, value, .01 * value) << figure.key;
                else
                    EXPECT_EQ(figure.value, value) << figure.key;
            }
            for (const FigureValue& figure : part.whole_run.values)
                EXPECT_NEAR(figure.value, *full.whole_run.at(figure.key), 1e-9 * figure.value) << figure.key;
            EXPECT_EQ(part.counts, full.counts);
            EXPECT_EQ(part.window.begin_s, full.window.begin_s);
            EXPECT_EQ(part.window.end_s, full.window.end_s);
            EXPECT_EQ(part.window.steady, full.window.steady);
        }
    }
}

TEST_F(UnknownFacts, are_named_with_everything_that_is_absent) {
    for (const auto& run : runs) {
        const RunResult full = run.result(judging);
        for (const Vanishing& expected : vanishing()) {
            const RunResult part = without(run, expected.fact).result(judging);
            ASSERT_EQ(part.validity.reasons.size(), full.validity.reasons.size() + 1)
                << name_of(expected.fact);
            const Reason& reason = part.validity.reasons.back();
            EXPECT_EQ(reason.check, fmt::format("unknown_{}", name_of(expected.fact)));
            EXPECT_EQ(reason.severity, Verdict::warn);
            const auto absent = slo_texts_in(reason.text.substr(reason.text.find(": ") + 2));
            Names names = with(expected.metrics, missing(keys_of(full.throughput), keys_of(part.throughput)));
            EXPECT_THAT(absent, IsSupersetOf(names)) << reason.text;
            for (const std::string& name : absent)
                EXPECT_TRUE(names.contains(name) ||
                            (metric_named(name) == nullptr && figure_named(name) == nullptr))
                    << name << " is there: " << reason.text;
        }
    }
}

TEST_F(UnknownFacts, leave_limits_on_what_is_absent_undecided_and_say_why) {
    for (const auto& run : runs) {
        const RunResult full = run.result(judging);
        for (const Vanishing& expected : vanishing()) {
            const RunResult part = without(run, expected.fact).result(judging);
            EXPECT_EQ(reports::parse_run_json(reports::run_json(part), "run.json").slo, part.slo);
            for (std::size_t i = 0; i < full.slo.size(); ++i) {
                const SloResult& own = part.slo[i];
                EXPECT_THAT(full.slo[i].note, IsEmpty());
                const std::string tag = own.key.substr(0, own.key.rfind('_'));
                if (!expected.metrics.contains(headline_metric(tag, full.open_loop())->tag)) {
                    EXPECT_EQ(own, full.slo[i]);
                    continue;
                }
                EXPECT_EQ(own.verdict, SloVerdict::insufficient) << own.key;
                EXPECT_EQ(own.over, 0U) << "nobody knows how many";
                EXPECT_THAT(slo_text(part, own),
                            HasSubstr("because the source of the records does not tell"));
                EXPECT_THAT(part.validity.reasons.back().text, HasSubstr(own.note));
            }
        }
    }
}

TEST_F(UnknownFacts, of_requests_limits_leave_these_requests_unjudged) {
    auto run = without(runs.front(), Fact::output_tokens);
    for (RequestRecord& record : run.requests)
        if (record.index % 2 == 0) record.slo = "tpot:1000";
    const RunResult result = run.result(judging);
    EXPECT_EQ(result.whole_run_totals.judged, 200);
    EXPECT_THAT(result.validity.reasons.back().text, HasSubstr("goodput_ratio"));
}

TEST_F(UnknownFacts, that_hide_how_many_tokens_there_were_leave_no_energy_per_token) {
    for (const Fact fact : {Fact::output_tokens, Fact::input_tokens, Fact::sent}) {
        auto run = without(runs.front(), fact);
        for (int second = 0; second < 100; ++second)
            run.recorded.observed.power.readings.push_back(
                {.at = run.recorded.observed.began + std::chrono::seconds(second), .sample = {.watts = 300}});
        const RunResult result = run.result(judging);
        ASSERT_TRUE(result.power && result.power->energy_j);
        EXPECT_EQ(result.power->j_per_output_token.has_value(), fact != Fact::output_tokens);
        EXPECT_EQ(result.power->output_tokens_per_s_per_w.has_value(), fact != Fact::output_tokens);
        EXPECT_EQ(result.power->j_per_token.has_value(), fact == Fact::sent);
    }
}

TEST_F(UnknownFacts, are_the_servers_tokens_if_its_counters_were_not_read_after_the_last_answer) {
    auto run = runs[0];
    std::vector<ServerScrape>& scrapes = run.recorded.observed.server.scrapes;
    scrapes.resize(1);
    scrapes.front().at = run.recorded.observed.began + std::chrono::hours(1);
    EXPECT_TRUE(run.result(judging).server->asked.contains("generation_tokens"));
    scrapes.front().at = run.recorded.observed.began;
    EXPECT_TRUE(run.result(judging).server->asked.empty()) << "as after kill -9";
}

TEST_F(UnknownFacts, make_no_length_no_rate_and_no_kind_of_answer_zero) {
    EXPECT_FALSE(without(runs[0], Fact::output_tokens).result(judging).workload.achieved_output_tokens);
    EXPECT_FALSE(without(runs[0], Fact::input_tokens).result(judging).workload.achieved_input_tokens);
    EXPECT_FALSE(
        without(runs[0], Fact::output_tokens).result(judging).server->asked.contains("generation_tokens"));
    EXPECT_TRUE(runs[1].result(judging).client.achieved_rate_ratio);
    EXPECT_FALSE(without(runs[1], Fact::sent).result(judging).client.achieved_rate_ratio);
    EXPECT_EQ(without(runs[0], Fact::first_event).result(judging).counts.unstreamed, 0U);
}

}  // namespace
}  // namespace paretoken::experiments
