// What an import writes, and what it takes from variants of the files of other load generators. The files are
// made here, in the form that the programs write.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/result/metrics.h"
#include "reports/analysis/gate/same_work.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/foreign.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"
#include "tests/support/paths.h"

namespace paretoken::reports::import_tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

fs::path sample(const std::string& name) {
    return fs::path(paths::source_dir()) / "tests/reports/files/interop/samples" / name;
}

/// A result of `vllm bench serve --save-detailed` whose requests have 3 chunks 10 ms apart; the last failed.
Json vllm_result(int requests = 4, int concurrency = 2) {
    Json json{{"date", "20261125-080325"},      {"backend", "vllm"},
              {"endpoint_type", "openai"},      {"model_id", "m"},
              {"num_prompts", requests},        {"request_rate", "inf"},
              {"max_concurrency", concurrency}, {"duration", 1.0},
              {"completed", requests - 1},      {"failed", 1},
              {"request_throughput", 3.0}};
    for (int i = 0; i < requests; ++i) {
        const bool failed = i + 1 == requests;
        json["input_lens"].push_back(8);
        json["output_lens"].push_back(failed ? 0 : 3);
        json["ttfts"].push_back(failed ? 0 : .05);
        json["itls"].push_back(failed ? Json::array() : Json{.01, .01});
        json["start_times"].push_back(100 + .2 * i);
        json["errors"].push_back(failed ? "refused" : "");
    }
    return json;
}

/// A line of SGLang's bench_serving with details: 2 requests of 3 chunks.
Json sglang_result(int counted_tokens, int tokens_of_texts) {
    return {{"backend", "sglang"},
            {"request_rate", nullptr},
            {"max_concurrency", 1},
            {"duration", 1.0},
            {"completed", 2},
            {"total_input_tokens", 16},
            {"total_output_tokens", counted_tokens},
            {"total_output_tokens_retokenized", tokens_of_texts},
            {"output_throughput", counted_tokens},
            {"total_throughput", counted_tokens + 16},
            {"mean_e2e_latency_ms", 70},
            {"mean_ttft_ms", 50},
            {"mean_tpot_ms", 1},
            {"input_lens", {8, 8}},
            {"output_lens", {counted_tokens / 2, counted_tokens / 2}},
            {"ttfts", {.05, .05}},
            {"itls", {{.1, .1}, {.1, .1}}},
            {"errors", {"", ""}}};
}

Json aiperf_summary(const Json& input_config) {
    const auto block = [](double value, const char* unit) { return Json{{"avg", value}, {"unit", unit}}; };
    return {{"input_config", input_config},
            {"request_count", block(10, "requests")},
            {"request_throughput", block(2, "requests/sec")},
            {"request_latency", block(500, "ms")}};
}

Json stage_of(double rate, int count) {
    return {{"load_summary", {{"count", count}, {"requested_rate", rate}, {"schedule_delay", {{"mean", 0}}}}},
            {"successes",
             {{"count", count},
              {"latency", {{"request_latency", {{"mean", .5}, {"p99", .9}}}}},
              {"throughput", {{"requests_per_sec", rate}}}}},
            {"failures", {{"count", 0}}}};
}

class Import : public ::testing::Test {
  protected:
    fs::path write(const std::string& name, const std::string& text) {
        const fs::path file = directory_.path() / name;
        ensure_directory(file.parent_path());
        write_file_atomically(file, text);
        return file;
    }
    fs::path write(const std::string& name, const Json& json) { return write(name, json.dump()); }

    std::vector<fs::path> imported(const std::vector<fs::path>& paths) {
        std::vector<fs::path> names;
        for (const fs::path& run : import_runs(paths, out_)) names.push_back(run.lexically_relative(out_));
        return names;
    }
    /// The run of a file that holds one.
    RunResult run_of(const fs::path& file) {
        const fs::path into = directory_.path() / fmt::format("run{}", ++runs_);
        EXPECT_THAT(import_runs(file, into), ElementsAre(into));
        return read_run_directory(into);
    }
    std::string refusal(const fs::path& path) {
        return message_of<UsageError>([&] { import_runs(path, out_); });
    }

    const TemporaryDirectory directory_;
    const fs::path out_ = directory_.path() / "out";
    int runs_ = 0;
    int files_ = 0;
};

