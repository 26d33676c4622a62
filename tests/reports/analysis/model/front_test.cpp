#include "reports/analysis/model/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/result/metrics.h"
#include "reports/analysis/model/pareto.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// A run that gives each user `per_user` tokens/s and costs `usd` per million tokens, both within ± 5 %.
ReportPoint point(std::uint64_t concurrency, double per_user, double usd, bool certified = true) {
    ReportPoint p;
    p.result = sample::run(concurrency);
    p.load_label = "c=" + std::to_string(concurrency);
    p.load = static_cast<double>(concurrency);
    p.interactivity = per_user;
    p.output_tokens_per_s = 1e3 / usd;
    p.cost = PointCost{};
    p.cost->usd_per_m_output = usd;
    p.cost->usd_per_m_output_ci95 = Interval{usd * 0.95, usd * 1.05};
    for (MetricSummary& metric : p.result.metrics) {
        if (metric.key != "interactivity_tok_per_s") continue;
        for (PercentileValue& held : metric.percentiles)
            if (held.p == 0.9)
                held = {.p = 0.9,
                        .value = per_user,
                        .ci95 = Interval{per_user * 0.95, per_user * 1.05},
                        .certified = certified};
    }
    return p;
}

Configuration configuration(const std::string& name, std::vector<ReportPoint> points) {
    Configuration c;
    c.title = "llama on " + name;
    c.name = name;
    c.served = "llama";
    c.price_basis = "on_demand, 2026-11-01";
    c.workload = "512 in : 128 out";
    c.points = std::move(points);
    return c;
}

TEST(Front, GoesOverConfigurationsAndNamesWhatDominatesAPoint) {
    std::vector<Configuration> all{configuration("H100", {point(1, 100, 4), point(8, 40, 2)}),
                                   configuration("L40S int4", {point(8, 60, 1)})};
    const FrontNote note = place_on_fronts(all, {});
    EXPECT_TRUE(all[0].points[0].on_front);
    EXPECT_FALSE(all[0].points[1].on_front);
    EXPECT_TRUE(all[0].points[1].on_own_front);
    EXPECT_EQ(all[0].points[1].why_not, "dominated by c=8 on L40S int4");
    EXPECT_TRUE(all[1].points[0].on_front);
    EXPECT_THAT(note.separate, IsEmpty());
}

TEST(Front, NamesNoConfigurationWhereTheBetterRunIsOfTheSame) {
    std::vector<Configuration> all{configuration("H100", {point(1, 100, 1), point(8, 40, 2)}),
                                   configuration("L40S", {point(8, 30, 0.5)})};
    place_on_fronts(all, {});
    EXPECT_EQ(all[0].points[1].why_not, "dominated by c=1");
}

TEST(Front, SaysWhenAnIntervalReachesIt) {
    std::vector<Configuration> all{configuration("A", {point(8, 60, 1)}),
                                   configuration("B", {point(8, 59, 1.02)}),
                                   configuration("C", {point(8, 50, 1.2)})};
    place_on_fronts(all, {});
    EXPECT_TRUE(all[1].points[0].within_noise);
    EXPECT_EQ(all[1].points[0].why_not, "dominated by c=8 on A, within noise");
    EXPECT_FALSE(all[2].points[0].within_noise);
}

TEST(Front, DoesNotGoOverModelsWorkloadsOrPriceBasesUnlessToldTo) {
    const auto all = [] {
        std::vector<Configuration> made{
            configuration("A", {point(8, 60, 1)}), configuration("B", {point(8, 40, 2)}),
            configuration("C", {point(8, 40, 2)}), configuration("D", {point(8, 40, 2)})};
        made[1].served = "qwen";
        made[2].points[0].result.workload.fingerprint = "other";
        made[2].workload = "4000 in : 50 out";
        made[3].price_basis = "spot, 2026-11-01";
        return made;
    };
    std::vector<Configuration> apart = all();
    const FrontNote note = place_on_fronts(apart, {});
    for (const Configuration& one : apart) EXPECT_TRUE(one.points[0].on_front) << one.name;
    EXPECT_THAT(
        note.separate,
        ElementsAre("B has another model (qwen) than A, so they do not share a front; --anyway joins them.",
                    "D has another price basis (spot, 2026-11-01) than A, so they do not share a front; "
                    "--anyway joins "
                    "them.",
                    "A and C have different workloads, so they do not share a front; --anyway joins them."));
    std::vector<Configuration> together = all();
    const FrontNote marked = place_on_fronts(together, {.anyway = true});
    for (std::size_t i = 1; i < together.size(); ++i)
        EXPECT_EQ(together[i].points[0].why_not, "dominated by c=8 on A");
    EXPECT_TRUE(marked.anyway);
    EXPECT_THAT(marked.separate,
                Contains(HasSubstr("B has another model (qwen) than A; they share a front nevertheless")));
}

