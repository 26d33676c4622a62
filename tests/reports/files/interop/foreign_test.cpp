// Files that other load generators wrote, in samples/ beside this file (prompts, answers and unused fields
// were taken out; SGLang's was written by hand after its source). The expected values were worked out from
// the files by hand.
#include "reports/files/interop/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_request.h"
#include "reports/files/run_directory.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"
#include "tests/support/paths.h"

namespace paretoken::reports {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

fs::path sample(const std::string& name) {
    return fs::path(paths::source_dir()) / "tests/reports/files/interop/samples" / name;
}

struct Expected {
    const char* format;
    std::string measured_by;
    std::string model;
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;
    double ttft_p50_s = 0;
    std::optional<double> ttft_p99_s;  ///< absent if it falls among the failures
    std::optional<double> output_tokens_per_request;
    std::optional<double> output_tokens_per_s;  ///< over the whole run
    std::vector<std::string> unknown;
};
std::ostream& operator<<(std::ostream& out, const Expected& expected) {
    return out << expected.format;
}

const std::vector<Expected>& all_expected() {
    static const std::vector<Expected> all = {
        // The first chunk of each stream has only a role: TTFT is that of the second one, 6 to 15 µs later.
        {"vllm-bench",
         "vLLM bench serve",
         "smollm2",
         6,
         0,
         .3501985,
         .364566,
         12,
         45.1349,
         {"cached_tokens", "server_counters"}},
        {"aiperf",
         "AIPerf 0.13.0",
         "smollm2",
         6,
         0,
         .487584362,
         .71687478535,
         12,
         20.1398,
         {"server_counters"}},
        {"guidellm",
         "GuideLLM 0.8.1",
         "smollm2",
         4,
         0,
         .2075895,
         .2118075,
         12,
         53.1841,
         {"server_counters", "event_times"}},
        // Its tokenizer counted 38 tokens per answer where the server counted 12. One request got a 503.
        {"inference-perf",
         "inference-perf",
         "sim-model",
         8,
         1,
         .0249264755,
         std::nullopt,
         12,
         27.5550,
         {"cached_tokens", "server_counters"}},
        {"genai-bench",
         "genai-bench 0.0.5 (without the times of sending)",
         "sim-model",
         17,
         5,
         .043699128,
         std::nullopt,
         12,
         94.8748,
         {"event_times", "cached_tokens", "server_counters"}},
        // 12 rows, of which one failed.
        {"evalscope",
         "evalscope perf",
         "sim-model",
         12,
         1,
         .0293335885,
         std::nullopt,
         12,
         139.0247,
         {"cached_tokens", "server_counters"}},
        // TTFT of .10, .12, .14, .16, .18 s and a failure; 505 tokens in the 3 s of 5 requests at 100 a
        // minute.
        {"llmperf",
         "llmperf 2023-08-31 (without the times of sending)",
         "m",
         6,
         1,
         .15,
         std::nullopt,
         101,
         168.3333,
         {"event_times", "cached_tokens", "server_counters"}},
        // TTFT of .10, .11, .13 s and a failure; two samples were issued outside the marks of the session.
        {"endpoints",
         "MLCommons endpoints",
         "",
         4,
         1,
         .12,
         std::nullopt,
         std::nullopt,
         std::nullopt,
         {"output_tokens", "input_tokens", "cached_tokens", "server_counters"}},
    };
    return all;
}

std::vector<std::string> unknown_checks(const RunResult& run) {
    std::vector<std::string> names;
    for (const Reason& reason : run.validity.reasons)
        if (reason.check.starts_with("unknown_")) names.push_back(reason.check.substr(8));
    return names;
}

/// Whether the program was built with what a sample needs.
bool is_readable(const Expected& expected) {
    const TemporaryDirectory directory;
    try {
        import_runs(sample(expected.format), directory.path());
    } catch (const UsageError& error) {
        return std::string(error.what()).find("was built without") == std::string::npos;
    }
    return true;
}

class ForeignSample : public ::testing::TestWithParam<Expected> {};

TEST_P(ForeignSample, becomes_a_run_with_the_figures_that_were_worked_out_by_hand) {
    const Expected& expected = GetParam();
    if (!is_readable(expected)) GTEST_SKIP() << "built without SQLite";
    const TemporaryDirectory directory;
    ASSERT_THAT(import_runs(sample(expected.format), directory.path()), ElementsAre(directory.path()));
    const RunResult run = read_run_directory(directory.path());
    EXPECT_EQ(run.provenance.measured_by, expected.measured_by);
    EXPECT_EQ(run.provenance.model, expected.model);
    EXPECT_EQ(run.counts.requests, expected.requests);
    EXPECT_EQ(run.counts.failed, expected.failed);
    const MetricSummary* const ttft = run.metric("ttft_s");
    ASSERT_NE(ttft, nullptr);
    EXPECT_NEAR(*ttft->at(.5)->value, expected.ttft_p50_s, 1e-6);
    EXPECT_EQ(ttft->at(.99)->value.has_value(), expected.ttft_p99_s.has_value());
    if (expected.ttft_p99_s) {
        EXPECT_NEAR(*ttft->at(.99)->value, *expected.ttft_p99_s, 1e-6);
    }
    ASSERT_EQ(run.workload.achieved_output_tokens.has_value(),
              expected.output_tokens_per_request.has_value());
    if (expected.output_tokens_per_request) {
        EXPECT_NEAR(*run.workload.achieved_output_tokens, *expected.output_tokens_per_request, 1e-9);
        EXPECT_NEAR(*run.whole_run.at("output_tokens_per_s"), *expected.output_tokens_per_s, 1e-3);
    }
    EXPECT_THAT(unknown_checks(run), ::testing::UnorderedElementsAreArray(expected.unknown));
    EXPECT_THAT(run.provenance.clock, HasSubstr(expected.measured_by));
}

TEST_P(ForeignSample, says_that_its_client_was_not_verified) {
    if (!is_readable(GetParam())) GTEST_SKIP() << "built without SQLite";
    const TemporaryDirectory directory;
    import_runs(sample(GetParam().format), directory.path());
    const RunResult run = read_run_directory(directory.path());
    const auto& reasons = run.validity.reasons;
    EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(),
                            [](const Reason& reason) { return reason.check == "foreign_client"; }));
}

