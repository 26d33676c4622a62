#include "reports/analysis/micro/micro_results.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cards/gpu.h"
#include "core/error.h"

namespace paretoken::reports {
namespace {

const std::string kEpyc = R"({"id": "cpu", "backend": "cpu", "name": "AMD EPYC", "cores": 2})";
const std::string kH200 = R"({"id": "gpu0", "backend": "gpu", "name": "NVIDIA H200", "card": "h200"})";

std::string micro_json(const std::string& rows, const std::string& devices = kEpyc,
                       const std::string& date = "2026-11-21T09:40:00Z") {
    return R"({"context": {"devices": [)" + devices + R"(], "date": ")" + date +
           R"(", "host_name": "vm", "paretoken_schema": "paretoken/micro/2"}, "benchmarks": [)" + rows + "]}";
}

/// The results of the file's first device.
MicroResults first_of(const std::string& json, const std::string& where = "micro.json") {
    return parse_micro_results(json, where).at(0);
}

double value_of(const std::optional<MeasuredFigure>& figure) {
    return figure ? figure->value : 0;
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

TEST(MicroResults, OfACpuGiveItsCard) {
    const std::string device =
        R"({"id": "cpu", "backend": "cpu", "name": "AMD EPYC", "cores": 2, "memory_bytes": 8e9})";
    const cards::GpuCard card = cpu_card_of(parse_micro_file(micro_json(kRows, device), "micro.json"));
    EXPECT_EQ(card.cores, 2U);
    EXPECT_EQ(card.memory_bytes_per_s, 4.5e10);
    EXPECT_EQ(card.flops.at("f32"), 2e11);
    EXPECT_EQ(card.reported_bytes, 8e9);
    EXPECT_EQ(card.title + " of " + card.as_of, "AMD EPYC, 2 threads of 2026-11");
    const std::string no_reads =
        row("ceiling/flops/kind:f32_fma/backend:cpu/threads:2", R"("flops_per_second": 2.0e11)");
    EXPECT_THROW(cpu_card_of(parse_micro_file(micro_json(no_reads, device), "micro.json")), UsageError);
}

TEST(MicroResults, KeepTheBestValidRowOfEachKind) {
    const MicroResults results = first_of(micro_json(kRows), "micro.json");
    EXPECT_EQ(title_of(results.device), "AMD EPYC (2 cores)");
    EXPECT_EQ(results.read_bytes_per_s,
              (MeasuredFigure{4.5e10, "ceiling/read/backend:cpu/threads:2/iterations:1/manual_time"}));
    EXPECT_EQ(flops_ceiling_of(results, "bf16"),
              (MeasuredFigure{1.6e12, "ceiling/flops/kind:int8_dot/backend:cpu/threads:2"}));
    EXPECT_EQ(results.invalid_rows, 1u);
    EXPECT_EQ(results.rows.size(), 9u);
}

TEST(MicroResults, LeaveOutErrorsAndAggregates) {
    const std::string rows =
        R"({"name": "ceiling/read/backend:cpu/threads:2", "run_type": "iteration", "error_occurred": true,
            "error_message": "no"},
           {"name": "ceiling/read/backend:cpu/threads:2_mean", "run_type": "aggregate", "bytes_per_second": 9e12})";
    const MicroResults results = first_of(micro_json(rows), "micro.json");
    EXPECT_FALSE(results.read_bytes_per_s);
    EXPECT_FALSE(flops_ceiling_of(results, "bf16"));
    EXPECT_EQ(results.invalid_rows, 1u);
}

TEST(MicroResults, TakeTheBestWindowOfACeilingEvenIfItWasUnsteady) {
    const std::string rows =
        row("ceiling/read/backend:cpu/threads:2",
            R"("bytes_per_second": 6.4e10, "bytes_per_second_best": 7.1e10, "valid": 0.0)") +
        "," +
        row("weights/w:q8_0/layout:packed/batch:1/backend:cpu/threads:2",
            R"("bytes_per_second": 3e10, "bytes_per_second_best": 9e10, "valid": 1.0)");
    const MicroResults results = first_of(micro_json(rows), "micro.json");
    EXPECT_EQ(value_of(results.read_bytes_per_s), 7.1e10);
    EXPECT_EQ(results.invalid_rows, 0u);
}

TEST(MicroResults, RaiseTheCeilingOfWhatCachesHoldInPart) {
    const std::string rows =
        row("ceiling/read/backend:cpu/threads:2", R"("bytes_per_second": 6e10)") + "," +
        row("ceiling/cached_read/mib:32/backend:cpu/threads:2", R"("bytes_per_second": 1.4e11)") + "," +
        row("ceiling/cached_read/mib:64/backend:cpu/threads:2", R"("bytes_per_second": 7e10)") + "," +
        row("ceiling/cached_read/mib:128/backend:cpu/threads:2", R"("bytes_per_second": 5e10)");
    const MicroResults results = first_of(micro_json(rows), "micro.json");
    constexpr double kMebi = 1048576;
    EXPECT_EQ(value_of(read_ceiling_of(results, 16 * kMebi)), 1.4e11);
    EXPECT_EQ(value_of(read_ceiling_of(results, 32 * kMebi)), 1.4e11);
    EXPECT_EQ(value_of(read_ceiling_of(results, 63 * kMebi)), 1.4e11);
    EXPECT_EQ(value_of(read_ceiling_of(results, 92 * kMebi)), 7e10);
    EXPECT_EQ(value_of(read_ceiling_of(results, 15e9)), 6e10);
    EXPECT_FALSE(read_ceiling_of({}, 1));
    const auto merged_twice = merged({results, results});
    EXPECT_EQ(merged_twice.front().reread_bytes_per_s, results.reread_bytes_per_s);
}

