#include "core/run/power_figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "loadgen/power/dcgm.h"

namespace paretoken::power {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kZero = TimePoint{} + 100s;

TimePoint at(double s) {
    return kZero + from_seconds(s);
}

/// Returns 300 W ± 200 W with a period of 7 s.
double watts_at(double s) {
    return 300 + 200 * std::sin(2 * std::numbers::pi * s / 7);
}
double joules_until(double s) {
    const double k = 2 * std::numbers::pi / 7;
    return 300 * s - 200 / k * (std::cos(k * s) - 1);
}

/// Returns readings of that curve every `interval_s`, except between `from` and `to`.
PowerReadings curve(double interval_s, double from = 0, double to = 0) {
    PowerReadings power{.source = "nvml", .readings = {}};
    for (double s = 0; s <= 30.001; s += interval_s)
        if (s <= from || s >= to)
            power.readings.push_back(
                {.at = at(s), .sample = {.watts = watts_at(s), .counter_j = 5000 + joules_until(s)}});
    return power;
}

TEST(Energy, of_a_known_curve_is_right_within_half_a_percent_between_any_two_moments) {
    const PowerReadings power = curve(.2);
    for (const auto& [begin, end] : {std::pair{0.0, 30.0}, {1.03, 4.77}, {3.33, 29.91}, {10.05, 10.15}}) {
        const double joules = joules_until(end) - joules_until(begin);
        const TimeSpan span{at(begin), at(end)};
        EXPECT_NEAR(energy_over(power.readings, span).value() / joules, 1, .005) << begin << " to " << end;
        EXPECT_NEAR(counted_energy_over(power.readings, span).value() / joules, 1, .005);
    }
}

TEST(Energy, of_a_meter_that_only_counts_is_the_growth_of_its_counter) {
    PowerReadings power = curve(.1);
    for (PowerReading& reading : power.readings) reading.sample.watts.reset();
    const auto joules = energy_over(power.readings, {at(2.04), at(20.5)});
    EXPECT_NEAR(joules.value() / (joules_until(20.5) - joules_until(2.04)), 1, .005);
    const auto figures = power_figures(power, {at(2), at(20)}, {});
    EXPECT_NEAR(figures->mean_w.value(), (joules_until(20) - joules_until(2)) / 18, 1);
    EXPECT_FALSE(figures->counter_j) << "there is nothing to compare it with";
}

TEST(Energy, a_gap_of_four_seconds_leaves_it_out_where_the_window_touches_it) {
    const PowerReadings power = curve(.2, 10, 14);
    EXPECT_FALSE(energy_over(power.readings, {at(5), at(20)}));
    EXPECT_FALSE(energy_over(power.readings, {at(12), at(20)}));
    EXPECT_TRUE(energy_over(power.readings, {at(14.5), at(20)}));
    EXPECT_TRUE(energy_over(curve(.2, 10, 12.8).readings, {at(5), at(20)}));
    Totals totals;
    totals.output_tokens = 100;
    const auto figures = power_figures(power, {at(5), at(20)}, totals);
    ASSERT_TRUE(figures);
    EXPECT_FALSE(figures->energy_j);
    EXPECT_FALSE(figures->j_per_output_token);
    EXPECT_TRUE(figures->mean_w) << "of the readings that there are";
    EXPECT_FALSE(figures->note.empty());
}

TEST(Energy, readings_that_do_not_enclose_the_window_give_none) {
    const PowerReadings power = curve(.2);
    EXPECT_FALSE(energy_over(power.readings, {at(-1), at(20)}));
    EXPECT_FALSE(energy_over(power.readings, {at(20), at(31)}));
    EXPECT_FALSE(energy_over({}, {at(0), at(1)}));
}

TEST(Energy, of_a_day_of_readings_is_exact_in_bounded_memory) {
    constexpr int kDay = 86400;
    PowerReadings power{.source = "nvml", .readings = {}};
    for (int i = 0; i <= 10 * kDay; ++i) {
        const double s = i / 10.0;
        if (s > 36000 && s < 36005) continue;  // the driver hangs for 5 s after ten hours
        const bool throttled = i % 4 == 0;
        add_reading(power, {.at = at(s),
                            .sample = {.devices = 2,
                                       .watts = watts_at(s),
                                       .counter_j = joules_until(s),
                                       .throttled = throttled,
                                       .utilization = throttled ? .9 : .7}});
        ASSERT_LE(power.readings.size(), kMostReadings);
    }
    for (const auto& [begin, end] : {std::pair{60.0, 35999.0}, {36060.0, 86000.0}, {50000.25, 50033.5}}) {
        const double joules = joules_until(end) - joules_until(begin);
        const TimeSpan span{at(begin), at(end)};
        EXPECT_NEAR(energy_over(power.readings, span).value() / joules, 1, end - begin > 60 ? 1e-4 : .05)
            << begin << " to " << end;
        EXPECT_NEAR(counted_energy_over(power.readings, span).value() / joules, 1,
                    end - begin > 60 ? 1e-4 : .05);
    }
    EXPECT_FALSE(energy_over(power.readings, {at(60), at(86000)})) << "no gap may be lost";
    const PowerFigures figures = power_figures(power, {at(36060), at(86000)}, {}).value();
    EXPECT_EQ(figures.readings, 10U * kDay + 1 - 49);
    EXPECT_EQ(figures.devices, 2U);
    EXPECT_NEAR(figures.throttled_share.value(), .25, .001);
    EXPECT_NEAR(figures.utilization.value(), .75, .001);
    const auto series = power_series(power, kZero);
    ASSERT_TRUE(series);
    EXPECT_LT(series->values.size(), kMostReadings);
}

TEST(Energy, of_merged_readings_is_that_of_all_readings) {
    PowerReadings all{.source = "nvml", .readings = {}};
    PowerReadings merged = all;
    const int count = static_cast<int>(kMostReadings) * 3 + 17;
    for (int i = 0; i < count; ++i) {
        const PowerReading reading{.at = at(i / 10.0),
                                   .sample = {.watts = i % 7 == 0 ? 700.0 : 60.0 + i % 11}};
        all.readings.push_back(reading);
        add_reading(merged, reading);
    }
    EXPECT_LT(merged.readings.size(), all.readings.size() / 3);
    EXPECT_EQ(merged.readings.front(), all.readings.front());
    EXPECT_EQ(merged.readings.back().at, all.readings.back().at);
    const TimeSpan whole{all.readings.front().at, all.readings.back().at};
    EXPECT_NEAR(energy_over(merged.readings, whole).value() / energy_over(all.readings, whole).value(), 1,
                1e-12);
}

TEST(PowerFigures, are_joules_per_token_of_the_window) {
    PowerReadings power{.source = "nvml", .readings = {}};
    for (int i = 0; i <= 200; ++i)
        power.readings.push_back(
            {.at = at(.1 * i), .sample = {.watts = 400, .throttled = i % 4 == 0, .utilization = .75}});
    Totals totals;
    totals.output_tokens = 1000;
    totals.fresh_input_tokens = 2000;
    totals.cached_input_tokens = 1000;
    const PowerFigures figures = power_figures(power, {at(5), at(15)}, totals).value();
    EXPECT_NEAR(figures.energy_j.value(), 4000, 1e-6);
    EXPECT_NEAR(figures.mean_w.value(), 400, 1e-9);
    EXPECT_NEAR(figures.j_per_output_token.value(), 4, 1e-9);
    EXPECT_NEAR(figures.j_per_token.value(), 1, 1e-9);
    EXPECT_NEAR(figures.output_tokens_per_s_per_w.value(), .25, 1e-9);
    EXPECT_NEAR(figures.throttled_share.value(), .25, .01);
    EXPECT_NEAR(figures.utilization.value(), .75, 1e-9);
    EXPECT_EQ(figures.readings, 201U);
    EXPECT_EQ(figures.note, "");
}

TEST(PowerFigures, are_none_without_readings) {
    EXPECT_FALSE(power_figures({}, {at(0), at(1)}, {}));
    EXPECT_FALSE(power_series({}, kZero));
}

TEST(PowerSeries, is_the_mean_of_each_second) {
    const auto series = power_series(curve(.1), kZero);
    ASSERT_TRUE(series);
    ASSERT_GE(series->values.size(), 28U);
    for (std::size_t i = 0; i < series->values.size(); ++i) {
        const double s = series->times_s[i];
        EXPECT_NEAR(series->values[i], joules_until(s + .5) - joules_until(s - .5), 3) << s;
    }
}

TEST(Dcgm, sums_the_gpus_of_its_exporter) {
    const auto sample =
        dcgm_sample_of(scrape::parse_prometheus("# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
                                                "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 310.5\n"
                                                "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 100\n"
                                                "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\"} 5000\n"
                                                "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"1\"} 7000\n"
                                                "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 90\n"
                                                "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 10\n"
                                                "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1980\n"
                                                "DCGM_FI_DEV_SM_CLOCK{gpu=\"1\"} 345\n"
                                                "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60\n"));
    ASSERT_TRUE(sample);
    EXPECT_DOUBLE_EQ(sample->watts.value(), 410.5);
    EXPECT_EQ(sample->devices, 2U);
    EXPECT_DOUBLE_EQ(sample->counter_j.value(), 12);
    EXPECT_DOUBLE_EQ(sample->utilization.value(), .5);
    EXPECT_DOUBLE_EQ(sample->sm_clock_hz.value(), 345e6);
    EXPECT_DOUBLE_EQ(sample->temperature_c.value(), 60);
    EXPECT_FALSE(dcgm_sample_of(scrape::parse_prometheus("node_load1 3\n")));
}

}  // namespace
}  // namespace paretoken::power