TEST_P(ForeignSample, is_recognised_by_its_content) {
    const std::vector<fs::path> files = foreign_files(sample(GetParam().format));
    ASSERT_EQ(files.size(), 1U) << "the files beside it repeat it or describe it";
    EXPECT_EQ(foreign_format_of(files.front())->name, GetParam().format);
}

TEST_P(ForeignSample, that_is_cut_off_is_refused_by_name) {
    const TemporaryDirectory directory;
    const fs::path file = foreign_files(sample(GetParam().format)).front();
    const std::string text = read_file(file);
    const fs::path cut = directory.path() / "cut" / file.filename();
    ensure_directory(cut.parent_path());
    const std::size_t kept = file.extension() == ".db" ? text.size() / 2 : text.size() - 40;
    write_file_atomically(cut, text.substr(0, kept));
    EXPECT_THAT(message_of<UsageError>([&] { import_runs(cut, directory.path() / "out"); }),
                HasSubstr(file.filename().string()));
}

INSTANTIATE_TEST_SUITE_P(Formats, ForeignSample, ::testing::ValuesIn(all_expected()), [](const auto& of) {
    std::string name = of.param.format;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(ForeignRuns, that_were_appended_to_one_file_are_several_runs) {
    const TemporaryDirectory directory;
    const std::vector<fs::path> runs = import_runs(sample("sglang-bench"), directory.path());
    ASSERT_THAT(runs, ElementsAre(directory.path() / "concurrency_2", directory.path() / "concurrency_2-2"));
    const RunResult run = read_run_directory(runs.front());
    EXPECT_EQ(run.counts.requests, 4U);
    EXPECT_EQ(run.counts.failed, 1U);
    EXPECT_EQ(run.provenance.model, "meta-llama/Llama-3.1-8B");
    EXPECT_EQ(run.provenance.server_kind, "sglang");
    EXPECT_NEAR(*run.metric("ttft_s")->at(.5)->value, .065, 1e-9) << "of .05, .06, .07 and a failure";
    EXPECT_NEAR(*run.metric("itl_s")->at(.5)->value, .05, 1e-9);
}

TEST(ForeignRuns, with_neither_requests_nor_their_summary_are_refused_with_the_option_that_keeps_them) {
    const TemporaryDirectory directory;
    const fs::path file = directory.path() / "result.json";
    write_file_atomically(file, R"({"model_id":"m","completed":1,"request_throughput":1.0,"num_prompts":1})");
    EXPECT_THAT(message_of<UsageError>([&] { import_runs(file, directory.path() / "out"); }),
                HasSubstr("--save-detailed"));
}

TEST(ForeignRuns, of_a_file_that_no_tool_wrote_are_refused_with_the_tools_that_are_read) {
    const TemporaryDirectory directory;
    const fs::path file = directory.path() / "notes.json";
    write_file_atomically(file, R"({"a":1})");
    EXPECT_THAT(message_of<UsageError>([&] { import_runs(file, directory.path() / "out"); }),
                HasSubstr("AIPerf"));
}

/// The message with which an import of a file with this name and content is refused.
std::string refusal_of(const std::string& name, const std::string& text) {
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() / name, text);
    return message_of<UsageError>([&] { import_runs(directory.path() / name, directory.path() / "out"); });
}

TEST(ForeignRuns, of_files_that_cannot_be_read_are_refused_with_what_to_do) {
    EXPECT_THAT(refusal_of("a.json", " \n"), HasSubstr("a.json: it is empty"));
    EXPECT_THAT(refusal_of("a.json.gz", "\x1f\x8b\x08"), HasSubstr("gunzip"));
    EXPECT_THAT(refusal_of("a.json.zst", "\x28\xb5\x2f\xfd"), HasSubstr("zstd -d"));
    EXPECT_THAT(refusal_of("a.json", "\xff\xfe{"), HasSubstr("UTF-16"));
    EXPECT_THAT(refusal_of("benchmarks.csv", "a,b\n1,2\n"), HasSubstr("JSON file of the same benchmark"));
    EXPECT_THAT(refusal_of("a.json", "<!doctype html>"), HasSubstr("it is a page"));
    EXPECT_THAT(refusal_of("summary.json", R"([{"model_id":"m"}])"), HasSubstr("single runs"));
    EXPECT_THAT(refusal_of("run.json", "{}"), HasSubstr("give the directory"));
    EXPECT_THAT(refusal_of("profile_export_aiperf_aggregate.json", "{}"), HasSubstr("only aggregates"));
    const TemporaryDirectory directory;
    const auto refused = [&](const fs::path& path) {
        return message_of<UsageError>([&] { import_runs(path, directory.path() / "out"); });
    };
    EXPECT_THAT(refused(directory.path()), HasSubstr("it has no result file"));
    EXPECT_THAT(refused(directory.path() / "none"), HasSubstr("there is no such file"));
    EXPECT_THAT(refused("/dev/null"), HasSubstr("not a regular file"));
}

TEST(ForeignRuns, of_versions_and_models_that_are_not_known_are_refused_by_name) {
    std::string text = read_file(sample("guidellm") / "benchmarks.json");
    text.replace(text.find("\"version\":2"), 11, "\"version\":9");
    EXPECT_THAT(refusal_of("benchmarks.json", text), HasSubstr("version 9 of GuideLLM's files"));
    EXPECT_THAT(refusal_of("report.json", R"({"version":9.5,"results":{"request_performance":{}}})"),
                HasSubstr("Benchmark Report 9.5 is not known"));
    EXPECT_THAT(refusal_of("pooling.json",
                           R"({"model_id":"m","completed":1,"request_throughput":1.0,"mean_e2el_ms":3,)"
                           R"("total_input_sequences":1})"),
                HasSubstr("pooling models"));
}

TEST(ForeignRuns, with_a_byte_order_mark_are_read) {
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() / "a.json",
                          "\xef\xbb\xbf" + read_file(sample("vllm-bench") / "result.json"));
    EXPECT_EQ(import_runs(directory.path() / "a.json", directory.path() / "out").size(), 1U);
}

