#include "loadgen/arrival.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace paretoken::loadgen {
namespace {

struct GapMoments {
    double mean = 0;
    double cv = 0;  ///< standard deviation ÷ mean
};

GapMoments gaps_of(const Arrivals& arrivals) {
    const int n = 20000;
    double sum = 0;
    double squares = 0;
    for (std::uint64_t i = 1; i <= n; ++i) {
        const double gap = seconds(arrivals.gap(arrivals, 7, i));
        sum += gap;
        squares += gap * gap;
    }
    const double mean = sum / n;
    return {mean, std::sqrt(squares / n - mean * mean) / mean};
}

TEST(Arrivals, PoissonGapsHaveTheRateAndAVariationOfOne) {
    const auto m = gaps_of(parse_arrivals("poisson:rate=8"));
    EXPECT_NEAR(m.mean, 1.0 / 8, 0.003);
    EXPECT_NEAR(m.cv, 1, 0.03);
}

TEST(Arrivals, GammaGapsKeepTheRateAndTakeTheirVariationFromTheBurstiness) {
    const auto m = gaps_of(parse_arrivals("gamma:rate=8,burstiness=0.25"));
    EXPECT_NEAR(m.mean, 1.0 / 8, 0.006);
    EXPECT_NEAR(m.cv, 2, 0.1);
}

TEST(Arrivals, ConstantGapsDoNotVary) {
    const auto m = gaps_of(parse_arrivals("constant:rate=50"));
    EXPECT_NEAR(m.mean, 0.02, 1e-9);
    EXPECT_NEAR(m.cv, 0, 1e-6);
}

TEST(Arrivals, AGapIsAFunctionOfSeedAndIndex) {
    const Arrivals a = parse_arrivals("poisson:rate=1");
    EXPECT_EQ(a.gap(a, 1, 5), a.gap(a, 1, 5));
    EXPECT_NE(a.gap(a, 1, 5), a.gap(a, 2, 5));
    EXPECT_NE(a.gap(a, 1, 5), a.gap(a, 1, 6));
}

TEST(Arrivals, NamesWhatIsKnownWhenSomethingIsNot) {
    try {
        parse_arrivals("possion:rate=8");
        FAIL();
    } catch (const UsageError& error) {
        for (const ArrivalRow& row : arrival_table()) {
            EXPECT_NE(std::string(error.what()).find(row.name), std::string::npos);
        }
    }
    EXPECT_THROW(parse_arrivals("poisson"), UsageError);
    EXPECT_THROW(parse_arrivals("poisson:rate=0"), UsageError);
    EXPECT_THROW(parse_arrivals("poisson:rate=-1"), UsageError);
    EXPECT_THROW(parse_arrivals("poisson:rate=1,speed=2"), UsageError);
}

}  // namespace
}  // namespace paretoken::loadgen
