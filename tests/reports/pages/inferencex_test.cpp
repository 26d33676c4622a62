#include "reports/pages/inferencex.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/pages/formats.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using nlohmann::json;

TEST(InferenceX, HasARowWithItsKeysForEveryValidRunOfAClosedLoop) {
    const json rows = json::parse(inferencex_report(sample::report()));
    ASSERT_EQ(rows.size(), 11U);  // twelve runs, one of them invalid
    for (const json& row : rows) {
        for (const char* key :
             {"hw", "conc", "model", "framework", "precision", "spec_decoding", "disagg", "isl", "osl", "tp",
              "pp", "ep", "dp_attention", "tput_per_gpu", "output_tput_per_gpu", "input_tput_per_gpu"})
            EXPECT_TRUE(row.contains(key)) << key;
        for (const char* statistic : {"mean", "median", "p75", "p90", "p95", "p99"})
            for (const char* metric : {"ttft", "tpot", "itl", "e2el", "intvty"})
                EXPECT_TRUE(row.contains(std::string(statistic) + "_" + metric)) << statistic << metric;
    }
}

TEST(InferenceX, HoldsSecondsRatesPerGpuAndInvertedTimesPerToken) {
    ReportModel model = sample::report();
    ReportPoint& point = model.configurations[0].points[3];
    point.result.provenance.hardware = "NVIDIA H100 80GB HBM3";
    point.result.provenance.hardware_count = 2;
    point.result.provenance.metadata = {{"ep", "4"}, {"precision", "fp8"}, {"dp_attention", "true"}};
    const json row = json::parse(inferencex_report(model))[3];
    EXPECT_EQ(row["hw"], "h100-sxm");
    EXPECT_EQ(row["conc"], 8);
    EXPECT_EQ(row["tp"], 2);
    EXPECT_EQ(row["ep"], 4);
    EXPECT_EQ(row["precision"], "fp8");
    EXPECT_EQ(row["dp_attention"], true);
    EXPECT_EQ(row["isl"], 512);
    EXPECT_EQ(row["osl"], 128);
    const double output = *point.result.throughput.at(figure::kOutputTokens);
    EXPECT_DOUBLE_EQ(row["output_tput_per_gpu"], output / 2);
    EXPECT_DOUBLE_EQ(row["tput_per_gpu"], output * 5 / 2);
    EXPECT_DOUBLE_EQ(row["median_ttft"], *point.result.metric("ttft_s")->at(.5)->value);
    EXPECT_DOUBLE_EQ(row["p99_e2el"], *point.result.metric("e2e_s")->at(.99)->value);
    EXPECT_DOUBLE_EQ(row["p90_intvty"], 1 / *point.result.metric("tpot_s")->at(.9)->value);
}

TEST(InferenceX, LeavesOutOpenLoopsAndSaysNothingOfPercentilesAmongFailures) {
    ReportModel model = sample::report();
    model.configurations.resize(1);
    model.configurations[0].points.resize(2);
    model.configurations[0].points[0].open_loop = true;
    for (MetricSummary& metric : model.configurations[0].points[1].result.metrics)
        for (PercentileValue& percentile : metric.percentiles)
            if (percentile.p > .9) percentile.value.reset();
    const json rows = json::parse(inferencex_report(model));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_TRUE(rows[0]["p99_tpot"].is_null());
    EXPECT_TRUE(rows[0]["p99_intvty"].is_null());
    EXPECT_TRUE(rows[0]["p90_intvty"].is_number());
}

TEST(InferenceX, IsAFormatWithAnEndingOfItsOwn) {
    const auto formats = formats_named("inferencex,json");
    EXPECT_EQ(formats[0]->extension, "inferencex.json");
    EXPECT_EQ(formats[1]->extension, "json");
}

}  // namespace
}  // namespace paretoken::reports