TEST(Front, SaysWhichResultNamesNoModel) {
    std::vector<Configuration> all{configuration("A", {point(8, 60, 1)}),
                                   configuration("B", {point(8, 40, 2)})};
    all[0].served = "qwen";
    all[1].served.clear();
    EXPECT_THAT(
        place_on_fronts(all, {}).separate,
        ElementsAre("B has perhaps another model (its result names none) than A, so they do not share "
                    "a front; --anyway joins them."));
    std::swap(all[0].served, all[1].served);
    EXPECT_THAT(place_on_fronts(all, {}).separate,
                ElementsAre("B has perhaps another model (qwen; the other result names none) than A, so they "
                            "do not share a front; --anyway joins them."));
}

TEST(Front, DoesNotHoldWhatHasNoPriceAgainstWhatHasOne) {
    std::vector<Configuration> all{configuration("A", {point(8, 60, 1)}),
                                   configuration("B", {point(8, 40, 2)})};
    all[1].price_basis.clear();
    all[1].points[0].cost.reset();
    for (const bool anyway : {false, true}) {
        const FrontNote note = place_on_fronts(all, {.anyway = anyway});
        EXPECT_TRUE(all[1].points[0].on_front);
        EXPECT_THAT(note.separate, ElementsAre("B has no price, and A has one, so they do not share a front "
                                               "in dollars."));
    }
    std::vector<Configuration> swapped{all[1], all[0]};
    EXPECT_THAT(place_on_fronts(swapped, {}).separate,
                ElementsAre("B has no price, and A has one, so they do not share a front in dollars."));
    std::vector<Configuration> both{all[1], all[1]};
    both[0].title = both[0].name = "C";
    EXPECT_THAT(place_on_fronts(both, {}).separate,
                ElementsAre("Neither C nor B has a price, so they do not share a front in dollars."));
    place_on_fronts(all, {.y = front_y_named("tokens_per_s_per_gpu")});
    EXPECT_EQ(all[1].points[0].why_not, "dominated by c=8 on A");
}

TEST(Front, UnknownQualityDominatesNothingOfAnotherPrecision) {
    const auto all = [] {
        std::vector<Configuration> made{configuration("fp8", {point(8, 60, 1)}),
                                        configuration("bf16", {point(8, 40, 2)})};
        made[0].precision = "weights=fp8";
        made[1].precision = "weights=bf16";
        return made;
    };
    std::vector<Configuration> unknown = all();
    const FrontNote note = place_on_fronts(unknown, {});
    EXPECT_TRUE(unknown[1].points[0].on_front);
    EXPECT_THAT(note.separate, ElementsAre(HasSubstr("Quality of number formats is unknown")));

    std::vector<Configuration> stated = all();
    EXPECT_THAT(place_on_fronts(stated, {.quality_equal = true}).separate, IsEmpty());
    EXPECT_EQ(stated[1].points[0].why_not, "dominated by c=8 on fp8");

    std::vector<Configuration> worse = all();
    worse[0].quality = Quality{0.5, 500, {0.45, 0.55}, "q"};
    worse[1].quality = Quality{0.7, 500, {0.65, 0.75}, "q"};
    EXPECT_THAT(place_on_fronts(worse, {}).separate, IsEmpty());
    EXPECT_TRUE(worse[1].points[0].on_front);
    worse[0].quality = Quality{0.65, 500, {0.6, 0.7}, "q"};
    place_on_fronts(worse, {});
    EXPECT_FALSE(worse[1].points[0].on_front);
    worse[1].quality->probe = "recall:ctx=4000,n=40";
    EXPECT_THAT(place_on_fronts(worse, {}).separate,
                ElementsAre(HasSubstr("Quality of number formats is unknown")));
    EXPECT_TRUE(worse[1].points[0].on_front) << "answers to other questions say nothing";
}

