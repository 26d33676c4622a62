#include "reports/micro/micro_results.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"

namespace paretoken::reports {
namespace {

std::string micro_json(const std::string& rows, const std::string& hardware = "AMD EPYC",
                       const std::string& date = "2026-11-21T09:40:00Z") {
    return R"({"context": {"date": ")" + date +
           R"(", "host_name": "vm", "paretoken_schema": "paretoken/micro/1",
        "hardware": ")" +
           hardware + R"(", "cores": "2"}, "benchmarks": [)" + rows + "]}";
}

std::string row(const std::string& name, const std::string& counters) {
    return R"({"name": ")" + name + R"(", "run_type": "iteration", "iterations": 1, )" + counters + "}";
}

const std::string kRows =
    row("ceiling/read/backend:cpu/threads:1", R"("bytes_per_second": 3.0e10, "valid": 1.0)") + "," +
    row("ceiling/read/backend:cpu/threads:2/iterations:1/manual_time",
        R"("bytes_per_second": 4.5e10, "valid": 1.0)") +
    "," +
    row("ceiling/flops/kind:f32_fma/backend:cpu/threads:2", R"("flops_per_second": 2.0e11, "valid": 1.0)") +
    "," +
    row("ceiling/flops/kind:int8_dot/backend:cpu/threads:2", R"("flops_per_second": 1.6e12, "valid": 1.0)") +
    "," + row("weights/w:q4_1/layout:packed/batch:1/backend:cpu/threads:2", R"("bytes_per_second": 4.0e10)") +
    "," + row("weights/w:q4_1/layout:row/batch:1/backend:cpu/threads:2", R"("bytes_per_second": 2.0e10)") +
    "," +
    row("weights/w:bf16/layout:row/batch:1/backend:cpu/threads:2",
        R"("bytes_per_second": 9.9e10, "valid": 0.0)") +
    "," + row("attention/kv:f16/batch:4/backend:cpu/threads:2", R"("bytes_per_second": 3.5e10, "valid": 1)") +
    "," + row("launch/graph_node", R"("median_s": 1e-6)");

TEST(MicroResults, KeepTheBestValidRowOfEachKind) {
    const MicroResults results = parse_micro_results(micro_json(kRows), "micro.json");
    EXPECT_EQ(results.hardware, "AMD EPYC");
    EXPECT_EQ(results.cores, 2u);
    EXPECT_EQ(results.read_bytes_per_s, 4.5e10);
    EXPECT_EQ(results.best_flops_per_s(), 1.6e12);
    EXPECT_EQ(results.weight_bytes_per_s, (std::map<std::string, double>{{"q4_1", 4.0e10}}));
    EXPECT_EQ(results.attention_bytes_per_s, (std::map<std::string, double>{{"f16", 3.5e10}}));
    EXPECT_EQ(results.invalid_rows, 1u);
}

TEST(MicroResults, LeaveOutErrorsAndAggregates) {
    const std::string rows =
        R"({"name": "ceiling/read/backend:cpu/threads:2", "run_type": "iteration", "error_occurred": true,
            "error_message": "no"},
           {"name": "ceiling/read/backend:cpu/threads:2_mean", "run_type": "aggregate", "bytes_per_second": 9e12})";
    const MicroResults results = parse_micro_results(micro_json(rows), "micro.json");
    EXPECT_FALSE(results.read_bytes_per_s);
    EXPECT_FALSE(results.best_flops_per_s());
    EXPECT_EQ(results.invalid_rows, 1u);
}

TEST(MicroResults, TakeTheBestWindowOfACeilingEvenIfItWasUnsteady) {
    const std::string rows =
        row("ceiling/read/backend:cpu/threads:2",
            R"("bytes_per_second": 6.4e10, "bytes_per_second_best": 7.1e10, "valid": 0.0)") +
        "," +
        row("weights/w:q8_0/layout:packed/batch:1/backend:cpu/threads:2",
            R"("bytes_per_second": 3e10, "bytes_per_second_best": 9e10, "valid": 1.0)");
    const MicroResults results = parse_micro_results(micro_json(rows), "micro.json");
    EXPECT_EQ(results.read_bytes_per_s, 7.1e10);
    EXPECT_EQ(results.weight_bytes_per_s.at("q8_0"), 3e10);
    EXPECT_EQ(results.invalid_rows, 0u);
}