TEST_F(Import, of_files_with_equal_names_keeps_each_in_a_directory_of_its_own) {
    const fs::path a = write("a/result.json", vllm_result());
    const fs::path b = write("b/result.json", vllm_result(6));
    EXPECT_THAT(imported({a, b}), ElementsAre("a/result", "b/result"));
    EXPECT_EQ(read_run_directory(out_ / "a/result").counts.requests, 4U);
    EXPECT_EQ(read_run_directory(out_ / "b/result").counts.requests, 6U);
}

TEST_F(Import, of_a_directory_keeps_files_that_differ_in_their_endings_alone) {
    write("in/a.json", vllm_result());
    write("in/a.jsonl", sglang_result(6, 6));
    EXPECT_THAT(imported({directory_.path() / "in"}), ElementsAre("a/concurrency_2", "a/concurrency_1"));
    fs::remove_all(out_);
    EXPECT_THAT(imported({directory_.path() / "in/a.json", directory_.path() / "in/a.jsonl"}),
                ElementsAre("a", "a-2"));
}

TEST_F(Import, takes_the_load_of_a_file_of_aiperf_from_the_summary_with_its_prefix_and_skips_that) {
    for (const char* const ending : {".json", "_aiperf.json"}) {
        write("in/mine.jsonl", read_file(sample("aiperf/profile_export.jsonl")));
        write(fmt::format("in/mine{}", ending), read_file(sample("aiperf/profile_export_aiperf.json")));
        const RunResult run = run_of(directory_.path() / "in");
        EXPECT_EQ(run.counts.requests, 6U);
        EXPECT_EQ(run.provenance.model, "smollm2");
        EXPECT_EQ(run.concurrency, 2U);
        fs::remove_all(directory_.path() / "in");
    }
}

TEST_F(Import, that_fails_leaves_nothing_and_can_be_repeated) {
    Json damaged = vllm_result();
    damaged["itls"][2] = {.01, -.01};
    write("in/a.json", vllm_result());
    write("in/b.json", damaged);
    EXPECT_THAT(refusal(directory_.path() / "in"), HasSubstr("b.json"));
    EXPECT_FALSE(fs::exists(out_));
    write("in/b.json", vllm_result());
    EXPECT_EQ(imported({directory_.path() / "in"}).size(), 2U);
    EXPECT_THAT(refusal(directory_.path() / "in"), HasSubstr("not an empty directory"));
}

TEST_F(Import, counts_chunks_if_the_lengths_of_sglang_are_those_that_were_asked_for) {
    const RunResult counted = run_of(write("a.jsonl", sglang_result(8, 8)));
    EXPECT_EQ(counted.workload.achieved_output_tokens, 4);
    EXPECT_EQ(counted.counts.disputed, 0U);
    const RunResult asked = run_of(write("b.jsonl", sglang_result(200, 6)));
    EXPECT_EQ(asked.workload.achieved_output_tokens, 3) << "the chunks of an answer";
    EXPECT_EQ(asked.counts.disputed, 2U);
    EXPECT_EQ(asked.workload.length_source, "");
    const RunResult unknown = run_of(write("c.jsonl", sglang_result(200, 12)));
    EXPECT_FALSE(unknown.workload.achieved_output_tokens) << "chunks have 2 tokens on average";
    Json summary = sglang_result(200, 6);
    for (const char* const key : {"ttfts", "itls", "output_lens", "input_lens", "errors"}) summary.erase(key);
    const RunResult summarised = run_of(write("d.jsonl", summary));
    EXPECT_EQ(summarised.reported->at("output_tokens_per_s"), 6);
    EXPECT_EQ(summarised.reported->at("osl_mean_tokens"), 3);
    EXPECT_FALSE(summarised.reported->at("tpot_mean_s"));
}

TEST_F(Import, takes_requests_of_sglang_without_times_for_successes_if_the_file_counts_them_so) {
    Json result = sglang_result(6, 6);
    result["ttfts"] = {0.0, 0.0};
    result["itls"] = {Json::array(), Json::array()};
    const RunResult run = run_of(write("a.jsonl", result));
    EXPECT_EQ(run.counts.failed, 0U);
    EXPECT_EQ(run.counts.ok, 2U);
    EXPECT_EQ(run.workload.achieved_output_tokens, 3);
    result["completed"] = 0;
    EXPECT_EQ(run_of(write("b.jsonl", result)).counts.failed, 2U);
}

