#include "datasets/synthetic/lengths.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/error.h"
#include "tests/datasets/temporary_file.h"

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

TEST(Lengths, ZipfRanksFallWithTheirPower) {
    const Lengths zipf("zipf:s=1,max=4");
    Random random(3);
    std::array<int, 5> seen{};
    for (int i = 0; i < 10'000; ++i) ++seen.at(static_cast<std::size_t>(zipf.draw(random)));
    const double all = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0;
    for (int rank = 1; rank <= 4; ++rank)
        EXPECT_NEAR(seen.at(static_cast<std::size_t>(rank)), 10'000 / (all * rank), 200);
    EXPECT_NEAR(zipf.mean(), 4 / all, 1e-9);
    EXPECT_EQ(draw_many(Lengths("zipf:s=2,min=7,max=9")).low, 7);
    EXPECT_EQ(draw_many(Lengths("zipf:s=0,min=7,max=9")).high, 9);
}

TEST(Lengths, EmpiricalOnesAreThoseOfAColumn) {
    const paretoken::testing::TemporaryFile named("id,tokens\na,10\nb,30\nc,30\n");
    const Lengths by_name("empirical:path=" + named.path() + ",column=tokens");
    EXPECT_NEAR(by_name.mean(), 70 / 3.0, 1e-9);
    EXPECT_NEAR(draw_many(by_name).mean, 70 / 3.0, 0.5);
    EXPECT_EQ(draw_many(Lengths("empirical:path=" + named.path() + ",column=2")).low, 10);
    const paretoken::testing::TemporaryFile bare("5,7\n6,8\n");
    EXPECT_EQ(Lengths("empirical:path=" + bare.path() + ";column=2").mean(), 7.5);
    EXPECT_THROW(Lengths("empirical:path=" + named.path() + ",column=words"), UsageError);
    EXPECT_THROW(Lengths("empirical:path=" + named.path() + ",column=1"), UsageError);
    EXPECT_THROW(Lengths("empirical:column=1"), UsageError);
    EXPECT_THROW(Lengths("empirical:path=/nowhere,column=1"), UsageError);
}

TEST(LengthPairs, ComeTogetherInTheirShares) {
    const LengthPairs pairs("pairs:512/128=.7;4096/256=.3");
    Random random(5);
    int small = 0;
    for (int i = 0; i < 10'000; ++i) {
        const LengthPair pair = pairs.draw(random);
        EXPECT_EQ(pair.output, pair.input == 512 ? 128 : 256);
        small += pair.input == 512 ? 1 : 0;
    }
    EXPECT_NEAR(small, 7000, 150);
    EXPECT_NEAR(pairs.mean_input(), 0.7 * 512 + 0.3 * 4096, 1e-9);
    EXPECT_NEAR(pairs.mean_output(), 0.7 * 128 + 0.3 * 256, 1e-9);
    for (const char* text : {"pairs:", "pairs:512", "pairs:512/0=1", "pairs:512/128=0", "pairs:512/128=.5;"})
        EXPECT_THROW(LengthPairs{text}, UsageError) << text;
}

TEST(Lengths, SemicolonsServeInsideAnotherSpec) {
    EXPECT_EQ(draw_many(Lengths("uniform:min=3;max=3")).mean, 3);
}

TEST(Lengths, WhatIsNoLengthIsRefusedWithWhatWasExpected) {
    for (const auto* text : {"", "zero", "0", "-5", "512:ratio=2", "512:cv=1", "uniform:min=5,max=2",
                             "uniform:min=5", "normal:mean=5", "normal:mean=5,stddev=1,cv=1",
                             "lognormal:mean=0,cv=1", "poisson:rate=2", "normal:mean=5,stddev=-1",
                             "uniform:min=0,max=2", "zipf:s=1", "zipf:s=-1,max=4", "zipf:s=1,max=2G"}) {
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
