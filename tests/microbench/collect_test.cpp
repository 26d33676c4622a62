#include "microbench/collect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace paretoken::microbench {
namespace {

std::vector<PairedWindow> windows_of(std::size_t n, double kernel_s, double ceiling_s) {
    return std::vector<PairedWindow>(n, {.kernel_s = kernel_s,
                                         .ceiling_s = ceiling_s,
                                         .kernel_bytes = 4e6,
                                         .ceiling_bytes = 4e6,
                                         .flops = 8e6});
}

TEST(Collect, speeds_are_medians_over_windows_and_limits_their_fastest_decile) {
    auto windows = windows_of(101, 1e-4, 1e-4);
    for (std::size_t i = 0; i < windows.size(); ++i)
        windows[i].kernel_s = 1e-4 * (1 + 0.01 * static_cast<double>(i));
    const Measurement m = measurement_of(windows, 5);
    EXPECT_NEAR(m.median_s, 1.5e-4, 1e-12);
    EXPECT_NEAR(m.p10_s, 1.1e-4, 1e-12);
    EXPECT_NEAR(m.p90_s, 1.9e-4, 1e-12);
    EXPECT_NEAR(*m.bytes_per_second, 4e6 / 1.5e-4, 1);
    EXPECT_NEAR(*m.bytes_per_second_best, 4e6 / 1.1e-4, 1);
    EXPECT_NEAR(*m.flops_per_second, 8e6 / 1.5e-4, 1);
    EXPECT_EQ(m.n, 101u);
}

TEST(Collect, the_ratio_is_taken_pair_by_pair_so_common_noise_cancels) {
    auto windows = windows_of(100, 1.25e-4, 1e-4);
    for (std::size_t i = 0; i < windows.size(); i += 3) {  // the host slows both by half
        windows[i].kernel_s *= 2;
        windows[i].ceiling_s *= 2;
    }
    const Measurement m = measurement_of(windows, 10);
    EXPECT_NEAR(*m.of_ceiling, 0.8, 1e-12);
    EXPECT_NEAR(*m.of_ceiling_p25, 0.8, 1e-12);
    EXPECT_NEAR(*m.of_ceiling_p75, 0.8, 1e-12);
}

TEST(Collect, windows_of_different_sizes_are_compared_by_speed) {
    auto windows = windows_of(50, 1e-4, 1e-4);
    for (std::size_t i = 0; i < windows.size(); i += 2) {
        windows[i].kernel_bytes *= 3;
        windows[i].kernel_s *= 3;
    }
    const Measurement m = measurement_of(windows, 5);
    EXPECT_NEAR(*m.of_ceiling, 1.0, 1e-12);
    EXPECT_NEAR(*m.bytes_per_second, 4e10, 1);
}

TEST(Collect, a_compute_benchmark_has_no_bandwidth_and_no_ratio) {
    const std::vector<PairedWindow> windows(40, {.kernel_s = 1e-3, .flops = 1e9});
    const Measurement m = measurement_of(windows, 4);
    EXPECT_EQ(m.bytes_per_second, std::nullopt);
    EXPECT_EQ(m.of_ceiling, std::nullopt);
    EXPECT_EQ(m.ceiling_drift, std::nullopt);
    EXPECT_NEAR(*m.flops_per_second, 1e12, 1);
}

TEST(Collect, a_few_stolen_slices_do_not_make_a_row_unsteady) {
    auto windows = windows_of(160, 1e-4, 1e-4);
    for (std::size_t i = 0; i < 10; ++i) windows[i].kernel_s = 4e-3;
    EXPECT_LT(measurement_of(windows, 10).cv, 0.01);
}

TEST(Collect, a_speed_that_wanders_makes_a_row_unsteady) {
    auto windows = windows_of(160, 1e-4, 1e-4);
    for (std::size_t i = 0; i < windows.size(); ++i) windows[i].kernel_s *= i < 80 ? 1 : 2;
    const Measurement m = measurement_of(windows, 10);
    EXPECT_GT(m.cv, 0.3);
    const Judgement judgement = judgement_of(m, {.working_set_bytes = 1 << 30, .llc_bytes = 1 << 25});
    EXPECT_FALSE(judgement.valid());
    EXPECT_NE(judgement.label().find("unsteady"), std::string::npos);
}

TEST(Collect, a_drifting_ceiling_is_said_but_does_not_reject) {
    auto windows = windows_of(99, 1e-4, 1e-4);
    for (std::size_t i = 66; i < windows.size(); ++i) windows[i].ceiling_s *= 1.05;
    const Measurement m = measurement_of(windows, 9);
    EXPECT_NEAR(*m.ceiling_drift, 1 - 1 / 1.05, 1e-9);
    const Judgement judgement = judgement_of(m, {.working_set_bytes = 1 << 30, .llc_bytes = 1 << 25});
    EXPECT_TRUE(judgement.valid());
    EXPECT_EQ(judgement.label(), "ceiling drifted 5 %");
}

TEST(Collect, a_working_set_below_four_caches_is_rejected_where_it_must_stream) {
    const Measurement m = measurement_of(windows_of(32, 1e-4, 1e-4), 2);
    const std::uint64_t llc = 32 << 20;
    EXPECT_TRUE(judgement_of(m, {.working_set_bytes = 4 * llc, .llc_bytes = llc}).valid());
    EXPECT_FALSE(judgement_of(m, {.working_set_bytes = 4 * llc - 1, .llc_bytes = llc}).valid());
    EXPECT_TRUE(
        judgement_of(m, {.working_set_bytes = llc, .llc_bytes = llc, .must_exceed_llc = false}).valid());
}

TEST(Collect, a_kernel_far_above_its_ceiling_proves_that_the_ceiling_was_disturbed) {
    const Circumstances circumstances{.working_set_bytes = 1 << 30, .llc_bytes = 1 << 25};
    EXPECT_TRUE(judgement_of(measurement_of(windows_of(32, 1e-4, 1.05e-4), 2), circumstances).valid());
    const Judgement judgement = judgement_of(measurement_of(windows_of(32, 1e-4, 1e-3), 2), circumstances);
    EXPECT_FALSE(judgement.valid());
    EXPECT_NE(judgement.label().find("1000 % of the read ceiling"), std::string::npos);
}

TEST(Collect, a_compute_ceiling_below_what_the_cpu_can_do_is_rejected) {
    const Measurement m = measurement_of(windows_of(32, 1e-4, 1e-4), 2);
    const Judgement judgement =
        judgement_of(m, {.must_exceed_llc = false, .not_a_bound = "AMX was not driven"});
    EXPECT_EQ(judgement.label(), "AMX was not driven");
    EXPECT_FALSE(judgement.valid());
}

TEST(Collect, the_error_of_an_output_is_relative_to_its_reference) {
    const std::vector<double> reference{3, 4};
    EXPECT_EQ(relative_l2(std::vector<float>{3, 4}, reference), 0);
    EXPECT_NEAR(relative_l2(std::vector<float>{3, 4.5F}, reference), 0.1, 1e-9);
    EXPECT_TRUE(std::isinf(relative_l2(std::vector<float>{3, std::nanf("")}, reference)));
    EXPECT_TRUE(std::isinf(relative_l2(std::vector<float>{1, 0}, std::vector<double>{0, 0})));
    EXPECT_EQ(relative_l2(std::vector<float>{0, 0}, std::vector<double>{0, 0}), 0);
}

}  // namespace
}  // namespace paretoken::microbench