TEST_F(Import, invents_no_rate_where_neither_the_load_nor_the_duration_is_known) {
    const fs::path file = directory_.path() / "m_individual_responses.json";
    write(file.filename().string(), read_file(sample("llmperf/m_550_101_individual_responses.json")));
    const RunResult run = run_of(file);
    ASSERT_TRUE(run.reported);
    EXPECT_EQ(run.provenance.measured_by, "llmperf");
    EXPECT_NEAR(*run.reported->at("ttft_p50_s"), .14, 1e-9);
    EXPECT_EQ(run.reported->failed, 1U);
    EXPECT_FALSE(run.reported->at("requests_per_s"));
    EXPECT_FALSE(run.whole_run.at(figure::kRequests));
    EXPECT_EQ(load_label_of(run), "load unknown");
}

TEST_F(Import, finds_the_load_where_earlier_versions_of_aiperf_and_genai_perf_wrote_it) {
    const RunResult old =
        run_of(write("a.json", aiperf_summary({{"endpoint", {{"type", "chat"}, {"model_names", {"m"}}}},
                                               {"loadgen", {{"concurrency", 32}}}})));
    EXPECT_EQ(old.concurrency, 32U);
    EXPECT_EQ(old.provenance.model, "m");
    EXPECT_EQ(old.reported->by, "AIPerf");
    const RunResult genai =
        run_of(write("b.json", aiperf_summary({{"model_names", {"n"}},
                                               {"perf_analyzer", {{"stimulus", {{"request_rate", 4.0}}}}}})));
    EXPECT_EQ(genai.request_rate, 4);
    EXPECT_EQ(genai.provenance.model, "n");
    EXPECT_EQ(genai.reported->by, "GenAI-Perf");
}

TEST_F(Import, tells_a_load_without_limits_from_one_that_the_file_does_not_name) {
    Json unlimited = vllm_result();
    unlimited["max_concurrency"] = nullptr;
    EXPECT_EQ(load_label_of(run_of(write("a.json", unlimited))), "all at once");
    unlimited.erase("request_rate");
    EXPECT_EQ(load_label_of(run_of(write("b.json", unlimited))), "load unknown");
}

TEST_F(Import, of_loads_that_no_file_names_is_not_comparable_if_other_numbers_were_in_flight) {
    const auto run_with = [&](double latency_ms) {
        Json json = aiperf_summary({{"endpoint", {{"type", "chat"}}}});
        json["request_latency"]["avg"] = latency_ms;
        return run_of(write(fmt::format("{}.json", latency_ms), json));
    };
    const RunResult run = run_with(500);
    EXPECT_FALSE(difference_of_work(run, run_with(550), {}));
    EXPECT_THAT(difference_of_work(run, run_with(1000), {}).value_or(""),
                HasSubstr("1 and 2 requests in flight on average (--across load)"));
    EXPECT_FALSE(difference_of_work(run, run_with(1000), {Across::load}));
}

TEST_F(Import, places_the_requests_of_versions_of_vllm_without_start_times) {
    Json old = vllm_result();
    old.erase("start_times");
    const RunResult run = run_of(write("a.json", old));
    EXPECT_THAT(run.provenance.measured_by, HasSubstr("without the times of sending"));
    EXPECT_EQ(run.counts.failed, 1U);
    EXPECT_NEAR(*run.metric("ttft_s")->at(.5)->value, .05, 1e-9);
    EXPECT_NEAR(run.window.run_s, 1, 1e-6);
    const MetricSummary* const lag = run.metric("send_lag_s");
    EXPECT_TRUE(lag == nullptr || *lag->at(.5)->value < 1e-9) << "it is not known when requests were due";
}