TEST(ForeignRuns, of_a_stage_are_not_read_twice_from_its_report_and_its_requests) {
    const TemporaryDirectory directory;
    const auto copy = [&](const std::string& from, const std::string& to) {
        write_file_atomically(directory.path() / to, read_file(sample(from)));
    };
    copy("summaries/benchmark-report-0.1.json", "inference-perf.partial.stage_0.json");
    ASSERT_EQ(foreign_files(directory.path()).size(), 1U);
    copy("inference-perf/per_request_lifecycle_metrics.json", "per_request_lifecycle_metrics.json");
    EXPECT_THAT(foreign_files(directory.path()),
                ElementsAre(directory.path() / "per_request_lifecycle_metrics.json"));
}

TEST(ForeignRuns, of_llama_bench_and_of_its_batched_sibling_are_the_rates_of_each_test) {
    const TemporaryDirectory directory;
    ASSERT_EQ(import_runs(sample("llama-bench"), directory.path()).size(), 4U);
    const RunResult decode = read_run_directory(directory.path() / "llama-bench" / "tg128");
    EXPECT_EQ(decode.reported->by, "llama-bench");
    EXPECT_EQ(decode.provenance.measured_by, "llama-bench build 5163");
    EXPECT_EQ(decode.reported->at("output_tokens_per_s"), 120);
    EXPECT_EQ(decode.reported->at("output_min_tok_per_s"), 119);
    const RunResult prefill = read_run_directory(directory.path() / "llama-bench" / "pp512");
    EXPECT_EQ(prefill.reported->at("input_tokens_per_s"), 7050);
    EXPECT_FALSE(prefill.reported->at("output_tokens_per_s"));
    EXPECT_NE(prefill.workload.fingerprint, decode.workload.fingerprint);
    const RunResult batched = read_run_directory(directory.path() / "batched" / "pp128+tg128_batch_2");
    EXPECT_EQ(batched.concurrency, 2U);
    EXPECT_EQ(batched.reported->at("output_tokens_per_s"), 80) << "2 x 128 tokens in 3.2 s";
}

