#include "reports/analysis/sweep/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<std::string> kServers{"plain", "drafts"};

SweepPoint point(const std::string& server, double load, double tokens_per_s, std::uint64_t repeat = 1) {
    return {.load = load,
            .cell = {{"server", server}},
            .repeat = repeat,
            .state = PointState::done,
            .output_tokens_per_s = tokens_per_s,
            .ttft_p50_s = 1 / tokens_per_s,
            .verdict = Verdict::valid};
}

/// Points with the throughputs of both servers at loads of 1, 2, 4, …
std::vector<SweepPoint> ladder(const std::vector<double>& plain, const std::vector<double>& drafts) {
    std::vector<SweepPoint> points;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        points.push_back(point("plain", std::exp2(i), plain[i]));
        points.push_back(point("drafts", std::exp2(i), drafts[i]));
    }
    return points;
}

ComparedFigure throughput_of(const std::vector<SweepPoint>& points) {
    return comparison_of(points, kServers).cells.at(0).figures.at(0);
}

TEST(Comparison, finds_the_load_at_which_one_server_overtakes_the_other) {
    // "Plain" is behind by a half at load 2 and ahead by the same share at 4, so they cross in the middle by
    // the logarithm.
    const auto comparison = comparison_of(ladder({10, 20, 60, 120}, {20, 30, 40, 50}), kServers);
    ASSERT_EQ(comparison.cells.size(), 1U);
    ASSERT_EQ(comparison.cells[0].figures.size(), 3U);
    const ComparedFigure& throughput = comparison.cells[0].figures[0];
    EXPECT_EQ(throughput.figure, "output_tokens_per_s");
    EXPECT_EQ(throughput.loads, 4U);
    ASSERT_EQ(throughput.crossings.size(), 1U);
    EXPECT_NEAR(throughput.crossings[0].load, std::sqrt(8), 1e-9);
    EXPECT_EQ(throughput.crossings[0].low, 2);
    EXPECT_EQ(throughput.crossings[0].high, 4);
    EXPECT_EQ(throughput.crossings[0].below, "drafts");
    EXPECT_EQ(throughput.crossings[0].above, "plain");
    EXPECT_EQ(throughput.better, "");
    const ComparedFigure& ttft = comparison.cells[0].figures[1];
    EXPECT_EQ(ttft.figure, "ttft_p50_s") << "a lower time is better";
    ASSERT_EQ(ttft.crossings.size(), 1U);
    EXPECT_NEAR(ttft.crossings[0].load, std::sqrt(8), 1e-9);
    EXPECT_EQ(comparison.cells[0].figures[2].loads, 0U) << "TPOT was not measured";
}

TEST(Comparison, finds_every_crossing_and_none_in_differences_of_a_hundredth) {
    EXPECT_EQ(throughput_of(ladder({10, 20, 10, 20}, {20, 10, 20, 10})).crossings.size(), 3U);
    const ComparedFigure equal = throughput_of(ladder({100, 100, 100}, {100.9, 99.5, 100}));
    EXPECT_THAT(equal.crossings, IsEmpty());
    EXPECT_EQ(equal.better, "");
    const ComparedFigure better = throughput_of(ladder({100, 99.5, 100}, {100, 100, 120}));
    EXPECT_THAT(better.crossings, IsEmpty());
    EXPECT_EQ(better.better, "drafts");
}

TEST(Comparison, between_levels_without_a_difference_lies_between_those_that_have_one) {
    const ComparedFigure figure = throughput_of(ladder({10, 20, 40, 90}, {15, 20, 40, 60}));
    ASSERT_EQ(figure.crossings.size(), 1U);
    EXPECT_EQ(figure.crossings[0].low, 1);
    EXPECT_EQ(figure.crossings[0].high, 8);
    EXPECT_GT(figure.crossings[0].load, 1);
    EXPECT_LT(figure.crossings[0].load, 8);
}

TEST(Comparison, takes_repeats_by_their_mean_and_sees_no_difference_within_their_spread) {
    const auto repeated = [](double spread) {
        std::vector<SweepPoint> points;
        for (std::uint64_t repeat = 1; repeat <= 3; ++repeat) {
            const double off = spread * (static_cast<double>(repeat) - 2);
            points.push_back(point("plain", 1, 100 + off, repeat));
            points.push_back(point("drafts", 1, 110 - off, repeat));
        }
        return throughput_of(points);
    };
    EXPECT_EQ(repeated(1).better, "drafts");
    EXPECT_EQ(repeated(20).better, "");
}