TEST_F(Import, divides_the_requests_of_inference_perf_by_its_stages) {
    const Json one = Json::parse(read_file(sample("inference-perf/per_request_lifecycle_metrics.json")))[1];
    Json requests = Json::array();
    for (const double start : {20.0, 0.0, 1.0, 20.5, 21.0}) {  // not in their order
        Json request = one;
        const double shift = start - one["start_time"].get<double>();
        for (const char* const key : {"start_time", "end_time"})
            request[key] = one[key].get<double>() + shift;
        for (Json& time : request["info"]["response_metrics"]["chunk_times"])
            time = time.get<double>() + shift;
        requests.push_back(request);
    }
    write("in/per_request_lifecycle_metrics.json", requests);
    write("in/stage_0_lifecycle_metrics.json", stage_of(1, 2));
    write("in/stage_1_lifecycle_metrics.json", stage_of(2, 3));
    EXPECT_THAT(imported({directory_.path() / "in"}), ElementsAre("rate_1", "rate_2"));
    EXPECT_EQ(read_run_directory(out_ / "rate_1").counts.requests, 2U);
    EXPECT_EQ(read_run_directory(out_ / "rate_2").counts.requests, 3U);
    EXPECT_LT(read_run_directory(out_ / "rate_2").window.run_s, 3);
    fs::remove_all(out_);
    write("in/stage_1_lifecycle_metrics.json", stage_of(2, 7));
    EXPECT_THAT(refusal(directory_.path() / "in"), HasSubstr("5 requests and the files of its 2 stages 9"));
}

TEST_F(Import, reads_the_summaries_of_stages_where_there_are_no_requests) {
    write("in/stage_0_lifecycle_metrics.json", stage_of(1, 2));
    write("in/summary_lifecycle_metrics.json", stage_of(1, 2));
    const RunResult run = run_of(directory_.path() / "in");
    EXPECT_EQ(run.reported->by, "inference-perf");
    EXPECT_EQ(run.request_rate, 1);
    EXPECT_EQ(run.reported->at("e2e_p99_s"), .9);
}

TEST_F(Import, recognises_files_by_their_content_whatever_their_names_and_the_order_of_their_keys) {
    for (const char* const name : {"RUN.JSON", "run.txt", "run", "run.ndjson", "phases/run.json", "run.log"})
        EXPECT_EQ(run_of(write(name, vllm_result())).counts.requests, 4U) << name;
    const Json sorted = vllm_result(20000);  // nlohmann::json sorts keys
    ASSERT_GT(sorted.dump().find("\"request_throughput\""), std::size_t{256} << 10);
    EXPECT_EQ(run_of(write("sorted.json", sorted)).counts.requests, 20000U);
}

TEST_F(Import, reads_guidellms_earlier_names_of_times_and_files_without_metadata) {
    const Json request{{"start_time", 1000.0}, {"first_token_time", 1000.2}, {"last_token_time", 1001.0},
                       {"end_time", 1001.0},   {"prompt_tokens", 100},       {"output_tokens", 20}};
    const Json benchmark{{"type_", "generative_benchmark"},
                         {"args", {{"strategy", {{"type_", "concurrent"}, {"streams", 4}}}}},
                         {"worker", {{"backend_model", "m"}}},
                         {"requests", {{"successful", {request}}}}};
    const RunResult run = run_of(write("a.json", Json{{"benchmarks", {benchmark}}}));
    EXPECT_EQ(run.provenance.measured_by, "GuideLLM");
    EXPECT_EQ(run.provenance.model, "m");
    EXPECT_EQ(run.concurrency, 4U);
    EXPECT_NEAR(*run.metric("ttft_s")->at(.5)->value, .2, 1e-6);
    EXPECT_EQ(run.workload.achieved_output_tokens, 20);
}

TEST_F(Import, names_the_program_and_the_right_file_for_files_that_hold_no_results) {
    const Json metadata{{"benchmark_version", "0.0.5"}, {"traffic_scenario", {"D(24,12)"}}};
    EXPECT_THAT(refusal(write("in/experiment_metadata.json", metadata)),
                HasSubstr("genai-bench; give the file of each scenario"));
    EXPECT_THAT(refusal(directory_.path() / "in"), HasSubstr("experiment_metadata.json: it describes"));
    EXPECT_THAT(refusal(write("benchmark_summary.json", Json{{"Total Requests", 1}, {"Avg Latency (s)", 1}})),
                HasSubstr("give benchmark_data.db"));
}

TEST_F(Import, refuses_files_that_contradict_themselves) {
    Json json = vllm_result();
    json["failed"] = 3;
    EXPECT_THAT(refusal(write("a.json", json)), HasSubstr("\"failed\" is 3, and 1 of its requests failed"));
    json = vllm_result();
    json["completed"] = 2;
    EXPECT_THAT(refusal(write("b.json", json)), HasSubstr("\"completed\" is 2"));
    const Json summary{{"model_id", "m"}, {"completed", 1}, {"request_throughput", 1}, {"mean_ttft_ms", -5}};
    EXPECT_THAT(refusal(write("c.json", summary)), HasSubstr("ttft_mean is -0.005"));
    json = vllm_result();
    json["date"] = "20251399-080325";
    EXPECT_EQ(run_of(write("d.json", json)).provenance.started_at, "");
}