TEST(MicroResults, RaiseTheCeilingOfWhatCachesHoldInPart) {
    const std::string rows =
        row("ceiling/read/backend:cpu/threads:2", R"("bytes_per_second": 6e10)") + "," +
        row("ceiling/cached_read/mib:32/backend:cpu/threads:2", R"("bytes_per_second": 1.4e11)") + "," +
        row("ceiling/cached_read/mib:64/backend:cpu/threads:2", R"("bytes_per_second": 7e10)") + "," +
        row("ceiling/cached_read/mib:128/backend:cpu/threads:2", R"("bytes_per_second": 5e10)");
    const MicroResults results = parse_micro_results(micro_json(rows), "micro.json");
    constexpr double kMebi = 1048576;
    EXPECT_EQ(read_ceiling_of(results, 16 * kMebi), 1.4e11);
    EXPECT_EQ(read_ceiling_of(results, 32 * kMebi), 1.4e11);
    EXPECT_EQ(read_ceiling_of(results, 63 * kMebi), 1.4e11);
    EXPECT_EQ(read_ceiling_of(results, 92 * kMebi), 7e10);
    EXPECT_EQ(read_ceiling_of(results, 15e9), 6e10);
    EXPECT_FALSE(read_ceiling_of({}, 1));
    const auto merged_twice = merged({results, results});
    EXPECT_EQ(merged_twice.front().reread_bytes_per_s, results.reread_bytes_per_s);
}

TEST(MicroResults, KnowNoBoundOfArithmeticWhenOneKindLeftHardwareIdle) {
    const std::string rows =
        row("ceiling/flops/kind:f32_fma/backend:cpu/threads:2", R"("flops_per_second": 2e11, "valid": 1.0)") +
        "," +
        row("ceiling/flops/kind:int8_dot/backend:cpu/threads:2", R"("flops_per_second": 9e11, "valid": 0.0)");
    const MicroResults results = parse_micro_results(micro_json(rows), "micro.json");
    EXPECT_FALSE(results.best_flops_per_s());
    EXPECT_FALSE(
        merged({parse_micro_results(micro_json(kRows), "other.json"), results}).front().best_flops_per_s());
}

TEST(MicroResults, OfSeveralFilesKeepTheBestCeilingOfEachHardware) {
    const auto before = parse_micro_results(micro_json(kRows), "before.json");
    const auto after = parse_micro_results(
        micro_json(row("ceiling/read/backend:cpu/threads:2", R"("bytes_per_second": 5.0e10)"), "AMD EPYC",
                   "2026-11-21T10:40:00Z"),
        "after.json");
    const auto other = parse_micro_results(
        micro_json(row("ceiling/read/backend:cuda", R"("bytes_per_second": 4.3e12)"), "NVIDIA H200"),
        "gpu.json");
    const auto all = merged({before, other, after});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].read_bytes_per_s, 5.0e10);
    EXPECT_EQ(all[0].date, "2026-11-21T10:40:00Z");
    EXPECT_EQ(all[0].files, (std::vector<std::string>{"before.json", "after.json"}));
    EXPECT_EQ(all[0].best_flops_per_s(), 1.6e12);
    EXPECT_EQ(all[1].hardware, "NVIDIA H200");
    const auto reversed = merged({after, before});
    EXPECT_EQ(reversed[0].read_bytes_per_s, 5.0e10);
}

