// Measures whether intervals and verdicts are right as often as promised: the short version of
// benchmarks/coverage.
#include "tests/support/coverage.h"

#include <gtest/gtest.h>

namespace paretoken::coverage {
namespace {

constexpr std::uint64_t kSeeds = 60;

const Load& load_named(std::string_view name) {
    return *std::ranges::find(loads(), name, &Load::name);
}

Cells cells_of_load(const std::string& name, std::uint64_t requests) {
    const Load& load = load_named(name);
    const auto truth = truth_of(load, 6, 10'000);
    Cells cells;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) add(cells, cells_of(load, truth, requests, seed));
    return cells;
}

Cell pooled(const Cells& cells) {
    Cell sum;
    for (const auto& [tag, of_percentiles] : cells)
        for (const Cell& cell : of_percentiles) sum += cell;
    return sum;
}

/// Expects that no cell with most intervals given covers so little that a promise of 91 % is unlikely, and
/// that few verdicts on a limit at the true value are "pass".
void expect_promises_kept(const Cells& cells) {
    for (const auto& [tag, of_percentiles] : cells) {
        for (std::size_t i = 0; i < of_percentiles.size(); ++i) {
            const Cell& cell = of_percentiles[i];
            if (2 * cell.given < cell.runs) continue;
            EXPECT_GE(cell.coverage(), 0.85) << tag << " " << percentiles()[i];
            EXPECT_LE(cell.false_passes, 3U) << tag << " " << percentiles()[i];
        }
    }
    const auto all = pooled(cells);
    EXPECT_GE(all.coverage(), 0.93);
    EXPECT_LE(static_cast<double>(all.false_passes), 0.01 * static_cast<double>(all.runs));
}

TEST(Coverage, of_a_closed_loop_of_sixteen_is_what_intervals_say) {
    const auto cells = cells_of_load("closed 16", 600);
    expect_promises_kept(cells);
    for (const auto* tag : {"ttft", "tpot", "interactivity"})
        EXPECT_LE(cells.at(tag)[0].withheld(), 0.05) << tag;
}

TEST(Coverage, of_a_closed_loop_in_step_is_what_intervals_say) {
    const auto cells = cells_of_load("closed 16, fixed lengths", 600);
    expect_promises_kept(cells);
    for (const auto* tag : {"ttft", "tpot", "e2e"})
        for (std::size_t p50_or_p90 = 0; p50_or_p90 < 2; ++p50_or_p90)
            EXPECT_LE(cells.at(tag)[p50_or_p90].withheld(), 0.05) << tag;
}

TEST(Coverage, of_fewer_than_twelve_rounds_in_step_decides_no_limit) {
    const Load& load = load_named("closed 128, fixed lengths");
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const RunSummary summary = summary_of(load, run_of_load(load, 1000, seed));
        ASSERT_TRUE(summary.window_report.steady) << seed;
        for (const MetricSummary& metric : summary.metrics) {
            for (const PercentileValue& held : metric.percentiles)
                EXPECT_FALSE(held.decided.has_value()) << metric.key << " " << held.p;
        }
        EXPECT_GE(summary.metric("ttft_s")->at(.9)->enough_n, 12U * 128) << seed;
    }
}

TEST(Coverage, of_an_open_loop_at_three_quarters_of_capacity_is_what_intervals_say) {
    const auto cells = cells_of_load("open 75 %", 1000);
    expect_promises_kept(cells);
    EXPECT_LE(cells.at("ttft_intended")[1].false_passes, 2U);
    EXPECT_GE(pooled(cells).given, kSeeds);
}

}  // namespace
}  // namespace paretoken::coverage