TEST_F(Import, has_no_latencies_of_a_summary_in_which_every_request_failed) {
    const Json summary{{"model_id", "m"},         {"completed", 0}, {"failed", 5},
                       {"request_throughput", 0}, {"duration", 2},  {"mean_ttft_ms", 0}};
    const RunResult run = run_of(write("a.json", summary));
    EXPECT_EQ(run.reported->failed, 5U);
    EXPECT_FALSE(run.reported->at("ttft_mean_s"));
    EXPECT_EQ(run.reported->at("duration_s"), 2);
}

TEST_F(Import, keeps_what_a_file_tells_of_the_server) {
    Json json = vllm_result();
    json["gpu"] = "4xNVIDIA_L40S";
    json["max_num_seqs"] = 8;
    json["deployment"] = "base";
    json["rtfx"] = 0.0;
    const Provenance from = run_of(write("a.json", json)).provenance;
    EXPECT_EQ(from.hardware, "l40s");
    EXPECT_EQ(from.hardware_count, 4U);
    EXPECT_EQ(from.metadata,
              (std::map<std::string, std::string>{{"deployment", "base"}, {"max_num_seqs", "8"}}));
    json["gpu"] = "2xSomething New";
    EXPECT_EQ(run_of(write("b.json", json)).provenance.metadata.at("gpu"), "2xSomething New");
}

TEST_F(Import, sends_requests_without_a_start_at_once_if_the_file_says_so) {
    Json result = sglang_result(6, 6);
    result["max_concurrency"] = nullptr;
    result["ttfts"] = {.8, .05};  // the first one is the last to end, after the whole duration of 1 s
    const RunResult run = run_of(write("a.jsonl", result));
    EXPECT_EQ(load_label_of(run), "all at once");
    EXPECT_THAT(run.window.how, HasSubstr("all requests were sent at once"));
    EXPECT_NEAR(run.window.run_s, 1, 1e-6);
    EXPECT_NEAR(*run.whole_run.at(figure::kOutputTokens), 6, 1e-3);
    EXPECT_NEAR(*run.whole_run.at(figure::kMeanInFlight), 1.25, 1e-3);
}

TEST_F(Import, reads_the_ramp_of_vllm_that_stands_beside_a_rate_of_inf) {
    const auto run_with = [&](double from, double to, const char* strategy) {
        Json json = vllm_result();
        json["max_concurrency"] = nullptr;
        json["ramp_up_strategy"] = strategy;
        json["ramp_up_start_rps"] = from;
        json["ramp_up_end_rps"] = to;
        return run_of(write(fmt::format("{}{}.json", strategy, from), json));
    };
    const RunResult run = run_with(1, 10, "linear");
    EXPECT_EQ(run.plan.at("arrivals"), "ramp:from=1,to=10");
    EXPECT_TRUE(run.open_loop());
    EXPECT_THAT(run.window.how, HasSubstr("the planned rate of arrivals changes"));
    EXPECT_EQ(load_label_of(run), "3.91 req/s") << "9 / ln 10, the mean over time";
    EXPECT_EQ(run_with(1, 10, "exponential").plan.at("arrivals"), "ramp:from=1,strategy=exponential,to=10");
    EXPECT_THAT(difference_of_work(run, run_with(5, 50, "linear"), {}).value_or(""),
                HasSubstr("--arrivals: ramp:from=1,to=10 and ramp:from=5,to=50"));
}

TEST_F(Import, takes_waits_for_the_cap_for_what_they_are) {
    Json json = vllm_result();
    json["request_rate"] = 5.0;
    json["queue_times"] = {0.0, .1, .1, .2};
    const RunResult run = run_of(write("a.json", json));
    EXPECT_EQ(run.client.loop_lag_p99_s, 0);
    EXPECT_NEAR(run.client.slot_wait_p99_s.value_or(0), .2, .01);
}