TEST(ForeignRuns, leave_out_the_texts_of_a_log_of_endpoints_and_the_pickled_column_of_evalscope) {
    const TemporaryDirectory directory;
    import_runs(sample("endpoints"), directory.path() / "a");
    try {
        import_runs(sample("evalscope"), directory.path() / "b");
    } catch (const UsageError&) {
        GTEST_SKIP() << "built without SQLite";
    }
    for (const auto& entry : fs::recursive_directory_iterator(directory.path())) {
        if (!entry.is_regular_file()) continue;
        const std::string text = read_file(entry.path());
        EXPECT_EQ(text.find("secret text"), std::string::npos) << entry.path();
        EXPECT_EQ(text.find("gASV"), std::string::npos) << entry.path();
    }
}

TEST(ForeignRuns, of_llmperfs_summary_keep_its_inter_token_latency_under_its_own_definition) {
    const TemporaryDirectory directory;
    import_runs(sample("llmperf") / "m_550_101_summary.json", directory.path());
    const RunResult run = read_run_directory(directory.path());
    EXPECT_EQ(run.reported->by, "llmperf");
    EXPECT_EQ(run.reported->at("itl_mean_s"), .0113);
    EXPECT_EQ(run.reported->failed, 1U);
}

TEST(ForeignRuns, of_an_sqlite_database_of_another_program_are_refused) {
    const TemporaryDirectory directory;
    const fs::path file = directory.path() / "other.db";
    std::string text = read_file(sample("evalscope") / "benchmark_data.db");
    for (std::size_t at = 0; (at = text.find("result", at)) != std::string::npos;)
        text.replace(at, 6, "rezult");
    write_file_atomically(file, text);
    EXPECT_THAT(message_of<UsageError>([&] { import_runs(file, directory.path() / "out"); }),
                ::testing::AnyOf(HasSubstr("evalscope"), HasSubstr("damaged")));
}

