#include "reports/analysis/model/pareto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.h"

namespace paretoken::reports {
namespace {

TEST(Pareto, KeepsWhatNothingBeatsAndNamesWhatBeatsTheRest) {
    const std::vector<ParetoPoint> points{{50, 1.0}, {40, 0.5}, {30, 0.7}, {10, 0.2}};
    const auto places = pareto_front(points);
    EXPECT_TRUE(places[0].on_front);
    EXPECT_TRUE(places[1].on_front);
    EXPECT_FALSE(places[2].on_front);
    EXPECT_EQ(places[2].dominated_by, 1u);
    EXPECT_TRUE(places[3].on_front);
}

TEST(Pareto, KeepsTies) {
    const std::vector<ParetoPoint> points{{40, 0.5}, {40, 0.5}, {40, 0.6}, {30, 0.5}};
    const auto places = pareto_front(points);
    EXPECT_TRUE(places[0].on_front);
    EXPECT_TRUE(places[1].on_front);
    EXPECT_FALSE(places[2].on_front);
    EXPECT_FALSE(places[3].on_front);
}

TEST(Pareto, RejectsWhatIsNotANumber) {
    const double nan = std::nan("");
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<ParetoPoint> points{{nan, 0.1}, {90, nan}, {infinity, 0.1}, {10, infinity}, {10, 1}};
    const auto places = pareto_front(points);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_FALSE(places[i].on_front) << i;
        EXPECT_FALSE(places[i].dominated_by) << i;
    }
    EXPECT_TRUE(places[4].on_front);
}

TEST(Pareto, OfNothingIsNothing) {
    EXPECT_TRUE(pareto_front({}).empty());
}

TEST(Pareto, AgreesWithTheDefinitionOnRandomPoints) {
    Random random(11);
    for (int round = 0; round < 300; ++round) {
        std::vector<ParetoPoint> points(1 + random.below(12));
        for (ParetoPoint& point : points)  // few distinct values, so that there are ties
            point = {static_cast<double>(random.below(5)), static_cast<double>(random.below(5))};
        const auto places = pareto_front(points);
        for (std::size_t i = 0; i < points.size(); ++i) {
            bool beaten = false;
            for (const ParetoPoint& other : points) beaten = beaten || dominates(other, points[i]);
            EXPECT_EQ(places[i].on_front, !beaten);
            ASSERT_EQ(places[i].dominated_by.has_value(), beaten);
            if (!beaten) continue;
            EXPECT_TRUE(dominates(points[*places[i].dominated_by], points[i]));
            EXPECT_TRUE(places[*places[i].dominated_by].on_front);
        }
    }
}

}  // namespace
}  // namespace paretoken::reports
