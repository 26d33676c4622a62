#include "loadgen/load/arrival.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/error.h"
#include "tests/support/arrivals.h"

namespace paretoken::loadgen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> times_of(const Arrivals& arrivals, std::uint64_t seed, std::size_t count) {
    const ArrivalTimes next = arrivals.times(seed);
    std::vector<double> times;
    while (times.size() < count) {
        const auto at = next();
        if (!at) break;
        times.push_back(seconds(*at));
    }
    return times;
}

std::vector<double> times_of(std::string_view arrivals, std::uint64_t seed, std::size_t count) {
    return times_of(parse_arrivals(arrivals), seed, count);
}

std::vector<double> gaps_of(const std::vector<double>& times) {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
    return gaps;
}

/// Returns the probability of such a distance between a sample and its distribution function, by Kolmogorov's
/// limit with Stephens' correction for small samples.
template <class Distribution>
double kolmogorov_smirnov(std::vector<double> values, Distribution below) {
    std::sort(values.begin(), values.end());
    const auto n = static_cast<double>(values.size());
    double distance = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double expected = below(values[i]);
        distance = std::max(
            {distance, expected - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - expected});
    }
    const double x = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * distance;
    double p = 0;
    for (int k = 1; k <= 100; ++k) p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
    return std::clamp(p, 0.0, 1.0);
}

double exponential_below(double x) {
    return -std::expm1(-x);
}

/// Computes the regularised lower incomplete gamma function by its series.
double gamma_below(double shape, double x) {
    if (x <= 0) return 0;
    double term = 1 / shape;
    double sum = term;
    for (int k = 1; k < 2000; ++k) {
        term *= x / (shape + k);
        sum += term;
    }
    return sum * std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

/// Expects p above .001 for 20 seeds, and not all of them near 1 (for times smoother than random ones).
template <class ProbabilityOfSeed>
void expect_random(ProbabilityOfSeed probability) {
    double most = 0;
    double least = 1;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const double p = probability(seed);
        EXPECT_GT(p, 0.001) << "seed " << seed;
        most = std::max(most, p);
        least = std::min(least, p);
    }
    EXPECT_LT(least, 0.6);
    EXPECT_GT(most, 0.3);
}

constexpr std::size_t kArrivals = 2000;

TEST(Arrivals, PoissonGapsAreExponential) {
    expect_random([](std::uint64_t seed) {
        return kolmogorov_smirnov(gaps_of(times_of("poisson:rate=8", seed, kArrivals)),
                                  [](double gap) { return exponential_below(8 * gap); });
    });
}

TEST(Arrivals, GammaGapsHaveTheShapeAndTheRate) {
    for (const double shape : {0.25, 3.0}) {
        expect_random([&](std::uint64_t seed) {
            const auto text = "gamma:rate=8,burstiness=" + std::to_string(shape);
            return kolmogorov_smirnov(gaps_of(times_of(text, seed, kArrivals)),
                                      [&](double gap) { return gamma_below(shape, shape * 8 * gap); });
        });
    }
}

/// The number of requests expected until t: the integral of the rate.
using Expected = double (*)(double t);

/// A Poisson process whose time is rescaled by the integral of its rate has exponential gaps.
void expect_poisson_of_rate(const std::string& arrivals, Expected expected) {
    expect_random([&](std::uint64_t seed) {
        auto times = times_of(arrivals, seed, kArrivals);
        for (double& t : times) t = expected(t);
        return kolmogorov_smirnov(gaps_of(times), exponential_below);
    });
}

TEST(Arrivals, ARampIsAPoissonProcessOfARisingRateAndThenStays) {
    expect_poisson_of_rate("ramp:from=1,to=20,over=60s",
                           [](double t) { return t < 60 ? t + 19 * t * t / 120 : 630 + 20 * (t - 60); });
    expect_poisson_of_rate("ramp:from=40,to=10,over=60s", [](double t) {
        return t < 60 ? 40 * t - 30 * t * t / 120 : 1500 + 10 * (t - 60);
    });
    expect_poisson_of_rate("ramp:from=1,to=20,over=60s,shape=exponential", [](double t) {
        const double growth = std::log(20) / 60;
        return t < 60 ? std::expm1(growth * t) / growth : 19 / growth + 20 * (t - 60);
    });
    expect_poisson_of_rate("ramp:from=5,to=5,over=60s,shape=exponential", [](double t) { return 5 * t; });
}

