#include "reports/analysis/model/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two configurations with three loads each; the second costs half and answers more slowly.
std::vector<Configuration> configurations() {
    std::vector<Configuration> all(2);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].title = i == 0 ? "fast and dear" : "slow and cheap";
        for (const std::uint64_t load : {1, 4, 16}) {
            ReportPoint point;
            point.result = sample::run(load, i == 0 ? 0.012 : 0.03);
            point.load_label = "c=" + std::to_string(load);
            point.output_tokens_per_s = 100 * static_cast<double>(load);
            point.interactivity = 80;
            point.cost = PointCost{};
            point.cost->usd_per_m_output = (i == 0 ? 10.0 : 5.0) / static_cast<double>(load);
            all[i].points.push_back(std::move(point));
        }
    }
    return all;
}

/// The choice after the points were judged, as place_on_fronts() does.
ChoiceTable choices(std::vector<Configuration> all, const std::vector<Slo>& slos,
                    const std::vector<std::string>& texts) {
    for (Configuration& configuration : all)
        for (ReportPoint& point : configuration.points) {
            point.fits = unfit_because(point, slos).empty();
            if (!slos.empty()) point.limits = verdict_on_all(point, slos);
        }
    return choices_of(all, slos, texts);
}

ChoiceTable chosen(const std::vector<std::string>& texts) {
    std::vector<Slo> slos;
    for (const std::string& text : texts) slos.push_back(parse_slo(text));
    return choices(configurations(), slos, texts);
}

TEST(Choice, without_limits_is_the_cheapest_run_of_each_and_the_cheapest_first) {
    const ChoiceTable table = chosen({});
    ASSERT_EQ(table.ranked.size(), 2U);
    EXPECT_EQ(table.ranked[0].configuration, 1U);
    EXPECT_EQ(table.ranked[0].load_label, "c=16");
    EXPECT_DOUBLE_EQ(*table.ranked[0].usd_per_m_output, 5.0 / 16);
    EXPECT_TRUE(table.ranked[0].margins.empty());
}

TEST(Choice, within_limits_leaves_out_what_misses_them_and_says_why) {
    // The slow configuration has a TPOT p90 of at least 30 ms at every load, the fast one about 16 ms at c=1.
    const ChoiceTable table = chosen({"tpot_p90:25"});
    ASSERT_EQ(table.ranked.size(), 2U);
    EXPECT_EQ(table.ranked[0].configuration, 0U);
    EXPECT_FALSE(table.ranked[0].load_label.empty());
    ASSERT_EQ(table.ranked[0].margins.size(), 1U);
    EXPECT_THAT(table.ranked[0].margins[0], HasSubstr("tpot_p90"));
    EXPECT_THAT(table.ranked[0].margins[0], HasSubstr("of 25.0 ms"));
    EXPECT_EQ(table.ranked[1].load_label, "");
    EXPECT_THAT(table.ranked[1].why_not, HasSubstr("tpot_p90"));
}

/// Removes what the runs at these loads show at 99 %.
void undecide(Configuration& configuration, std::initializer_list<std::size_t> points) {
    for (const std::size_t point : points)
        for (MetricSummary& metric : configuration.points[point].result.metrics)
            for (PercentileValue& percentile : metric.percentiles) percentile.decided.reset();
}

TEST(Choice, names_a_cheaper_run_that_is_within_the_limits_without_showing_it) {
    auto all = configurations();
    const Slo slo = parse_slo("tpot_p90:25");
    for (std::size_t i = 0; i < 3; ++i)
        for (MetricSummary& metric : all[0].points[i].result.metrics)
            for (PercentileValue& percentile : metric.percentiles) {
                if (percentile.value) percentile.decided = Interval{*percentile.value, *percentile.value};
                if (metric.key == "tpot_s") percentile.value = .02;
            }
    undecide(all[0], {2});
    const ChoiceTable table = choices(all, {slo}, {"tpot_p90:25"});
    EXPECT_EQ(table.ranked[0].load_label, "c=4");
    EXPECT_TRUE(table.ranked[0].shown);
    EXPECT_EQ(table.ranked[0].within,
              "c=16 at $0.625 is cheaper and was measured within the limits, which is not shown at 99 %");
    EXPECT_EQ(chosen({}).ranked[0].within, "");
    undecide(all[0], {0, 1});
    const Choice best = choices(all, {slo}, {"tpot_p90:25"}).ranked[0];
    EXPECT_EQ(best.load_label, "c=16") << "where nothing is shown, the cheapest that is within";
    EXPECT_FALSE(best.shown);
    EXPECT_THAT(best.margins.back(), HasSubstr("not shown at 99 %"));
}

