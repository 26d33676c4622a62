#include "core/plan/random_duration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace paretoken {
namespace {

struct Moments {
    double mean = 0;
    double deviation = 0;
    double least = 1e9;
};

Moments moments_of(std::string_view text) {
    const RandomDuration duration(text);
    constexpr int kDraws = 20'000;
    Moments moments;
    double squares = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
        Random random(derived_seed(1, "durations", i));
        const double s = seconds(duration.draw(random));
        moments.mean += s / kDraws;
        squares += s * s / kDraws;
        moments.least = std::min(moments.least, s);
    }
    moments.deviation = std::sqrt(std::max(0.0, squares - moments.mean * moments.mean));
    return moments;
}

TEST(RandomDuration, has_the_mean_and_spread_that_it_names) {
    EXPECT_NEAR(moments_of("1500ms").mean, 1.5, 1e-9);
    EXPECT_NEAR(moments_of("1500ms").deviation, 0, 1e-6);
    EXPECT_NEAR(moments_of("uniform:min=1s,max=3s").mean, 2, 0.02);
    EXPECT_GE(moments_of("uniform:min=1s,max=3s").least, 1);
    EXPECT_NEAR(moments_of("exponential:mean=2s").mean, 2, 0.06);
    EXPECT_NEAR(moments_of("exponential:mean=2s").deviation, 2, 0.1);
    EXPECT_NEAR(moments_of("normal:mean=2s,stddev=100ms").deviation, 0.1, 0.01);
    EXPECT_NEAR(moments_of("lognormal:mean=2s,cv=1").mean, 2, 0.08);
    EXPECT_NEAR(moments_of("lognormal:mean=2s;stddev=1s").deviation, 1, 0.08) << "';' stands for ','";
}

TEST(RandomDuration, is_never_negative) {
    EXPECT_GE(moments_of("normal:mean=100ms,stddev=1s").least, 0);
}

TEST(RandomDuration, says_what_is_wrong_with_a_text) {
    for (const char* text :
         {"", "soon", "uniform:min=3s,max=1s", "uniform:min=1s", "exponential:mean=0s", "exponential:rate=2",
          "normal:mean=2s", "lognormal:mean=2s", "lognormal:mean=2s,cv=-1", "-1s", "2s:cv=1"}) {
        EXPECT_THROW(RandomDuration{text}, UsageError) << text;
    }
}

}  // namespace
}  // namespace paretoken