TEST(Arrivals, StepsArePoissonProcessesOneAfterTheOther) {
    expect_poisson_of_rate("steps:rates=2;4;8,each=60s", [](double t) {
        if (t < 60) return 2 * t;
        return t < 120 ? 120 + 4 * (t - 60) : 360 + 8 * (t - 120);
    });
}

TEST(Arrivals, BurstsComeAtOnceBetweenPoissonArrivals) {
    const auto times = times_of("bursts:rate=4,size=16,every=10s", 3, kArrivals);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    for (const double at : {10.0, 20.0, 30.0}) EXPECT_EQ(std::count(times.begin(), times.end(), at), 16);
    expect_random([](std::uint64_t seed) {
        auto others = times_of("bursts:rate=4,size=16,every=10s", seed, kArrivals);
        std::erase_if(others, [](double t) { return std::fmod(t, 10) == 0; });
        return kolmogorov_smirnov(gaps_of(others), [](double gap) { return exponential_below(4 * gap); });
    });
    EXPECT_NEAR(parse_arrivals("bursts:rate=4,size=16,every=10s").rate, 5.6, 1e-9);
}

TEST(Arrivals, EachUserKeepsItsOwnPaceFromADrawnBeginning) {
    const auto times = times_of("users:n=20,rate=5", 1, 200);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    for (std::size_t i = 20; i < times.size(); ++i) EXPECT_NEAR(times[i] - times[i - 20], 4, 1e-6);
    expect_random([](std::uint64_t seed) {
        return kolmogorov_smirnov(times_of("users:n=500,rate=5", seed, 500),
                                  [](double t) { return t / 100; });
    });
}

TEST(Arrivals, TellInWhichPartsThePlanKeepsOneRate) {
    const auto parts_of = [](std::string_view text) { return parse_arrivals(text).constant_rate; };
    constexpr LoadPart kWhole;
    const auto s = [](int count) { return Duration(std::chrono::seconds(count)); };
    for (const char* text :
         {"at_once", "constant:rate=3", "poisson:rate=3", "gamma:rate=3,burstiness=0.5", "users:n=7,rate=3",
          "bursts:rate=3,size=4,every=5s", "trace", "ramp:from=3,to=3,over=9s", "steps:rates=3;3,each=9s"})
        EXPECT_THAT(parts_of(text), ElementsAre(kWhole)) << text;
    const LoadPart after_the_ramp{.begin = s(20)};
    EXPECT_THAT(parts_of("ramp:from=1,to=9,over=20s"), ElementsAre(after_the_ramp));
    EXPECT_THAT(parts_of("ramp:from=9,to=1,over=20s,shape=exponential"), ElementsAre(after_the_ramp));
    EXPECT_THAT(parts_of("steps:rates=1;9;9;4,each=20s"),
                ElementsAre(LoadPart{s(0), s(20)}, LoadPart{s(20), s(60)}, LoadPart{.begin = s(60)}));
}

TEST(Arrivals, ConstantGapsDoNotVary) {
    for (const double gap : gaps_of(times_of("constant:rate=50", 7, 100))) EXPECT_NEAR(gap, 0.02, 1e-9);
}

