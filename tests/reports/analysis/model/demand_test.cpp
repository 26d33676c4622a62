#include "reports/analysis/model/join/demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result/figures.h"
#include "reports/analysis/model/choice.h"
#include "reports/analysis/sections/sections.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// Two configurations: the first completes 2 req/s per request in flight and costs $8 per hour, the second
/// completes half and costs $1. Both miss a TPOT of 25 ms at 16 in flight.
std::vector<Configuration> two_that_differ() {
    std::vector<Configuration> all(2);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].title = i == 0 ? "fast and dear" : "slow and cheap";
        for (const std::uint64_t load : {1, 4, 16}) {
            ReportPoint point;
            point.result = sample::run(load, load == 16 ? 0.03 : 0.012);
            const double rate = static_cast<double>(load) * (i == 0 ? 2 : 1);
            point.result.throughput.set(figure::kRequests, rate);
            point.load_label = "c=" + std::to_string(load);
            point.output_tokens_per_s = 100 * rate;
            point.interactivity = 80;
            point.cost = PointCost{};
            point.cost->usd_per_h = i == 0 ? 8 : 1;
            all[i].points.push_back(std::move(point));
        }
    }
    return all;
}

const std::vector<Slo> kSlos{parse_slo("tpot_p90:25")};

TEST(Demand, is_carried_by_as_many_deployments_as_the_fullest_run_within_the_limits_says) {
    const DemandTable table = demand_of(two_that_differ(), kSlos, {.requests_per_s = 20});
    ASSERT_THAT(table.ranked, SizeIs(2));
    const DemandRow& cheap = table.ranked[0];
    EXPECT_EQ(cheap.configuration, 1U) << "five times $1 are less than three times $8";
    EXPECT_EQ(cheap.load_label, "c=4");
    EXPECT_EQ(cheap.requests_per_s, 4);
    EXPECT_EQ(cheap.replicas, 5U);
    EXPECT_DOUBLE_EQ(cheap.utilization, 1);
    EXPECT_DOUBLE_EQ(cheap.usd_per_month.value(), 5 * 720);
    const DemandRow& dear = table.ranked[1];
    EXPECT_EQ(dear.replicas, 3U);
    EXPECT_DOUBLE_EQ(dear.utilization, 20.0 / 24);
    EXPECT_DOUBLE_EQ(dear.usd_per_month.value(), 3 * 8 * 720);
}

TEST(Demand, says_that_prices_per_token_leave_time_that_earns_nothing) {
    ReportModel model;
    model.configurations = two_that_differ();
    model.configurations[1].points[1].cost->earning_share = .6;
    model.demand = demand_of(model.configurations, kSlos, {.requests_per_s = 20});
    EXPECT_THAT(demand_sentence(model), HasSubstr("assumes that 60.0 % of the time earns"));
}

TEST(Demand, says_that_the_answers_of_other_formats_are_not_compared) {
    ReportModel model;
    model.configurations = two_that_differ();
    model.demand = demand_of(model.configurations, kSlos, {.requests_per_s = 20});
    EXPECT_THAT(demand_sentence(model), Not(HasSubstr("how well they answer")));
    model.configurations[0].precision = "bf16 weights";
    model.configurations[1].precision = "fp8 weights";
    EXPECT_THAT(demand_sentence(model), HasSubstr("how well they answer is not compared"));
    model.demand->asked.quality_equal = true;
    EXPECT_THAT(demand_sentence(model), Not(HasSubstr("how well they answer")));
}

TEST(Demand, says_that_the_answers_of_the_cheapest_are_certainly_worse) {
    ReportModel model;
    model.configurations = two_that_differ();
    model.configurations[0].quality = Quality{.8, 1000, {.774, .824}, "q"};
    model.configurations[1].quality = Quality{.6, 1000, {.569, .63}, "q"};
    model.choice = choices_of(model.configurations, kSlos, {"tpot_p90:25"});
    mark_worse_answers(model.choice, model.configurations);
    model.demand = demand_of(model.configurations, kSlos, {.requests_per_s = 20});
    EXPECT_EQ(
        demand_title(model),
        "20.0 req/s need 5 × slow and cheap, whose answers (60.0 % right) are certainly worse than those "
        "of fast and dear (80.0 % right), $3,600 per month");
    const Section section = demand_sections(model).at(0);
    const Table& table = std::get<Table>(section.blocks.at(1).content);
    EXPECT_THAT(table.rows.at(0).back(), HasSubstr("answers certainly worse than those of fast and dear"));
    EXPECT_THAT(table.rows.at(1).back(), Not(HasSubstr("worse")));
}

