#include "datasets/lengths.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/error.h"

namespace paretoken::datasets {
namespace {

using ::testing::HasSubstr;

struct Drawn {
    double mean = 0;
    double deviation = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
};

Drawn draw_many(const Lengths& lengths) {
    constexpr int kDraws = 20'000;
    double sum = 0, squares = 0;
    Drawn drawn{.low = INT64_MAX};
    for (int i = 0; i < kDraws; ++i) {
        Random random(derived_seed(1, "lengths", i));
        const auto length = lengths.draw(random);
        sum += static_cast<double>(length);
        squares += static_cast<double>(length * length);
        drawn.low = std::min(drawn.low, length);
        drawn.high = std::max(drawn.high, length);
    }
    drawn.mean = sum / kDraws;
    drawn.deviation = std::sqrt(squares / kDraws - drawn.mean * drawn.mean);
    return drawn;
}

TEST(Lengths, ANumberIsItself) {
    Random random(1);
    EXPECT_EQ(Lengths("512").draw(random), 512);
    EXPECT_EQ(Lengths("4k").draw(random), 4000);
    EXPECT_EQ(Lengths("512").mean(), 512);
}

TEST(Lengths, ARatioSpreadsEvenlyOnBothSides) {
    const Drawn drawn = draw_many(Lengths("100:ratio=0.2"));
    EXPECT_EQ(drawn.low, 80);
    EXPECT_EQ(drawn.high, 120);
    EXPECT_NEAR(drawn.mean, 100, 0.5);
    EXPECT_EQ(draw_many(Lengths("10:ratio=1")).low, 1);
}

TEST(Lengths, UniformReachesBothEnds) {
    const Drawn drawn = draw_many(Lengths("uniform:min=1,max=8"));
    EXPECT_EQ(drawn.low, 1);
    EXPECT_EQ(drawn.high, 8);
    EXPECT_NEAR(drawn.mean, Lengths("uniform:min=1,max=8").mean(), 0.1);
}

TEST(Lengths, NormalAndLognormalHaveTheMeanAndSpreadTheyName) {
    const Drawn normal = draw_many(Lengths("normal:mean=512,stddev=64"));
    EXPECT_NEAR(normal.mean, 512, 3);
    EXPECT_NEAR(normal.deviation, 64, 2);
    const Drawn lognormal = draw_many(Lengths("lognormal:mean=512,cv=1"));
    EXPECT_NEAR(lognormal.mean, 512, 15);
    EXPECT_NEAR(lognormal.deviation / lognormal.mean, 1, 0.1);
    EXPECT_NEAR(Lengths("lognormal:mean=512,cv=1").mean(), 512, 1e-9);
    EXPECT_GE(lognormal.low, 1);
}

TEST(Lengths, DrawsAreClampedNotDropped) {
    const Drawn drawn = draw_many(Lengths("lognormal:mean=512,cv=2,min=100,max=1000"));
    EXPECT_EQ(drawn.low, 100);
    EXPECT_EQ(drawn.high, 1000);
}

TEST(Lengths, SemicolonsServeInsideAnotherSpec) {
    EXPECT_EQ(draw_many(Lengths("uniform:min=3;max=3")).mean, 3);
}

TEST(Lengths, WhatIsNoLengthIsRefusedWithWhatWasExpected) {
    for (const auto* text :
         {"", "zero", "0", "-5", "512:ratio=2", "512:cv=1", "uniform:min=5,max=2", "uniform:min=5",
          "normal:mean=5", "normal:mean=5,stddev=1,cv=1", "lognormal:mean=0,cv=1", "poisson:rate=2",
          "normal:mean=5,stddev=-1", "uniform:min=0,max=2"}) {
        EXPECT_THROW(Lengths{text}, UsageError) << text;
    }
    try {
        Lengths("poisson:rate=2");
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("lognormal:mean=512,cv=1"));
    }
}

}  // namespace
}  // namespace paretoken::datasets