TEST(Choice, has_a_command_with_a_new_seed_and_the_requests_that_would_decide) {
    auto all = configurations();
    all.pop_back();
    for (std::size_t i = 0; i < 3; ++i) {
        all[0].points[i].result.plan = {{"url", "http://localhost:8000"},
                                        {"num_prompts", "600"},
                                        {"seed", std::to_string(40 + i)},
                                        {"stop", "errors=5, slo:ttft_p95>800"},
                                        {"slo", "ttft_p95:800"}};
        for (MetricSummary& metric : all[0].points[i].result.metrics)
            for (PercentileValue& percentile : metric.percentiles) {
                if (metric.key == "tpot_s") percentile.value = .02;
                percentile.enough_n = 3 * metric.n;
            }
    }
    undecide(all[0], {0, 1, 2});
    const auto chosen_with = [&](const char* slo) { return choices(all, {parse_slo(slo)}, {slo}).ranked[0]; };
    Choice again = chosen_with("tpot_p90:25");
    EXPECT_THAT(again.command,
                testing::StartsWith("paretoken run http://localhost:8000 --num-prompts 4320 --stop errors=5 "
                                    "--seed 43 --slo tpot_p90:25 --require met"));
    EXPECT_THAT(again.command_note, HasSubstr("It has 7.2 times as many requests, which may show"));
    EXPECT_THAT(choices(all, {}, {}).ranked[0].command,
                testing::AllOf(HasSubstr("--num-prompts 600"), HasSubstr("--slo ttft_p95:800")))
        << "without limits of the report those of the run";
    for (ReportPoint& point : all[0].points) point.result.window.run_s = 3600;
    again = chosen_with("tpot_p90:25");
    EXPECT_THAT(again.command, HasSubstr("--num-prompts 600")) << "no command of many hours";
    EXPECT_THAT(again.command_note, HasSubstr("would take about 7.2 hours."));
    for (ReportPoint& point : all[0].points) {
        point.result.window.steady = false;
        for (MetricSummary& metric : point.result.metrics)
            for (PercentileValue& percentile : metric.percentiles) percentile.enough_n.reset();
    }
    again = chosen_with("tpot_p90:25");
    EXPECT_THAT(again.command, HasSubstr("--num-prompts 600"));
    EXPECT_THAT(again.command_note, HasSubstr("found no steady state"));
}

TEST(Choice, names_the_limit_that_even_the_smallest_load_misses) {
    const Choice none = chosen({"tpot_p90:25"}).ranked[1];
    EXPECT_THAT(none.why_not, HasSubstr("of 25.0 ms, even at the smallest load, c=1"));
}

TEST(Choice, of_a_run_that_misses_one_limit_and_is_too_short_for_another_says_what_it_misses) {
    auto all = configurations();
    ReportPoint& point = all[1].points[0];
    undecide(all[1], {0});
    for (MetricSummary& metric : point.result.metrics)
        if (metric.key == "ttft_s") metric.n = 3;
    EXPECT_THAT(missed_slo(point, {parse_slo("ttft_p90:1000000"), parse_slo("tpot_p90:25")}),
                HasSubstr("misses the SLO: tpot_p90"));
    EXPECT_THAT(missed_slo(point, {parse_slo("ttft_p90:1000000")}),
                HasSubstr("too few requests to tell anything"));
}

TEST(Choice, ranks_by_throughput_where_no_price_is_known) {
    auto all = configurations();
    for (Configuration& configuration : all)
        for (ReportPoint& point : configuration.points) point.cost.reset();
    all[0].points.back().output_tokens_per_s = 5000;
    const ChoiceTable table = choices(all, {}, {});
    EXPECT_EQ(table.ranked[0].configuration, 0U);
    EXPECT_FALSE(table.ranked[0].usd_per_m_output);
}