TEST(Demand, a_reserve_needs_more_deployments) {
    const DemandTable table =
        demand_of(two_that_differ(), kSlos, {.requests_per_s = 20, .target_utilization = 0.7});
    EXPECT_EQ(table.ranked[0].replicas, 8U) << "20 / (4 x 0.7) = 7.1";
    EXPECT_LE(table.ranked[0].utilization, 0.7);
}

TEST(Demand, is_exact_for_every_multiple_of_what_one_deployment_carries) {
    for (std::uint64_t replicas = 1; replicas < 300; ++replicas) {
        const AskedDemand asked{.requests_per_s = 4 * static_cast<double>(replicas)};
        EXPECT_EQ(demand_of(two_that_differ(), kSlos, asked).ranked[0].replicas, replicas);
    }
}

TEST(Demand, says_the_interval_of_what_a_closed_loop_completed_or_that_the_run_was_too_short) {
    ReportModel model;
    model.configurations = two_that_differ();
    model.demand = demand_of(model.configurations, kSlos, {.requests_per_s = 20});
    EXPECT_FALSE(model.demand->ranked[0].requests_per_s_ci95);
    EXPECT_EQ(model.demand->ranked[0].most_replicas, 5U);
    EXPECT_THAT(demand_sentence(model), HasSubstr("too short"));
    for (Configuration& configuration : model.configurations)
        for (ReportPoint& point : configuration.points) {
            const double rate = point.result.throughput.at(figure::kRequests).value();
            point.result.throughput.set(figure::kRequests, rate,
                                        Interval{.low = 0.8 * rate, .high = 1.2 * rate});
        }
    model.demand = demand_of(model.configurations, kSlos, {.requests_per_s = 20});
    EXPECT_EQ(model.demand->ranked[0].replicas, 5U);
    EXPECT_EQ(model.demand->ranked[0].most_replicas, 7U) << "20 / 3.2 = 6.25";
    EXPECT_THAT(demand_sentence(model), HasSubstr("4.00 req/s (95 % interval 3.20 to 4.80)"));
    EXPECT_THAT(demand_sentence(model), HasSubstr("With the lower end of the interval, 7 are needed."));
    EXPECT_THAT(demand_sentence(model), Not(HasSubstr("too short")));
}

TEST(Demand, in_an_open_loop_is_carried_at_the_rate_of_the_arrivals) {
    std::vector<Configuration> all = two_that_differ();
    for (Configuration& configuration : all)
        for (ReportPoint& point : configuration.points) {
            point.open_loop = true;
            point.load = 1.25 * point.result.throughput.at(figure::kRequests).value();
        }
    const DemandTable table = demand_of(all, kSlos, {.requests_per_s = 20});
    EXPECT_DOUBLE_EQ(table.ranked[0].requests_per_s, 5) << "and not the 4 that a short window served";
    EXPECT_EQ(table.ranked[0].replicas, 4U);
}

TEST(Demand, counts_the_gpus_of_a_deployment) {
    std::vector<Configuration> all = two_that_differ();
    for (ReportPoint& point : all[1].points) point.result.provenance.hardware_count = 4;
    EXPECT_EQ(demand_of(all, kSlos, {.requests_per_s = 20}).ranked[0].machines, 20U);
}

TEST(Demand, without_a_run_within_the_limits_says_why_and_names_no_number) {
    ReportModel model;
    model.configurations = two_that_differ();
    const std::vector<Slo> strict{parse_slo("tpot_p90:1")};
    model.demand = demand_of(model.configurations, strict, {.requests_per_s = 20});
    EXPECT_THAT(model.demand->ranked[0].why_not, HasSubstr("tpot_p90"));
    EXPECT_EQ(model.demand->ranked[0].replicas, 0U);
    EXPECT_THAT(demand_sentence(model), HasSubstr("cannot be planned"));
}

TEST(Demand, its_sentence_and_its_section_say_what_is_needed) {
    ReportModel model;
    model.configurations = two_that_differ();
    EXPECT_THAT(demand_sections(model), SizeIs(0));
    model.demand = demand_of(model.configurations, kSlos, {.requests_per_s = 20});
    EXPECT_THAT(demand_sentence(model), HasSubstr("5 × slow and cheap, $3,600 per month"));
    EXPECT_THAT(demand_sentence(model), HasSubstr("--request-rate")) << "the run was a closed loop";
    EXPECT_THAT(demand_sections(model), SizeIs(1));
    for (Configuration& configuration : model.configurations)
        for (ReportPoint& point : configuration.points) point.open_loop = true;
    model.demand = demand_of(model.configurations, kSlos, {.requests_per_s = 20});
    EXPECT_THAT(demand_sentence(model), Not(HasSubstr("--request-rate")));
}

}  // namespace
}  // namespace paretoken::reports
