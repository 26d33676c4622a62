// What reports say about jobs of agents: their table, and their caches as a reason for the gap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/result/figures.h"
#include "reports/analysis/model/gap.h"
#include "reports/analysis/model/join/gaps.h"
#include "reports/analysis/sections/sections.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using ::testing::EndsWith;

/// A run of 720 jobs per hour on four GPUs, of whose prompts a cache served 36 %, and 85 % at best.
ReportPoint point_of_jobs() {
    ReportPoint point;
    point.result = sample::run(4, 0.012);
    point.result.provenance.hardware_count = 4;
    point.result.workload.best_possible_cached_ratio = .85;
    point.result.throughput.set(figure::kCachedPromptRatio, .36);
    JobResults& jobs = point.result.jobs.emplace();
    jobs.jobs_per_hour = 720;
    jobs.continued_ratio = .88;
    jobs.cached_of_continued = .41;
    point.load_label = load_label_of(point.result);
    point.output_tokens_per_s = 1500;
    return point;
}

/// Returns the cell of the only row of the table of jobs under this title.
std::string cell_of(const ReportPoint& point, std::string_view title) {
    ReportModel model;
    model.configurations.emplace_back().points = {point};
    const auto sections = job_sections(model);
    const Table& table = std::get<Table>(sections.at(0).blocks.at(1).content);
    const auto column = std::ranges::find(table.columns, title, &TableColumn::title);
    return table.rows.at(0).at(static_cast<std::size_t>(column - table.columns.begin()));
}

TEST(JobsOfAReport, AreCountedPerHourAndPerGpu) {
    ReportPoint point = point_of_jobs();
    EXPECT_EQ(cell_of(point, "Jobs per hour"), "720");
    EXPECT_EQ(cell_of(point, "per GPU"), "180");
    point.result.provenance.hardware_count = 0;
    EXPECT_EQ(cell_of(point, "per GPU"), "–") << "the number of GPUs is not known";
}

TEST(JobsOfAReport, HaveTheirCachedShareBesideTheBestPossibleOne) {
    const ReportPoint point = point_of_jobs();
    EXPECT_EQ(cell_of(point, "Cached share"), "36 %");
    EXPECT_EQ(cell_of(point, "Best possible"), "85 %");
    EXPECT_EQ(cell_of(point, "Continued"), "88 %");
    EXPECT_EQ(cell_of(point, "Cached of it"), "41 %");
}

TEST(JobsOfAReport, NameTheCachedShareAndTheBestPossibleOneAsReasonsOfTheGap) {
    ReportPoint point = point_of_jobs();
    const std::string continued =
        "88 % of the prompts' tokens stood in the turn before, and a cache served 41 % of these";
    const std::string best = "85 % is the best possible share of the whole file";
    const GapRun run = gap_run_of(point);
    EXPECT_EQ(run.cached_part, continued + "; a cache served 36 % of all prompts' tokens; " + best);

    LimitInputs limit;
    limit.dense_weight_bytes = 16e9;
    limit.weight_bytes_per_s = 4e12;
    limit.kv_bytes_per_token = 131072;
    limit.kv_bytes_per_s = 4e12;
    limit.linear_s_per_token = 16e-6;
    const auto gap = gap_of(run, {.datasheet = limit, .measured = limit});
    ASSERT_TRUE(gap);
    const auto prompts = std::ranges::find(gap->parts, "prefill interference", &GapPart::name);
    ASSERT_NE(prompts, gap->parts.end());
    EXPECT_THAT(prompts->source, EndsWith("; " + run.cached_part)) << "behind the source of the time";

    point.result.workload.best_possible_cached_ratio.reset();
    EXPECT_EQ(gap_run_of(point).cached_part, continued) << "the file has no blocks";
    point = point_of_jobs();
    point.result.jobs->cached_of_continued.reset();
    EXPECT_EQ(gap_run_of(point).cached_part, "a cache served 36 % of all prompts' tokens; " + best);
    std::erase_if(point.result.throughput.values,
                  [](const FigureValue& figure) { return figure.key == figure::kCachedPromptRatio; });
    EXPECT_EQ(gap_run_of(point).cached_part, best) << "a share that nobody reported is not 0 %";
}

}  // namespace
}  // namespace paretoken::reports
