// Files that hold only what a program computed, in samples/summaries (those of SGLang, inference-benchmarker,
// InferenceX and version 0.1 of the Benchmark Report were written by hand after the programs' sources).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/foreign.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_summary.h"
#include "reports/files/interop/readers/yaml.h"
#include "reports/files/run_directory.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"
#include "tests/support/paths.h"

namespace paretoken::reports {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

fs::path summary(const std::string& name) {
    return fs::path(paths::source_dir()) / "tests/reports/files/interop/samples/summaries" / name;
}

bool reads_yaml() {
    try {
        return foreign_yaml("a: 1", "text").is_object();
    } catch (const UsageError&) {
        return false;
    }
}

struct ExpectedSummary {
    std::string file;
    std::string by;
    std::string model;
    std::optional<std::uint64_t> requests;
    std::optional<std::uint64_t> failed;
    std::map<std::string, double> figures;
};
std::ostream& operator<<(std::ostream& out, const ExpectedSummary& expected) {
    return out << expected.file;
}

const std::vector<ExpectedSummary>& all_expected_summaries() {
    static const std::vector<ExpectedSummary> all = {
        {"vllm-bench.json",
         "vLLM bench",
         "smollm2",
         6,
         0,
         {{"ttft_p50_s", .3501875470}, {"output_tokens_per_s", 45.1154626}, {"osl_mean_tokens", 12}}},
        {"sglang-bench.jsonl",
         "SGLang bench",
         "",
         16,
         std::nullopt,
         {{"ttft_p50_s", .055}, {"ttft_p99_s", .09}, {"e2e_p99_s", .7}, {"output_tokens_per_s", 64}}},
        {"profile_export_aiperf.json",
         "AIPerf",
         "smollm2",
         6,
         0,
         {{"ttft_p50_s", .487584362},
          {"ttft_p99_s", .71687478535},
          {"itl_mean_s", .05287913588},
          {"osl_mean_tokens", 15},
          {"output_tokens_per_s", 25.1177547}}},
        {"genai-bench.json",
         "genai-bench",
         "",
         17,
         5,
         {{"ttft_p50_s", .036603167}, {"ttft_p99_s", .0615476691}, {"output_tokens_per_s", 94.8748004}}},
        {"benchmark-report-0.1.json",
         "inference-perf (Benchmark Report 0.1)",
         "sim-model",
         8,
         1,
         {{"ttft_p50_s", .02325}, {"ttft_p999_s", .274}, {"tpot_mean_s", .0095}, {"requests_per_s", 2.25}}},
        {"inferencex.json",
         "InferenceX",
         "meta-llama/Llama-3.3-70B",
         std::nullopt,
         std::nullopt,
         {{"ttft_p99_s", .9},
          {"interactivity_p50_tok_per_s", 66.5},
          {"total_tokens_per_s_per_gpu", 500},
          {"output_tokens_per_s", 480}}},
        {"benchmark-report-0.2.1.yaml",
         "Benchmark Report 0.2.1",
         "",
         8,
         1,
         {{"ttft_p50_s", .023085451}, {"ntpot_mean_s", .00459505252}, {"output_tokens_per_s", 87.5856759}}},
    };
    return all;
}

class ForeignSummary : public ::testing::TestWithParam<ExpectedSummary> {};

TEST_P(ForeignSummary, becomes_a_run_with_the_figures_of_its_program) {
    const ExpectedSummary& expected = GetParam();
    const TemporaryDirectory directory;
    if (expected.file.ends_with(".yaml") && !reads_yaml()) GTEST_SKIP() << "built without libyaml";
    ASSERT_THAT(import_runs(summary(expected.file), directory.path()), ElementsAre(directory.path()));
    const RunResult run = read_run_directory(directory.path());
    ASSERT_TRUE(run.reported);
    EXPECT_EQ(run.reported->by, expected.by);
    EXPECT_EQ(run.provenance.model, expected.model);
    EXPECT_EQ(run.reported->requests, expected.requests);
    EXPECT_EQ(run.reported->failed, expected.failed);
    for (const auto& [key, value] : expected.figures) {
        ASSERT_TRUE(run.reported->at(key)) << key;
        EXPECT_NEAR(*run.reported->at(key), value, 1e-6 * value) << key;
    }
    EXPECT_TRUE(run.metrics.empty()) << "nothing is computed of requests that are not known";
}

TEST_P(ForeignSummary, that_is_cut_off_is_refused_by_name) {
    if (GetParam().file.ends_with(".yaml")) GTEST_SKIP() << "the first half of a YAML file is one too";
    const TemporaryDirectory directory;
    const std::string text = read_file(summary(GetParam().file));
    const fs::path cut = directory.path() / GetParam().file;
    write_file_atomically(cut, text.substr(0, text.size() * 3 / 5));
    EXPECT_THAT(message_of<UsageError>([&] { import_runs(cut, directory.path() / "out"); }),
                HasSubstr(GetParam().file));
}

INSTANTIATE_TEST_SUITE_P(Files, ForeignSummary, ::testing::ValuesIn(all_expected_summaries()),
                         [](const auto& of) {
                             std::string name = of.param.file.substr(0, of.param.file.rfind('.'));
                             std::replace_if(
                                 name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                             return name;
                         });

TEST(ForeignSummaries, of_inference_benchmarker_are_a_run_for_each_load_without_the_warm_up_and_the_host) {
    const TemporaryDirectory directory;
    const auto runs = import_runs(summary("inference-benchmarker.json"), directory.path());
    ASSERT_THAT(runs, ElementsAre(directory.path() / "concurrency_8", directory.path() / "rate_4"));
    const RunResult run = read_run_directory(runs.back());
    EXPECT_EQ(run.request_rate, 4);
    EXPECT_EQ(run.provenance.started_at, "2026-11-21T08:03:25Z");
    EXPECT_EQ(run.reported->requests, 20U);
    EXPECT_EQ(run.reported->failed, 1U);
    EXPECT_NEAR(*run.reported->at("ttft_p99_s"), .046, 1e-12);
    EXPECT_NEAR(*run.reported->at("osl_mean_tokens"), 100, 1e-9);
    for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
        if (entry.is_regular_file()) {
            EXPECT_EQ(read_file(entry.path()).find("the-host"), std::string::npos) << entry.path();
        }
}

TEST(ForeignSummaries, of_vllm_without_the_failures_have_as_many_as_did_not_complete) {
    const TemporaryDirectory directory;
    auto result = nlohmann::json::parse(read_file(summary("vllm-bench.json")));
    result.erase("failed");
    result["num_prompts"] = 8;
    const fs::path file = directory.path() / "a.json";
    std::ofstream(file) << result.dump();
    const ForeignRun run = foreign_runs_in(*foreign_format_of(file), file).front();
    EXPECT_EQ(run.begun.reported->failed, 2U);
    EXPECT_EQ(run.begun.reported->requests, 8U);
}

TEST(ForeignSummaries, of_inferencex_bring_the_hardware_with_them) {
    const TemporaryDirectory directory;
    import_runs(summary("inferencex.json"), directory.path());
    const RunResult run = read_run_directory(directory.path());
    EXPECT_EQ(run.provenance.hardware, "h200");
    EXPECT_EQ(run.provenance.hardware_count, 2U);
    EXPECT_EQ(run.provenance.metadata.at("precision"), "fp8");
}

TEST(ForeignSummaries, that_repeat_a_file_with_requests_beside_them_are_left_out_of_a_directory) {
    const TemporaryDirectory directory;
    const fs::path samples = fs::path(paths::source_dir()) / "tests/reports/files/interop/samples";
    EXPECT_EQ(foreign_files(samples / "aiperf").size(), 1U);
    EXPECT_EQ(foreign_files(samples / "aiperf" / "profile_export_aiperf.json").size(), 1U)
        << "it is read when it is named";
}

TEST(ForeignSummaries, of_a_sweep_of_vllm_are_its_runs_without_what_repeats_them) {
    const TemporaryDirectory directory;
    const std::string run = read_file(summary("vllm-bench.json"));
    const fs::path cell = directory.path() / "SERVE--BENCH-x";
    ensure_directory(cell);
    const auto numbered = [&](int number) {
        return fmt::format("{{\"run_number\":{},{}", number, run.substr(1));
    };
    write_file_atomically(cell / "run=0.json", numbered(0));
    write_file_atomically(cell / "run=1.json", numbered(1));
    write_file_atomically(cell / "warmup.json", numbered(-1));
    write_file_atomically(cell / "run=2.failure.json", numbered(2));
    write_file_atomically(cell / "summary.json", "[" + numbered(0) + "," + numbered(1) + "]");
    EXPECT_EQ(import_runs(directory.path(), directory.path() / "out").size(), 2U);
}

TEST(ForeignSummaries, of_an_unknown_version_are_refused_with_those_that_are_known) {
    const TemporaryDirectory directory;
    const fs::path file = directory.path() / "report.json";
    write_file_atomically(file,
                          R"({"version": "0.9", "results": {"request_performance": {"aggregate": {}}}})");
    EXPECT_THAT(message_of<UsageError>([&] { import_runs(file, directory.path() / "out"); }),
                HasSubstr("0.1, 0.2 and 0.2.1"));
}

TEST(ForeignSummaries, have_statistics_under_the_names_of_every_program) {
    EXPECT_EQ(statistic_named("median"), "p50");
    EXPECT_EQ(statistic_named("avg"), "mean");
    EXPECT_EQ(statistic_named("stddev"), "std");
    EXPECT_EQ(statistic_named("p99.9"), "p999");
    EXPECT_EQ(statistic_named("p99p9"), "p999");
    EXPECT_EQ(statistic_named("p999"), "p999");
    EXPECT_EQ(statistic_named("p5"), "p05");
    EXPECT_EQ(statistic_named("p1.5"), "p015") << "not p15";
    EXPECT_EQ(statistic_named("p15"), "p15");
    EXPECT_EQ(statistic_named("p0p1"), "p001");
    EXPECT_EQ(statistic_named("p100"), "");
    EXPECT_EQ(statistic_named("sum"), "");
    EXPECT_EQ(statistic_named("prompt"), "");
}

TEST(Yaml, is_read_as_the_json_that_it_means) {
    if (!reads_yaml()) GTEST_SKIP() << "built without libyaml";
    EXPECT_EQ(
        foreign_yaml("a: [1, 2.5, -3e2, true, ~, \"7\", x y]\nb:\n  c: '2026'\n", "text"),
        nlohmann::json::parse(R"({"a": [1, 2.5, -300.0, true, null, "7", "x y"], "b": {"c": "2026"}})"));
}

TEST(Yaml, that_is_malformed_deep_or_has_aliases_is_refused) {
    if (!reads_yaml()) GTEST_SKIP() << "built without libyaml";
    const auto refusal = [](const std::string& text) {
        return message_of<UsageError>([&] { foreign_yaml(text, "r.yaml"); });
    };
    EXPECT_THAT(refusal("a: [1, 2"), HasSubstr("r.yaml: invalid YAML in line"));
    EXPECT_THAT(refusal(std::string(1000, '[')), HasSubstr("nested deeper"));
    EXPECT_THAT(refusal("a: &x 1\nb: *x\n"), HasSubstr("aliases"));
    EXPECT_THAT(refusal(""), HasSubstr("no YAML document"));
}

TEST(ForeignTimes, with_a_zone_become_utc) {
    EXPECT_EQ(utc_of_iso("2026-11-21T09:03:25.123+01:00"), "2026-11-21T08:03:25Z");
    EXPECT_EQ(utc_of_iso("2026-11-20T23:30:00-02:30"), "2026-11-21T02:00:00Z");
    EXPECT_EQ(utc_of_iso("2026-11-21T09:03:25Z"), "2026-11-21T09:03:25Z");
    EXPECT_EQ(utc_of_iso("yesterday"), "");
}

}  // namespace
}  // namespace paretoken::reports