TEST(MicroResults, KnowNoBoundOfArithmeticWhenOneKindLeftHardwareIdle) {
    const std::string rows =
        row("ceiling/flops/kind:f32_fma/backend:cpu/threads:2", R"("flops_per_second": 2e11, "valid": 1.0)") +
        "," +
        row("ceiling/flops/kind:int8_dot/backend:cpu/threads:2", R"("flops_per_second": 9e11, "valid": 0.0)");
    const MicroResults results = first_of(micro_json(rows), "micro.json");
    EXPECT_FALSE(flops_ceiling_of(results, "bf16"));
    EXPECT_FALSE(
        flops_ceiling_of(merged({first_of(micro_json(kRows), "other.json"), results}).front(), "bf16"));
}

TEST(MicroResults, OfSeveralFilesKeepTheBestCeilingOfEachHardware) {
    const auto before = first_of(micro_json(kRows), "before.json");
    const auto after =
        first_of(micro_json(row("ceiling/read/backend:cpu/threads:2", R"("bytes_per_second": 5.0e10)"), kEpyc,
                            "2026-11-21T10:40:00Z"),
                 "after.json");
    const auto other =
        first_of(micro_json(row("ceiling/read/mib:256/backend:gpu", R"("bytes_per_second": 4.3e12)"), kH200),
                 "gpu.json");
    const auto all = merged({before, other, after});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(value_of(all[0].read_bytes_per_s), 5.0e10);
    EXPECT_EQ(all[0].date, "2026-11-21T10:40:00Z");
    EXPECT_EQ(all[0].files, (std::vector<std::string>{"before.json", "after.json"}));
    EXPECT_EQ(value_of(flops_ceiling_of(all[0], "bf16")), 1.6e12);
    EXPECT_EQ(all[1].device.name, "NVIDIA H200");
    const auto reversed = merged({after, before});
    EXPECT_EQ(value_of(reversed[0].read_bytes_per_s), 5.0e10);
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
    const MicroResults results = first_of(json);
    ASSERT_EQ(results.read_fits.size(), 2u);
    EXPECT_EQ(fastest_read_fit(results, 1e4)->kernel, "ceiling/read/backend:cpu/threads:1");
    EXPECT_EQ(fastest_read_fit(results, 1e8)->kernel, "ceiling/read/backend:cpu/threads:2");
    EXPECT_EQ(fastest_read_fit({}, 1), nullptr);
    EXPECT_EQ(value_of(results.read_bytes_per_s), 4.5e10);  // from the row without a size, not from a fit
    EXPECT_EQ(merged({results, results}).front().read_fits.size(), 4u);
}

TEST(MicroResults, TakeReadsBySizeForTheCeilingOnlyWhereThereIsNothingElse) {
    const std::string sized =
        row("ceiling/read/kib:128/backend:cpu/threads:2", R"("bytes_per_second": 9e10)");
    EXPECT_EQ(value_of(first_of(micro_json(kRows + "," + sized)).read_bytes_per_s), 4.5e10);
    EXPECT_EQ(value_of(first_of(micro_json(sized)).read_bytes_per_s), 9e10);
    const std::string gpu = row("ceiling/read/mib:64/backend:gpu", R"("bytes_per_second": 3.7e12)");
    EXPECT_EQ(first_of(with_fits(micro_json(gpu, kH200), fits_json("ceiling/read/backend:gpu", 3e-6, 4.2e12)))
                  .read_bytes_per_s,
              (MeasuredFigure{4.2e12, "ceiling/read/backend:gpu (fit by size)"}));
}

const std::string kTwoGpus =
    kEpyc + "," + kH200 + R"(, {"id": "gpu1", "backend": "gpu", "name": "NVIDIA H200", "card": "h200"})";

std::string gpu_row(const std::string& name, const std::string& device, const std::string& counters) {
    return row(name + "/backend:gpu/mode:ring", R"("device": ")" + device + R"(", )" + counters);
}