TEST(ForeignRuns, have_an_id_that_follows_from_their_requests) {
    const TemporaryDirectory directory;
    const std::vector<fs::path> runs = import_runs(sample("sglang-bench"), directory.path());
    EXPECT_EQ(read_run_directory(runs.at(0)).provenance.run_id,
              read_run_directory(runs.at(1)).provenance.run_id)
        << "both lines of the file are the same run";
    const TemporaryDirectory other;
    import_runs(sample("aiperf"), other.path());
    EXPECT_NE(read_run_directory(runs.at(0)).provenance.run_id,
              read_run_directory(other.path()).provenance.run_id);
}

TEST(ForeignRuns, have_the_same_id_when_the_same_file_is_imported_twice) {
    const TemporaryDirectory one;
    const TemporaryDirectory two;
    import_runs(sample("aiperf"), one.path());
    import_runs(sample("aiperf"), two.path());
    const std::string id = read_run_directory(one.path()).provenance.run_id;
    EXPECT_EQ(id.size(), 32U);
    EXPECT_EQ(id, read_run_directory(two.path()).provenance.run_id);
}

TEST(ForeignRequests, leave_out_a_chunk_with_a_role_and_one_that_only_ends_the_answer) {
    const RequestRecord record =
        record_of(0, {.chunks_s = {.1, .10001, .12, .14, .1401}, .output_tokens = 3});
    ASSERT_EQ(record.events.size(), 3U);
    EXPECT_EQ(*record.first_event - *record.sent, from_seconds(.10001));
    EXPECT_EQ(*record.last_event - *record.sent, from_seconds(.14));
    EXPECT_EQ(record.token_source, TokenSource::one_per_event);
}

TEST(ForeignRequests, spread_tokens_over_fewer_chunks) {
    const RequestRecord record = record_of(0, {.chunks_s = {.1, .2, .3}, .output_tokens = 7});
    std::uint32_t sum = 0;
    for (const StreamEvent& event : record.events) sum += event.tokens;
    EXPECT_EQ(record.events.size(), 3U);
    EXPECT_EQ(sum, 7U);
    EXPECT_EQ(record.token_source, TokenSource::usage_by_text);
}

TEST(ForeignRequests, without_times_of_sending_fill_the_slots_and_take_as_long_as_the_file_says) {
    std::vector<ForeignRequest> requests(4);
    for (ForeignRequest& request : requests) request.latency_s = 1;
    place_in_slots(requests, 2, 3);
    EXPECT_DOUBLE_EQ(requests[0].sent_s, 0);
    EXPECT_DOUBLE_EQ(requests[1].sent_s, 0);
    EXPECT_DOUBLE_EQ(requests[3].sent_s, 2) << "1 s in two slots, stretched so that the run takes 3 s";
}

TEST(ForeignRequests, without_times_of_sending_never_end_after_the_run) {
    std::vector<ForeignRequest> requests = {{.latency_s = 1}, {.latency_s = 3}, {.latency_s = 1}};
    place_in_slots(requests, std::nullopt, 5);
    EXPECT_DOUBLE_EQ(requests[1].sent_s, 2) << "the second request is the last to end, at 5 s";
    EXPECT_DOUBLE_EQ(requests[2].sent_s, 4);
    place_in_slots(requests, std::nullopt, 5, true);
    for (const ForeignRequest& request : requests) EXPECT_DOUBLE_EQ(request.sent_s, 0);
}

TEST(ForeignRequests, in_one_piece_have_all_their_tokens_in_the_first_group) {
    const RequestRecord at_once = record_of(0, {.first_s = .5, .last_s = .5, .output_tokens = 9});
    EXPECT_EQ(at_once.first_group_tokens, 9);
    EXPECT_EQ(record_of(0, {.first_s = .5, .last_s = .6, .output_tokens = 9}).first_group_tokens, 1);
}

TEST(ForeignRequests, read_the_words_that_python_writes_for_numbers) {
    EXPECT_EQ(
        without_python_numbers(R"({"a": NaN, "b": -Infinity, "c": "NaN \" Infinity", "d": [Infinity]})"),
        R"({"a": null, "b": null, "c": "NaN \" Infinity", "d": [null]})");
}

}  // namespace
}  // namespace paretoken::reports