TEST(Comparison, leaves_out_points_that_prove_nothing_or_lack_their_partner) {
    std::vector<SweepPoint> points = ladder({10, 20, 60}, {20, 30, 40});
    points[4].verdict = Verdict::invalid;
    points.push_back(point("plain", 16, 1));
    const ComparedFigure figure = throughput_of(points);
    EXPECT_EQ(figure.loads, 2U);
    EXPECT_EQ(figure.better, "drafts");
    points[2].state = PointState::failed;
    EXPECT_EQ(throughput_of(points).loads, 1U);
    EXPECT_THAT(comparison_of(points, {}).cells, IsEmpty());
}

TEST(Comparison, keeps_cells_apart_and_says_what_the_servers_accepted) {
    std::vector<SweepPoint> points = ladder({10, 60}, {20, 40});
    for (SweepPoint& p : points) p.cell["temperature"] = "0";
    for (SweepPoint p : ladder({10, 20}, {20, 40})) {
        p.cell["temperature"] = "1";
        if (p.cell["server"] == "drafts") p.acceptance = p.load == 1 ? .5 : .6;
        points.push_back(p);
    }
    const auto comparison = comparison_of(points, kServers);
    ASSERT_EQ(comparison.cells.size(), 2U);
    EXPECT_EQ(comparison.cells[0].cell, (std::map<std::string, std::string>{{"temperature", "0"}}));
    EXPECT_EQ(comparison.cells[0].figures[0].crossings.size(), 1U);
    EXPECT_THAT(comparison.cells[0].acceptance, IsEmpty());
    EXPECT_EQ(comparison.cells[1].figures[0].better, "drafts");
    EXPECT_NEAR(comparison.cells[1].acceptance.at("drafts"), .55, 1e-12);
    EXPECT_THAT(
        sentences_of(comparison, "concurrency"),
        ElementsAre(AllOf(HasSubstr("At temperature 0: throughput"),
                          HasSubstr("drafts is better by 100 % below about"),
                          HasSubstr("in flight (between 1 and 2), plain by 50 % above")),
                    HasSubstr("At temperature 0: TTFT p50: drafts"), HasSubstr("no load was measured"),
                    HasSubstr("At temperature 1: throughput (output tokens/s): drafts is better by "),
                    HasSubstr(" % at every load at which they differ"), HasSubstr("no load was measured"),
                    AllOf(HasSubstr("drafts: 0.55 of the drafted tokens"), HasSubstr("below 0.6"))));
}

TEST(Comparison, says_by_how_much_a_server_is_better_than_the_other) {
    const auto comparison = comparison_of(ladder({100, 100, 100}, {110, 125, 100}), kServers);
    const auto sentences = sentences_of(comparison, "concurrency");
    EXPECT_THAT(sentences[0], HasSubstr("drafts is better by 10 to 25 % at every load at which they differ"));
    EXPECT_THAT(sentences[1], HasSubstr("drafts is better by 9.09 to 20 % at every load")) << "1 - 1 / 1.1";
    EXPECT_THAT(sentences_of(comparison_of(ladder({100, 200}, {200, 100}), kServers), "concurrency")[0],
                AllOf(HasSubstr("drafts is better by 100 % below about"), HasSubstr("plain by 100 % above")));
}

TEST(Comparison, judges_the_accepted_share_of_drafts) {
    const auto said = [](double acceptance) {
        std::vector<SweepPoint> points = ladder({10, 20}, {20, 40});
        for (SweepPoint& p : points)
            if (p.cell["server"] == "drafts") p.acceptance = acceptance;
        return sentences_of(comparison_of(points, kServers), "concurrency").back();
    };
    EXPECT_THAT(said(.59), HasSubstr("below 0.6"));
    EXPECT_THAT(said(.65), HasSubstr("below 0.7: drafts pay at low loads"));
    EXPECT_THAT(said(.75), Not(HasSubstr("below")));
}

TEST(Comparison, names_prefix_caches_that_served_unequal_shares) {
    std::vector<SweepPoint> points = ladder({10, 20}, {20, 40});
    for (SweepPoint& p : points) p.cached_share = .09;
    EXPECT_THAT(sentences_of(comparison_of(points, kServers), "concurrency"),
                Each(Not(HasSubstr("prefix cache"))));
    for (SweepPoint& p : points)
        if (p.cell["server"] == "drafts") p.cached_share = .91;
    EXPECT_THAT(sentences_of(comparison_of(points, kServers), "concurrency"),
                Contains(AllOf(HasSubstr("91 % of the prompts' tokens on drafts, and 9 % on plain"),
                               HasSubstr("--reset-cache"))));
}

}  // namespace
}  // namespace paretoken::reports
