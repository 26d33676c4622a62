#include "reports/analysis/micro/micro_compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace paretoken::reports {
namespace {

Speed speed(double median, double spread) {
    return {median, {median * (1 - spread), median * (1 + spread)}};
}

MicroVerdict opposite(MicroVerdict verdict) {
    if (verdict == MicroVerdict::faster) return MicroVerdict::slower;
    if (verdict == MicroVerdict::slower) return MicroVerdict::faster;
    return verdict;
}

TEST(MicroCompare, NeedsAnEffectAndIntervalsApart) {
    EXPECT_EQ(verdict_of(speed(100, 0.01), speed(110, 0.01), 0.03), MicroVerdict::faster);
    EXPECT_EQ(verdict_of(speed(100, 0.01), speed(90, 0.01), 0.03), MicroVerdict::slower);
    EXPECT_EQ(verdict_of(speed(100, 0.001), speed(102, 0.001), 0.03),
              MicroVerdict::same);  // distinct, but the effect is too small
    EXPECT_EQ(verdict_of(speed(100, 0.1), speed(110, 0.1), 0.03), MicroVerdict::ambiguous);
    EXPECT_EQ(verdict_of(speed(100, 0.1), speed(90, 0.1), 0.03), MicroVerdict::ambiguous);
}

TEST(MicroCompare, TurnsRoundWithItsFilesAndDoesNotKnowUnits) {
    Random random(4);
    for (int i = 0; i < 2000; ++i) {
        const Speed a = speed(1 + random.uniform(), 0.2 * random.uniform());
        const Speed b = speed(1 + random.uniform(), 0.2 * random.uniform());
        const double effect = 0.2 * random.uniform();
        const MicroVerdict verdict = verdict_of(a, b, effect);
        EXPECT_EQ(verdict_of(b, a, effect), opposite(verdict));
        const auto scaled = [](const Speed& s) {
            return Speed{s.median * 4, {s.interval.low * 4, s.interval.high * 4}};
        };
        EXPECT_EQ(verdict_of(scaled(a), scaled(b), effect), verdict);
        EXPECT_EQ(verdict_of(a, a, effect), MicroVerdict::same);
    }
}

TEST(MicroCompare, ALargerLeastEffectOnlyEverMakesRowsTheSame) {
    Random random(5);
    for (int i = 0; i < 2000; ++i) {
        const Speed a = speed(1 + random.uniform(), 0.2 * random.uniform());
        const Speed b = speed(1 + random.uniform(), 0.2 * random.uniform());
        const MicroVerdict strict = verdict_of(a, b, 0.01);
        const MicroVerdict lax = verdict_of(a, b, 0.05);
        EXPECT_TRUE(lax == strict || lax == MicroVerdict::same);
    }
}

TEST(MicroCompare, WiderIntervalsOnlyEverTakeAVerdictAway) {
    Random random(6);
    for (int i = 0; i < 2000; ++i) {
        const double first = 1 + random.uniform();
        const double second = 1 + random.uniform();
        const double spread = 0.1 * random.uniform();
        const MicroVerdict narrow = verdict_of(speed(first, spread), speed(second, spread), 0.03);
        const MicroVerdict wide = verdict_of(speed(first, 2 * spread), speed(second, 2 * spread), 0.03);
        EXPECT_TRUE(wide == narrow || wide == MicroVerdict::ambiguous);
    }
}

MicroRow row(const std::string& name, double seconds, double spread = 0.01) {
    MicroRow out{.name = name};
    out.median_s = seconds;
    out.p10_s = seconds * (1 - 3 * spread);
    out.p25_s = seconds * (1 - spread);
    out.p75_s = seconds * (1 + spread);
    out.p90_s = seconds * (1 + 3 * spread);
    out.bytes_per_s = 4e6 / seconds;
    return out;
}

MicroFile file_of(std::vector<MicroRow> rows, const std::string& hardware = "AMD EPYC") {
    MicroFile file{.where = "micro.json", .date = "2026-11-21"};
    file.devices = {{.id = "gpu0", .name = hardware, .driver = "580.65"}};
    file.context = {{"isa", "avx512"}};
    file.rows = std::move(rows);
    return file;
}

TEST(MicroCompare, JoinsRowsByNameAndListsTheOthers) {
    const auto comparison = comparison_of(file_of({row("a", 1e-4), row("b", 1e-4), row("gone", 1e-4)}),
                                          file_of({row("new", 1e-4), row("b", 2e-4), row("a", 5e-5)}));
    ASSERT_EQ(comparison.rows.size(), 2u);
    EXPECT_EQ(comparison.rows[0].name, "a");
    EXPECT_EQ(comparison.rows[0].verdict, MicroVerdict::faster);
    EXPECT_NEAR(*comparison.rows[0].effect(), 1, 1e-9);
    EXPECT_EQ(comparison.rows[1].verdict, MicroVerdict::slower);
    EXPECT_NEAR(*comparison.rows[1].effect(), -0.5, 1e-9);
    EXPECT_EQ(comparison.only_before, std::vector<std::string>{"gone"});
    EXPECT_EQ(comparison.only_after, std::vector<std::string>{"new"});
    EXPECT_EQ(comparison.count(MicroVerdict::slower), 1u);
    EXPECT_TRUE(comparison.differences.empty());
}

TEST(MicroCompare, JoinsRowsOfOnePlaceOnly) {
    MicroRow first = row("a", 1e-4);
    MicroRow second = row("a", 2e-4);
    first.device = "gpu0";
    second.device = "gpu1";
    const auto comparison = comparison_of(file_of({first, second}), file_of({second, first}));
    EXPECT_EQ(comparison.count(MicroVerdict::same), 2u);
}

TEST(MicroCompare, AFileAgainstItselfIsTheSameThroughout) {
    const MicroFile file = file_of({row("a", 1e-4, 0.2), row("b", 3e-5)});
    EXPECT_EQ(comparison_of(file, file).count(MicroVerdict::same), 2u);
}

TEST(MicroCompare, ComparesSpeedsEvenWhereWindowsDifferInSize) {
    MicroRow twice = row("a", 2e-4);
    twice.bytes_per_s = 8e6 / 2e-4;
    EXPECT_EQ(comparison_of(file_of({row("a", 1e-4)}), file_of({twice})).rows[0].verdict, MicroVerdict::same);
}

TEST(MicroCompare, UsesQuartilesOnlyWhereBothFilesHaveThem) {
    MicroRow without = row("a", 1.1e-4, 0.03);
    EXPECT_EQ(comparison_of(file_of({row("a", 1e-4, 0.03)}), file_of({without})).rows[0].verdict,
              MicroVerdict::slower);
    without.p25_s.reset();
    EXPECT_EQ(comparison_of(file_of({row("a", 1e-4, 0.03)}), file_of({without})).rows[0].verdict,
              MicroVerdict::ambiguous);
}

TEST(MicroCompare, SaysWhyARowTellsNothing) {
    MicroRow failed{.name = "failed"};
    failed.error = "verification failed";
    MicroRow unsteady = row("unsteady", 2e-4);
    unsteady.valid = false;
    unsteady.label = "cv 20 %";
    MicroRow bare = row("bare", 2e-4);
    bare.p25_s = bare.p10_s = {};
    MicroRow other = row("other", 2e-4);
    other.bytes_per_s.reset();
    const auto comparison = comparison_of(
        file_of({row("failed", 1e-4), row("unsteady", 1e-4), row("bare", 1e-4), row("other", 1e-4)}),
        file_of({failed, unsteady, bare, other}));
    EXPECT_EQ(comparison.count(MicroVerdict::ambiguous), 4u);
    EXPECT_NE(comparison.rows[0].note.find("verification failed"), std::string::npos);
    EXPECT_NE(comparison.rows[1].note.find("not valid in the second: cv 20 %"), std::string::npos);
    EXPECT_NE(comparison.rows[2].note.find("varied"), std::string::npos);
    EXPECT_NE(comparison.rows[3].note.find("different things"), std::string::npos);
}

TEST(MicroCompare, NamesWhatWasMeasuredOnDifferently) {
    auto other = file_of({row("a", 1e-4)}, "NVIDIA H200");
    other.context["isa"] = "avx2";
    other.devices[0].driver = "580.82";
    const auto comparison = comparison_of(file_of({row("a", 1e-4)}), other);
    EXPECT_EQ(comparison.differences, (std::vector<std::string>{"name of gpu0: AMD EPYC, then NVIDIA H200",
                                                                "driver of gpu0: 580.65, then 580.82",
                                                                "instruction set: avx512, then avx2"}));
    const std::string text = text_of(comparison);
    EXPECT_NE(text.find("different name of gpu0: AMD EPYC, then NVIDIA H200"), std::string::npos);
}

TEST(MicroCompare, TheTableHasALinePerRowAndACount) {
    MicroRow launch{.name = "launch/graph_node"};
    launch.median_s = 1.5e-6;
    launch.p10_s = 1.4e-6;
    launch.p90_s = 1.6e-6;
    const std::string text = text_of(comparison_of(file_of({row("a", 1e-4), launch, row("gone", 1)}),
                                                   file_of({row("a", 5e-5), launch, row("new", 1)})));
    EXPECT_NE(text.find("40.0 GB/s"), std::string::npos);
    EXPECT_NE(text.find("80.0 GB/s"), std::string::npos);
    EXPECT_NE(text.find("+100.0 %  faster"), std::string::npos);
    EXPECT_NE(text.find("1.50 us"), std::string::npos);
    EXPECT_NE(text.find("only in the first"), std::string::npos);
    EXPECT_NE(text.find("only in the second"), std::string::npos);
    EXPECT_NE(text.find("1 faster, 0 slower, 1 same (within 3 %), 0 ambiguous"), std::string::npos);
}

}  // namespace
}  // namespace paretoken::reports