TEST(Front, AnUncertifiedPointDominatesNoneOfAnotherConfiguration) {
    std::vector<Configuration> all{configuration("A", {point(8, 60, 1, false), point(16, 50, 3)}),
                                   configuration("B", {point(8, 40, 2)})};
    place_on_fronts(all, {});
    EXPECT_EQ(all[0].points[1].why_not, "dominated by c=8");
    EXPECT_TRUE(all[1].points[0].on_front);
    EXPECT_THAT(
        place_on_fronts(all, {.anyway = true}).separate,
        ElementsAre("A run whose percentile is not certified dominates runs of other configurations too "
                    "(--anyway)."));
    EXPECT_FALSE(all[1].points[0].on_front);
}

TEST(Front, LeavesOutWhatMissesAnSloAndWhatIsInvalid) {
    std::vector<Configuration> all{configuration("A", {point(1, 100, 4), point(16, 60, 1)}),
                                   configuration("B", {point(8, 40, 2), point(4, 200, 0.1)})};
    all[1].points[1].result.validity = {Verdict::invalid, {{Verdict::invalid, "loop_lag", "late"}}};
    place_on_fronts(all, {});
    EXPECT_FALSE(all[1].points[0].on_front);
    EXPECT_EQ(all[1].points[1].why_not, "invalid: loop_lag");
    // TTFT p90 is 66 ms at c=1, 117 ms at c=8 and 176 ms at c=16.
    place_on_fronts(all, {.slos = {parse_slo("ttft:150")}});
    EXPECT_THAT(all[0].points[1].why_not, HasSubstr("misses the SLO: ttft_p90"));
    EXPECT_TRUE(all[1].points[0].on_front);
}

TEST(Front, HasAPlaceForEveryPairOfAxes) {
    std::vector<Configuration> all{configuration("A", {point(1, 100, 4), point(16, 60, 1)})};
    place_on_fronts(all, {.x = front_x_named("ttft_p95")});
    const auto on_front = [&](std::size_t i, const char* x, const char* y) {
        return all[0].points[i].places[place_of_axes(front_x_named(x), front_y_named(y))].on_front;
    };
    for (const FrontX& x : front_xs())
        for (const FrontY& y : front_ys())
            for (const std::size_t i : {0u, 1u})  // a small load is fast, a large one is cheap
                EXPECT_TRUE(on_front(i, x.name.data(), y.name.data())) << x.name << " " << y.name;
    EXPECT_THAT([] { front_x_named("speed"); },
                ThrowsMessage<UsageError>("--x speed: no such axis; known are interactivity_p90, "
                                          "decode_interactivity_p50, ttft_p95, e2e_p95, date"));
    EXPECT_THROW(front_y_named("usd"), UsageError);
}

// Compares the front with its definition for random configurations, with ties and with values that are not
// numbers.
TEST(Front, AgreesWithTheDefinitionOnRandomConfigurations) {
    Random random(5);
    for (int round = 0; round < 200; ++round) {
        std::vector<Configuration> all;
        for (std::size_t c = 0; c < 1 + random.below(4); ++c) {
            std::vector<ReportPoint> points;
            for (std::size_t p = 0; p < random.below(5); ++p) {
                points.push_back(point(1 + random.below(9), 1.0 + static_cast<double>(random.below(4)),
                                       1.0 + static_cast<double>(random.below(4)), random.below(4) > 0));
                if (random.below(8) == 0)
                    for (MetricSummary& metric : points.back().result.metrics)
                        for (PercentileValue& held : metric.percentiles) held.value = std::nan("");
            }
            all.push_back(configuration("c" + std::to_string(c), points));
            all.back().served = random.below(3) == 0 ? "qwen" : "llama";
        }
        place_on_fronts(all, {});
        for (const Configuration& own : all)
            for (const ReportPoint& worse : own.points) {
                const auto coordinates = [](const ReportPoint& p) {
                    const auto x = p.result.metric("interactivity_tok_per_s")->at(0.9)->value;
                    return ParetoPoint{*x, p.cost->usd_per_m_output};
                };
                if (std::isnan(coordinates(worse).x)) {
                    EXPECT_FALSE(worse.on_front);
                    EXPECT_THAT(worse.why_not, Not(IsEmpty()));
                    continue;
                }
                bool beaten = false;
                for (const Configuration& other : all)
                    for (const ReportPoint& better : other.points) {
                        const bool certified =
                            better.result.metric("interactivity_tok_per_s")->at(0.9)->certified;
                        beaten = beaten || (other.served == own.served && (&other == &own || certified) &&
                                            dominates(coordinates(better), coordinates(worse)));
                    }
                EXPECT_EQ(worse.on_front, !beaten);
                EXPECT_EQ(worse.why_not.empty(), !beaten);
            }
    }
}

}  // namespace
}  // namespace paretoken::reports