TEST(Choice, never_takes_an_invalid_run) {
    auto all = configurations();
    for (ReportPoint& point : all[1].points)
        point.result.validity = {Verdict::invalid, {{Verdict::invalid, "loop_lag", "The client was late."}}};
    const ChoiceTable table = choices(all, {}, {});
    EXPECT_EQ(table.ranked[0].configuration, 0U);
    EXPECT_THAT(table.ranked[1].why_not, HasSubstr("invalid: loop_lag"));
    all[1].points[0].result.counts.by_outcome = {{"http_error", 32}};
    all[1].points[0].result.counts.example_errors = {{"http_error", "429 Too Many Requests"}};
    EXPECT_EQ(unfit_because(all[1].points[0], {}),
              "invalid: loop_lag; 32 http_error, e.g. 429 Too Many Requests");
}

TEST(Choice, never_takes_a_run_whose_server_did_not_keep_up_and_says_what_an_open_loop_served) {
    auto all = configurations();
    for (ReportPoint& point : all[1].points) {
        point.result.request_rate = 20;
        point.result.throughput.set(figure::kRequests, 13.1);
        point.result.counts.in_window = 680;  // of 51.5 s
    }
    EXPECT_THAT(choices(all, {}, {}).ranked[0].margins,
                ElementsAre("served 13.1 of the 13.2 req/s that arrived"));
    for (ReportPoint& point : all[1].points) point.result.throughput.set(figure::kRequests, 13.3);
    EXPECT_TRUE(choices(all, {}, {}).ranked[0].margins.empty()) << "no server answers more than arrive";
    for (ReportPoint& point : all[1].points) {
        point.result.throughput.set(figure::kRequests, 13.1);
        point.result.window.overloaded = true;
    }
    EXPECT_EQ(choices(all, {}, {}).ranked[0].configuration, 0U);
    for (const std::vector<Slo>& slos : {std::vector<Slo>{}, {parse_slo("tpot_p90:1000")}})
        EXPECT_EQ(unfit_because(all[1].points[0], slos),
                  "the server does not keep up with the arrivals (served 13.1 of 20 req/s)");
}

TEST(Choice, takes_the_limits_of_the_runs_where_all_have_the_same) {
    auto all = configurations();
    for (Configuration& configuration : all)
        for (ReportPoint& point : configuration.points) point.result.plan["goodput"] = "ttft:500 tpot:15";
    EXPECT_THAT(common_limits(all, "goodput"), ElementsAre("ttft:500", "tpot:15"));
    EXPECT_TRUE(common_limits(all, "slo").empty());
    all[0].points[0].result.plan["goodput"] = "ttft:400";
    EXPECT_TRUE(common_limits(all, "goodput").empty());
}

TEST(Choice, names_the_limits_of_a_run_that_it_missed_and_that_the_report_does_not_judge) {
    RunResult run = sample::run(16);
    run.plan["slo"] = "ttft_p99:45, e2e:100000";
    run.slo = slo_results(run, parse_slos(slo_texts_in(run.plan["slo"])));
    EXPECT_EQ(missed_own_slo(run, {}), "missed its own SLO ttft_p99:45");
    EXPECT_EQ(missed_own_slo(run, {parse_slo("ttft:45")}), "missed its own SLO ttft_p99:45");
    EXPECT_EQ(missed_own_slo(run, {parse_slo("ttft_p99:800")}), "") << "the report judges it by this limit";
    EXPECT_EQ(missed_own_slo(sample::run(16), {}), "");
}

TEST(Choice, names_a_configuration_whose_answers_are_certainly_better) {
    auto all = configurations();
    all[0].quality = Quality{.8, 1000, {.774, .824}, "q"};
    all[1].quality = Quality{.6, 1000, {.569, .63}, "q"};
    ChoiceTable table = choices(all, {}, {});
    mark_worse_answers(table, all);
    EXPECT_EQ(table.ranked[0].worse_than, "fast and dear (80.0 % right)");
    EXPECT_EQ(table.ranked[1].worse_than, "");
    all[1].quality->ci95.high = .78;
    table = choices(all, {}, {});
    mark_worse_answers(table, all);
    EXPECT_EQ(table.ranked[0].worse_than, "") << "the intervals overlap";
}

}  // namespace
}  // namespace paretoken::reports