TEST(Arrivals, ATimeIsAFunctionOfSeedAndIndex) {
    for (const ArrivalRow& row : arrival_table()) {
        static const std::map<std::string_view, std::string> kExamples = {
            {"constant", "constant:rate=3"},
            {"poisson", "poisson:rate=3"},
            {"gamma", "gamma:rate=3,burstiness=0.5"},
            {"ramp", "ramp:from=1,to=9,over=20s"},
            {"steps", "steps:rates=1;9,each=20s"},
            {"bursts", "bursts:rate=3,size=4,every=5s"},
            {"users", "users:n=7,rate=3"},
        };
        if (row.name == "at_once" || row.name == "trace") continue;
        ASSERT_TRUE(kExamples.contains(row.name)) << row.name;
        const Arrivals arrivals = parse_arrivals(kExamples.at(row.name));
        EXPECT_EQ(times_of(arrivals, 1, 300), times_of(arrivals, 1, 300)) << row.name;
        if (row.name != "constant") {
            EXPECT_NE(times_of(arrivals, 1, 300), times_of(arrivals, 2, 300)) << row.name;
        }
        const ArrivalTimes one = arrivals.times(1);
        for (int i = 0; i < 100; ++i) one();
        const ArrivalTimes other = one;  // NOLINT(performance-unnecessary-copy-initialization)
        EXPECT_EQ(one(), other()) << row.name << ": a copy goes on by itself";
        EXPECT_EQ(one(), other()) << row.name;
    }
}

class Recorded final : public datasets::Dataset {
  public:
    explicit Recorded(std::vector<int> at_ms) : at_ms_(std::move(at_ms)) {}
    Request request(std::uint64_t) const override { return {}; }
    std::optional<std::uint64_t> size() const override { return at_ms_.size(); }
    std::optional<Duration> recorded_time(std::uint64_t index) const override {
        return std::chrono::milliseconds(at_ms_.at(index));
    }
    std::string description() const override { return "recorded"; }

  private:
    std::vector<int> at_ms_;
};

TEST(Arrivals, ATraceHasTheTimesOfItsRowsAndEndsWithThem) {
    const Recorded rows({0, 0, 0, 3000, 3000, 9000});
    const auto times = [&](std::string_view text) {
        return times_of(with_recorded_times(parse_arrivals(text), rows), 0, 100);
    };
    EXPECT_THAT(times("trace"), ElementsAre(0, 0, 0, 3, 3, 9));
    EXPECT_THAT(times("trace:scale=0.5"), ElementsAre(0, 0, 0, 1.5, 1.5, 4.5));
    EXPECT_THAT(times("trace:spread=3s"), ElementsAre(0, 1, 2, 3, 4.5, 9));
    EXPECT_THAT(times("trace:scale=2,spread=3s"), ElementsAre(0, 2, 4, 6, 9, 18));
    EXPECT_NEAR(with_recorded_times(parse_arrivals("trace:scale=2"), rows).rate, 5.0 / 18, 1e-9)
        << "5 intervals";
    EXPECT_EQ(with_recorded_times(parse_arrivals("trace"), Recorded({0, 0})).rate, 2) << "all at once";
    const double rate = with_recorded_times(parse_arrivals("trace"), Recorded({0, 500})).rate;
    EXPECT_NE(rate, 2) << "they are not all at once";
    EXPECT_NEAR(rate, 2, 1e-9);
}

TEST(Arrivals, ATraceOfADatasetWithoutTimesIsRefusedByName) {
    class Timeless final : public datasets::Dataset {
        Request request(std::uint64_t) const override { return {}; }
        std::optional<std::uint64_t> size() const override { return 3; }
        std::string description() const override { return "timeless"; }
    };
    try {
        with_recorded_times(parse_arrivals("trace"), Timeless());
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("timeless"));
    }
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
}

TEST(Arrivals, RefusesFieldsThatAreMissingUnknownOrNotAboveZero) {
    for (const char* text :
         {"poisson", "poisson:rate=0", "poisson:rate=-1", "poisson:rate=1,speed=2", "constant:rate=nan",
          "ramp:from=0,to=2,over=1s", "ramp:from=1,to=2,over=0s", "ramp:from=1,to=2",
          "ramp:from=1,to=2,over=1s,shape=bent", "steps:rates=1;0,each=1s", "steps:rates=,each=1s",
          "steps:rates=1;2", "bursts:rate=1,size=0,every=1s", "bursts:rate=0,size=1,every=1s",
          "users:n=0,rate=1", "users:n=2.5,rate=1", "trace:scale=0", "trace:spread=0s", "trace:speed=1"}) {
        try {
            parse_arrivals(text);
            ADD_FAILURE() << text;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), ::testing::StartsWith("--arrivals '")) << text;
        }
    }
}

}  // namespace
}  // namespace paretoken::loadgen