TEST_F(Import, credits_answers_that_were_not_streamed_at_their_end) {
    Json json = vllm_result();
    json["ttfts"] = {nullptr, nullptr, nullptr, nullptr};
    json["itls"] = {Json::array(), Json::array(), Json::array(), Json::array()};
    json["latencies"] = {.5, .5, .6, 0};
    const RunResult run = run_of(write("a.json", json));
    EXPECT_EQ(run.counts.ok, 3U);
    EXPECT_NEAR(*run.whole_run.at(figure::kOutputTokens), 9, 1e-3) << "9 tokens in 1 s";
    EXPECT_NEAR(*run.whole_run.at(figure::kInputTokens), 24, 1e-3);
    EXPECT_EQ(run.metric("ttft_s"), nullptr);
}

TEST_F(Import, takes_the_load_of_an_open_loop_of_genai_bench_for_a_rate) {
    Json json =
        Json::parse(read_file(sample("genai-bench/D24_12_text-to-text_num_concurrency_2_time_1s.json")));
    json["aggregated_metrics"]["num_concurrency"] = 2.5;
    json["aggregated_metrics"]["total_arrivals"] = 17;
    json["aggregated_metrics"]["arrival_requests_per_second"] = 2.4;
    const RunResult run = run_of(write("a.json", json));
    EXPECT_EQ(run.request_rate, 2.5);
    EXPECT_FALSE(run.concurrency);
}

TEST_F(Import, keeps_the_cap_and_the_arrivals_of_a_level_of_guidellm) {
    Json json = Json::parse(read_file(sample("guidellm/benchmarks.json")));
    const auto run_with = [&](const Json& strategy) {
        json["benchmarks"][0]["config"]["strategy"] = strategy;
        return run_of(write(fmt::format("{}.json", ++files_), json));
    };
    const RunResult free = run_with({{"type_", "poisson"}, {"rate", 2.0}, {"max_concurrency", nullptr}});
    const RunResult capped = run_with({{"type_", "poisson"}, {"rate", 2.0}, {"max_concurrency", 4}});
    const RunResult even = run_with({{"type_", "constant"}, {"rate", 2.0}, {"max_concurrency", nullptr}});
    EXPECT_EQ(capped.request_rate, 2);
    EXPECT_EQ(capped.concurrency, 4U);
    EXPECT_THAT(difference_of_work(free, capped, {}).value_or(""), HasSubstr("--concurrency"));
    EXPECT_THAT(difference_of_work(free, even, {}).value_or(""), HasSubstr("--arrivals"));
}

TEST_F(Import, leaves_out_and_names_levels_of_guidellm_without_requests) {
    Json json = Json::parse(read_file(sample("guidellm/benchmarks.json")));
    Json empty = json["benchmarks"][0];
    for (Json& requests : empty["requests"]) requests = Json::array();
    empty["config"]["strategy"] = {{"type_", "constant"}, {"rate", 9.0}};
    json["benchmarks"].push_back(empty);
    const RunResult run = run_of(write("a.json", json));
    EXPECT_EQ(run.counts.requests, 4U);
    EXPECT_EQ(run.provenance.metadata.at("levels_without_requests"), "1 of 2: rate_9");
    json["benchmarks"].erase(0);
    EXPECT_THAT(refusal(write("b.json", json)), HasSubstr("no request that was sent"));
}

TEST_F(Import, reads_the_usage_of_both_protocols_in_files_of_inference_perf) {
    Json json = Json::parse(read_file(sample("inference-perf/per_request_lifecycle_metrics.json")));
    const auto run_with = [&](const Json& usage) {
        for (Json& request : json)
            if (request["info"]["response_metrics"].is_object())
                request["info"]["response_metrics"]["server_usage"] = usage;
        return run_of(write(fmt::format("{}.json", ++files_), json));
    };
    const RunResult anthropic = run_with({{"input_tokens", 60},
                                          {"output_tokens", 24},
                                          {"cache_read_input_tokens", 30},
                                          {"cache_creation_input_tokens", 10}});
    EXPECT_EQ(anthropic.workload.achieved_output_tokens, 24);
    EXPECT_EQ(anthropic.workload.achieved_input_tokens, 100);
    EXPECT_NEAR(*anthropic.whole_run.at(figure::kCachedPromptRatio), .3, 1e-9);
    const RunResult openai = run_with({{"prompt_tokens", 16},
                                       {"completion_tokens", 12},
                                       {"prompt_tokens_details", {{"cached_tokens", 8}}}});
    EXPECT_NEAR(*openai.whole_run.at(figure::kCachedPromptRatio), .5, 1e-9);
    EXPECT_FALSE(run_with({{"prompt_tokens", 16}, {"completion_tokens", 12}})
                     .whole_run.at(figure::kCachedPromptRatio));
}