TEST(MicroResults, BelongToOneDeviceEachAndNeverServeAnother) {
    const std::string json = micro_json(
        kRows + "," +
            gpu_row("ceiling/read/mib:1024/access:staged", "gpu0", R"("bytes_per_second": 4.3e12)") + "," +
            gpu_row("ceiling/read/mib:1024/access:staged", "gpu1", R"("bytes_per_second": 4.1e12)") + "," +
            gpu_row("ceiling/flops/lib/w:bf16", "gpu0", R"("flops_per_second": 7.9e14)"),
        kTwoGpus);
    const auto results = parse_micro_results(json, "micro.json");
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0].device.id, "cpu");
    EXPECT_EQ(value_of(results[0].read_bytes_per_s), 4.5e10);
    EXPECT_EQ(value_of(results[1].read_bytes_per_s), 4.3e12);
    EXPECT_EQ(value_of(results[2].read_bytes_per_s), 4.1e12);
    EXPECT_EQ(value_of(flops_ceiling_of(results[1], "bf16")), 7.9e14);
    EXPECT_FALSE(flops_ceiling_of(results[2], "bf16"));
    EXPECT_EQ(merged(results).size(), 3u) << "equal devices of one file are different ones";
}

TEST(MicroResults, OfEqualDevicesTheSlowestThatIsNeededBounds) {
    MicroResults fast;
    fast.device = {.id = "gpu0", .backend = MicroBackend::gpu, .name = "NVIDIA H200"};
    fast.read_bytes_per_s = MeasuredFigure{4.3e12, "a"};
    MicroResults slow = fast;
    slow.device.id = "gpu1";
    slow.read_bytes_per_s = MeasuredFigure{4.0e12, "b"};
    MicroResults unmeasured = fast;
    unmeasured.device.id = "gpu2";
    unmeasured.read_bytes_per_s.reset();
    const std::vector<const MicroResults*> same{&slow, &unmeasured, &fast};
    EXPECT_EQ(bounding_result(same, 1).device.id, "gpu0") << "one GPU served, and it may be the fastest";
    EXPECT_EQ(bounding_result(same, 2).device.id, "gpu1");
    EXPECT_EQ(bounding_result(same, 8).device.id, "gpu1");
    EXPECT_EQ(spread_of(same),
              "NVIDIA H200 (gpu1) reads 4000 GB/s, 7 % less than the equal gpu0 with 4300 GB/s");
    slow.read_bytes_per_s->value = 4.25e12;
    EXPECT_EQ(spread_of(same), "");
}

TEST(MicroResults, ReadAGpusArithmeticByFormatAndTakeNoSlowerKindForABound) {
    const auto with = [](const std::string& rows) { return first_of(micro_json(rows, kH200)); };
    const std::string bf16 = gpu_row("ceiling/flops/lib/w:bf16", "gpu0", R"("flops_per_second": 7.9e14)");
    const std::string fp8 =
        gpu_row("ceiling/flops/lib/w:fp8/accum:fast", "gpu0", R"("flops_per_second": 1.5e15)");
    const std::string mma = gpu_row("ceiling/flops/mma_sync/w:bf16", "gpu0", R"("flops_per_second": 6.2e14)");
    EXPECT_EQ(value_of(flops_ceiling_of(with(bf16 + "," + fp8), "fp8")), 1.5e15);
    EXPECT_EQ(value_of(flops_ceiling_of(with(bf16 + "," + fp8), "f16")), 7.9e14);
    EXPECT_FALSE(flops_ceiling_of(with(bf16), "fp8")) << "an H200 multiplies fp8 twice as fast";
    EXPECT_FALSE(flops_ceiling_of(with(mma), "bf16")) << "an H200 has a faster instruction";
    const MicroResults ampere = first_of(micro_json(
        mma, R"({"id": "gpu0", "backend": "gpu", "name": "NVIDIA RTX A6000", "compute_capability": "8.6"})"));
    EXPECT_EQ(flops_ceiling_of(ampere, "bf16"),
              (MeasuredFigure{6.2e14, "ceiling/flops/mma_sync/w:bf16/backend:gpu/mode:ring"}));
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
    EXPECT_NE(complaint_about(R"({"context": {"paretoken_schema": "paretoken/micro/9"}})").find("micro/2"),
              std::string::npos);
    const std::string old = complaint_about(R"({"context": {"paretoken_schema": "paretoken/micro/1"}})");
    EXPECT_NE(old.find("micro.json: paretoken/micro/1 does not say which device"), std::string::npos) << old;
    EXPECT_NE(old.find("measure again"), std::string::npos) << old;
    EXPECT_NE(complaint_about(micro_json(kRows, "")).find("devices: expected at least one"),
              std::string::npos);
    EXPECT_NE(complaint_about(micro_json(kRows, kEpyc + "," + kEpyc)).find("no other device"),
              std::string::npos);
    EXPECT_NE(complaint_about(micro_json(kRows, kH200)).find("no device in the context has the backend cpu"),
              std::string::npos);
    EXPECT_NE(complaint_about(
                  micro_json(row("ceiling/read/mib:1/backend:gpu", R"("bytes_per_second": 1)"), kTwoGpus))
                  .find("several devices have the backend gpu"),
              std::string::npos);
    EXPECT_NE(
        complaint_about(micro_json(gpu_row("ceiling/read", "gpu7", R"("bytes_per_second": 1)"), kTwoGpus))
            .find("the id of one of the devices"),
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
