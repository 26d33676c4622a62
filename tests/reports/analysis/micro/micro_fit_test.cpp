#include "reports/analysis/micro/micro_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace paretoken::reports {
namespace {

std::vector<SizedTime> points_of(double fixed_s, double bytes_per_s, std::vector<double> sizes) {
    std::vector<SizedTime> points;
    for (const double size : sizes) points.push_back({size, fixed_s + size / bytes_per_s});
    return points;
}

const std::vector<double> kSizes{1e5, 5e5, 2e6, 8e6, 3e7};

TEST(MicroFit, FindsTheLawThatTheTimesFollow) {
    Random random(1);
    for (int i = 0; i < 200; ++i) {
        const double fixed_s = 1e-7 * std::pow(1e3, random.uniform());
        const double bytes_per_s = 1e10 * std::pow(1e3, random.uniform());
        const auto fit = size_fit(points_of(fixed_s, bytes_per_s, kSizes));
        ASSERT_TRUE(fit);
        EXPECT_NEAR(fit->fixed_s / fixed_s, 1, 1e-6);
        EXPECT_NEAR(fit->bytes_per_s / bytes_per_s, 1, 1e-6);
        EXPECT_LT(fit->worst_residual, 1e-9);
        EXPECT_EQ(fit->points, kSizes.size());
        EXPECT_EQ(fit->least_bytes, 1e5);
        EXPECT_EQ(fit->most_bytes, 3e7);
    }
}

TEST(MicroFit, DoesNotDependOnTheOrderOrTheUnitOfTime) {
    Random random(2);
    auto points = points_of(2e-6, 4e10, kSizes);
    for (auto& point : points) point.seconds *= 1 + 0.05 * random.uniform();
    const auto fit = size_fit(points);
    std::reverse(points.begin(), points.end());
    const auto reversed = size_fit(points);
    for (auto& point : points) point.seconds *= 1e3;
    const auto slower = size_fit(points);
    EXPECT_NEAR(reversed->fixed_s, fit->fixed_s, 1e-15);
    EXPECT_NEAR(slower->fixed_s / fit->fixed_s, 1e3, 1e-6);
    EXPECT_NEAR(slower->bytes_per_s / fit->bytes_per_s, 1e-3, 1e-9);
    EXPECT_NEAR(slower->worst_residual, fit->worst_residual, 1e-9);
}

TEST(MicroFit, NoisyTimesAreMetWithinTheirNoise) {
    Random random(3);
    for (int i = 0; i < 100; ++i) {
        auto points = points_of(3e-6, 5e10, kSizes);
        for (auto& point : points) point.seconds *= 1 + 0.02 * (random.uniform() - 0.5);
        const auto fit = size_fit(points);
        EXPECT_NEAR(fit->bytes_per_s / 5e10, 1, 0.02);
        EXPECT_NEAR(fit->fixed_s / 3e-6, 1, 0.2);
        EXPECT_LT(fit->worst_residual, 0.02);
    }
}

TEST(MicroFit, NeverPromisesTimeBack) {
    const auto fit = size_fit(points_of(-1e-7, 4e10, {1e5, 1e6, 1e7}));
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->fixed_s, 0);
    EXPECT_GT(fit->bytes_per_s, 4e10);
}

TEST(MicroFit, SaysNothingOfTooLittle) {
    EXPECT_FALSE(size_fit({}));
    EXPECT_FALSE(size_fit(points_of(1e-6, 4e10, {1e5, 1e7})));
    EXPECT_FALSE(size_fit(points_of(1e-6, 4e10, {1e6, 2e6, 3e6})));
    EXPECT_FALSE(size_fit(std::vector<SizedTime>{{1e5, 3e-4}, {1e6, 2e-4}, {1e7, 1e-4}}));
}

TEST(MicroFit, OfSmallSizesIsBelowTheAsymptote) {
    const auto fit = size_fit(points_of(2e-6, 4e10, kSizes));
    EXPECT_LT(8e4 / seconds_of(*fit, 8e4), 0.51 * fit->bytes_per_s);
    EXPECT_GT(1e9 / seconds_of(*fit, 1e9), 0.99 * fit->bytes_per_s);
}

MicroRow read_row(const std::string& name, double bytes, double seconds) {
    MicroRow row{.name = name};
    row.median_s = seconds;
    row.bytes_per_s = bytes / seconds;
    return row;
}

TEST(MicroFit, JoinsRowsOfOneKernelWhateverTheySizeIsCalled) {
    EXPECT_EQ(kernel_of("ceiling/read/kib:128/backend:cpu/threads:2"), "ceiling/read/backend:cpu/threads:2");
    EXPECT_EQ(kernel_of("weights/preset:llama3-8b/op:qkv/w:fp8/batch:1/backend:gpu/mode:ring"),
              "weights/w:fp8/batch:1/backend:gpu/mode:ring");
    std::vector<MicroRow> rows;
    for (const double size : kSizes) {
        rows.push_back(read_row("ceiling/read/bytes:" + std::to_string(size) + "/backend:gpu", size,
                                3e-6 + size / 4e12));
        rows.push_back(read_row("ceiling/cached_read/mib:" + std::to_string(size) + "/backend:gpu", size,
                                1e-6 + size / 9e12));
        rows.push_back(
            read_row("ceiling/random_read/kib:" + std::to_string(size) + "/backend:gpu", 4e6, 1e-6));
    }
    rows.push_back(read_row("ceiling/read/backend:gpu", 1e9, 3e-6 + 1e9 / 4e12));
    MicroRow invalid = read_row("ceiling/read/bytes:7/backend:gpu", 7, 1);
    invalid.valid = false;
    rows.push_back(invalid);
    const auto fits = size_fits(rows);
    ASSERT_EQ(fits.size(), 1u);
    EXPECT_EQ(fits[0].kernel, "ceiling/read/backend:gpu");
    EXPECT_NEAR(fits[0].fixed_s, 3e-6, 1e-11);
    EXPECT_NEAR(fits[0].bytes_per_s, 4e12, 1e6);
    EXPECT_EQ(fits[0].points, kSizes.size() + 1);
}

TEST(MicroFit, TakesTheFastestDecileWhereItIsKnown) {
    std::vector<MicroRow> rows;
    for (const double size : kSizes) {
        MicroRow row = read_row("ceiling/read/kib:" + std::to_string(size), size, 2 * (1e-6 + size / 4e10));
        row.best_bytes_per_s = 2 * *row.bytes_per_s;
        rows.push_back(row);
    }
    const auto fits = size_fits(rows);
    ASSERT_EQ(fits.size(), 1u);
    EXPECT_NEAR(fits[0].bytes_per_s, 4e10, 1e4);
}

}  // namespace
}  // namespace paretoken::reports