TEST_F(Import, counts_the_gpus_of_llama_bench_and_of_rows_of_several_machines) {
    Json tests = Json::parse(read_file(sample("llama-bench/llama-bench.json")));
    Json test = tests[0];
    test["gpu_info"] = "NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3";
    EXPECT_EQ(run_of(write("a.json", test)).provenance.hardware_count, 2U);
    test["split_mode"] = "none";
    EXPECT_EQ(run_of(write("b.json", test)).provenance.hardware_count, 1U);
    test["gpu_info"] = "NVIDIA H100 80GB HBM3, NVIDIA L40S";
    const Provenance mixed = run_of(write("c.json", test)).provenance;
    EXPECT_EQ(mixed.hardware, "");
    EXPECT_EQ(mixed.metadata.at("gpu"), "NVIDIA H100 80GB HBM3, NVIDIA L40S");
    Json row = Json::parse(read_file(sample("summaries/inferencex.json")))[0];
    for (const char* const key : {"tp", "pp", "ep"}) row.erase(key);
    row["disagg"] = true;
    row["num_prefill_gpu"] = 4;
    row["num_decode_gpu"] = 8;
    const RunResult run = run_of(write("d.json", row));
    EXPECT_EQ(run.provenance.hardware_count, 12U);
    EXPECT_EQ(run.reported->at("output_tokens_per_s"), 240 * 8) << "per GPU that decodes";
}

TEST_F(Import, takes_the_load_of_aiperfs_last_measured_phase_and_says_that_it_was_cancelled) {
    const auto run_with = [&](const Json& phases) {
        Json json = aiperf_summary({{"phases", phases}});
        json["was_cancelled"] = phases.size() == 1;
        return run_of(write(fmt::format("{}.json", ++files_), json));
    };
    const RunResult warmed = run_with({{{"name", "warm"}, {"kind", "warmup"}, {"concurrency", 1}},
                                       {{"name", "main"}, {"kind", "profiling"}, {"concurrency", 64}}});
    EXPECT_EQ(warmed.concurrency, 64U);
    EXPECT_FALSE(warmed.partial);
    EXPECT_EQ(
        run_with({{{"name", "a"}, {"concurrency", 8}}, {{"name", "b"}, {"concurrency", 64}}}).concurrency,
        64U);
    const RunResult cancelled =
        run_with(Json::array({{{"name", "profiling"}, {"type", "poisson"}, {"rate", 5.0}}}));
    EXPECT_EQ(cancelled.request_rate, 5);
    EXPECT_EQ(cancelled.plan.at("arrivals"), "poisson:rate=5");
    EXPECT_TRUE(cancelled.partial);
}

TEST_F(Import, hides_secrets_among_the_metadata) {
    Json json = vllm_result();
    json["api_key"] = "sk-abcdef0123456789";
    json["proxy"] = "http://u:pw@h/v1?key=x";
    json["max_tokens"] = 4096;
    const auto metadata = run_of(write("a.json", json)).provenance.metadata;
    EXPECT_EQ(metadata.at("api_key"), "***");
    EXPECT_THAT(metadata.at("proxy"), ::testing::Not(::testing::AnyOf(HasSubstr("pw"), HasSubstr("=x"))));
    EXPECT_EQ(metadata.at("max_tokens"), "4096");
    import_runs(write("b.json", vllm_result()), out_, {.metadata = {{"hf_token", "abcdefgh"}}});
    EXPECT_EQ(read_run_directory(out_).provenance.metadata.at("hf_token"), "***");
}

TEST_F(Import, can_be_shown_under_the_name_of_its_file) {
    import_runs(write("a.json", vllm_result()), out_, {.shown = "results/a.json"});
    EXPECT_EQ(shown_name(out_), "results/a.json");
    EXPECT_EQ(shown_name(directory_.path()), directory_.path().string());
}

TEST_F(Import, is_what_a_file_in_the_place_of_a_run_directory_needs) {
    const fs::path file = write("a.json", vllm_result());
    EXPECT_THAT(message_of<UsageError>([&] { for_each_recorded(file, [](RequestRecord&&) {}); }),
                HasSubstr("paretoken import"));
}

}  // namespace
}  // namespace paretoken::reports::import_tests
