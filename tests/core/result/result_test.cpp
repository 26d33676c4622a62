#include "core/result/result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/statistics.h"

namespace paretoken {
namespace {

TEST(Result, verdicts_are_found_by_their_names) {
    for (const auto verdict : {Verdict::valid, Verdict::warn, Verdict::invalid}) {
        EXPECT_EQ(verdict_named(name_of(verdict)), verdict);
    }
    EXPECT_FALSE(verdict_named("good"));
}

TEST(Result, metrics_and_percentiles_are_looked_up_and_may_be_absent) {
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.percentiles = {{0.5, 1.0, {}, false}, {0.999, 2.0, {}, false}};
    RunResult result;
    result.metrics = {ttft};
    ASSERT_NE(result.metric("ttft_s"), nullptr);
    EXPECT_EQ(result.metric("ttft_s")->at(0.999)->value, 2.0);
    EXPECT_EQ(result.metric("ttft_s")->at(0.9), nullptr);
    EXPECT_EQ(result.metric("itl_s"), nullptr);
}

TEST(MetricSummary, a_percentile_falls_among_failures_if_it_is_infinite_when_failures_are) {
    for (std::uint64_t n = 1; n <= 60; ++n)
        for (std::uint64_t failed = 0; failed < n; ++failed) {
            std::vector<double> sorted(n, 1.0);
            std::fill(sorted.end() - static_cast<std::ptrdiff_t>(failed), sorted.end(),
                      std::numeric_limits<double>::infinity());
            MetricSummary summary;
            summary.n = n;
            summary.failed_mass = static_cast<double>(failed) / static_cast<double>(n);
            for (const double p : {0.0, .5, .75, .9, .95, .97, .99, .999, 1.0})
                EXPECT_EQ(falls_among_failures(summary, p), std::isinf(percentile(sorted, p)))
                    << "p = " << p << ", " << failed << " of " << n << " failed";
        }
    EXPECT_FALSE(falls_among_failures({}, .99)) << "nothing was measured";
}

}  // namespace
}  // namespace paretoken