std::string fits_json(const std::string& kernel, double fixed_s, double bytes_per_s) {
    return R"({"kernel": ")" + kernel + R"(", "fixed_s": )" + std::to_string(fixed_s) +
           R"(, "bytes_per_s": )" + std::to_string(bytes_per_s) +
           R"(, "points": 5, "least_bytes": 131072, "most_bytes": 3.3e7, "worst_residual": 0.02})";
}

std::string with_fits(const std::string& json, const std::string& fits) {
    return json.substr(0, json.size() - 1) + R"(, "fits": [)" + fits + "]}";
}

TEST(MicroResults, ReadTheFitsOfReadsAndPreferTheOneThatPromisesMost) {
    const std::string json =
        with_fits(micro_json(kRows), fits_json("ceiling/read/backend:cpu/threads:1", 0, 3e10) + "," +
                                         fits_json("ceiling/read/backend:cpu/threads:2", 2e-6, 4.4e10) + "," +
                                         fits_json("weights/w:bf16", 1e-6, 9e10));
    const MicroResults results = parse_micro_results(json, "micro.json");
    ASSERT_EQ(results.read_fits.size(), 2u);
    EXPECT_EQ(fastest_read_fit(results, 1e4)->kernel, "ceiling/read/backend:cpu/threads:1");
    EXPECT_EQ(fastest_read_fit(results, 1e8)->kernel, "ceiling/read/backend:cpu/threads:2");
    EXPECT_EQ(fastest_read_fit({}, 1), nullptr);
    EXPECT_EQ(results.read_bytes_per_s, 4.5e10);  // of the row without a size, not of a fit
    EXPECT_EQ(merged({results, results}).front().read_fits.size(), 4u);
}

TEST(MicroResults, TakeReadsBySizeForTheCeilingOnlyWhereThereIsNothingElse) {
    const std::string sized =
        row("ceiling/read/kib:128/backend:cpu/threads:2", R"("bytes_per_second": 9e10)");
    EXPECT_EQ(parse_micro_results(micro_json(kRows + "," + sized), "micro.json").read_bytes_per_s, 4.5e10);
    EXPECT_EQ(parse_micro_results(micro_json(sized), "micro.json").read_bytes_per_s, 9e10);
    const std::string gpu = row("ceiling/read/mib:64/backend:gpu", R"("bytes_per_second": 3.7e12)");
    EXPECT_EQ(
        parse_micro_results(with_fits(micro_json(gpu), fits_json("ceiling/read/backend:gpu", 3e-6, 4.2e12)),
                            "micro.json")
            .read_bytes_per_s,
        4.2e12);
}

std::string complaint_about(const std::string& json) {
    try {
        parse_micro_results(json, "micro.json");
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(MicroResults, SayWhatIsWrongWithAFile) {
    EXPECT_NE(complaint_about("nope").find("micro.json: not valid JSON"), std::string::npos);
    EXPECT_NE(complaint_about("{}").find("context: missing"), std::string::npos);
    EXPECT_NE(complaint_about(R"({"context": {}})").find("paretoken micro"), std::string::npos);
    EXPECT_NE(complaint_about(R"({"context": {"paretoken_schema": "paretoken/micro/9"}})").find("micro/1"),
              std::string::npos);
    EXPECT_NE(complaint_about(micro_json(row("ceiling/read/threads:1", R"("median_s": 1)")))
                  .find("bytes_per_second"),
              std::string::npos);
    EXPECT_NE(complaint_about(micro_json(row("ceiling/cached_read/mib:x", R"("bytes_per_second": 1)")))
                  .find("mib:64"),
              std::string::npos);
    EXPECT_NE(complaint_about(micro_json(row("ceiling/read/threads:1", R"("bytes_per_second": NaN)")))
                  .find("not valid JSON"),
              std::string::npos);
    EXPECT_NE(
        complaint_about(with_fits(micro_json(kRows), R"({"kernel": "x", "fixed_s": -1})")).find("fixed_s"),
        std::string::npos);
    EXPECT_THROW(read_micro_results({"/nonexistent/micro.json"}), UsageError);
}

}  // namespace
}  // namespace paretoken::reports
