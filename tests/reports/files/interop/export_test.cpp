// What exports say of a run, and what an import reads from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/run/result_of.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/foreign.h"
#include "reports/files/interop/run_export.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/paths.h"

namespace paretoken::reports::export_tests {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// A request that was sent after `start_ms`, with 3 tokens 10 ms apart, the first one after 50 ms.
RequestRecord answered_at(std::uint64_t index, int start_ms) {
    RequestRecord record;
    record.index = index;
    record.sent = TimePoint{} + std::chrono::milliseconds(start_ms);
    record.scheduled = record.started = record.ready = *record.sent;
    for (int i = 0; i < 3; ++i)
        record.events.push_back({.time = *record.sent + std::chrono::milliseconds(50 + 10 * i)});
    record.first_event = record.first_answer = record.events.front().time;
    record.last_event = record.finished = record.events.back().time;
    record.closed = *record.finished;
    record.first_group_tokens = 1;
    record.streamed_tokens = record.chunks = 3;
    record.usage.prompt = 8;
    record.usage.completion = 3;
    return record;
}

RequestRecord without_tokens(RequestRecord record, Outcome outcome) {
    record.outcome = outcome;
    record.usage = {};
    record.events.clear();
    record.first_event = record.first_answer = record.last_event = record.finished = std::nullopt;
    record.streamed_tokens = record.chunks = record.first_group_tokens = 0;
    return record;
}

/// A run of this program, as its directory gives it.
struct ExportedCase {
    std::vector<RequestRecord> records;
    StoredRun stored = {};
    RunResult result = {};

    explicit ExportedCase(std::vector<RequestRecord> of, const PlanEcho& plan = {}) : records(std::move(of)) {
        stored.recorded.observed.records = RequestTable(records);
        stored.recorded.events = std::make_shared<KeptEvents>(records);
        stored.recorded.begun.plan = plan;
        result = result_of(stored.recorded, {});
    }
    Json vllm() const { return Json::parse(vllm_bench_text({result, stored})); }
    Json aiperf() const { return Json::parse(aiperf_text({result, stored})); }
    Json report() const { return Json::parse(benchmark_report_text({result, stored})); }
};

std::vector<RequestRecord> four_requests() {
    return {answered_at(0, 0), answered_at(1, 100), answered_at(2, 200), answered_at(3, 300)};
}

/// The run that an import makes of an exported text.
RunResult imported(const Json& json) {
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() / "a.json", json.dump());
    import_runs(directory.path() / "a.json", directory.path() / "out");
    return read_run_directory(directory.path() / "out");
}

TEST(VllmExport, writes_waits_for_the_cap_of_an_open_loop_and_its_import_reads_them) {
    std::vector<RequestRecord> records = four_requests();
    records[3].slot_wait = std::chrono::milliseconds(250);
    records[3].scheduled -= records[3].slot_wait;
    ExportedCase run(records);
    EXPECT_FALSE(run.vllm().contains("queue_times"));
    run.result.request_rate = 10;
    run.result.concurrency = 4;
    const Json json = run.vllm();
    EXPECT_EQ(json["queue_times"], Json({0.0, 0.0, 0.0, .25}));
    const RunResult back = imported(json);
    EXPECT_NEAR(*back.metric("ttft_intended_s")->max, .3, 1e-6);
    EXPECT_NEAR(*back.client.slot_wait_p99_s, .25, .01);
}

TEST(VllmExport, writes_the_rate_and_the_burstiness_that_the_arrivals_have) {
    const auto load_with = [](const PlanEcho& plan, const std::string& measured_by = "") {
        ExportedCase run(four_requests(), plan);
        run.result.request_rate = 20;
        run.result.provenance.measured_by = measured_by;
        Json json = run.vllm();
        Json load;
        for (const auto& [key, value] : json.items())
            if (key == "burstiness" || key == "request_rate" || key.starts_with("ramp")) load[key] = value;
        return load;
    };
    EXPECT_EQ(load_with({{"arrivals", "poisson:rate=20"}}),
              Json({{"request_rate", 20.0}, {"burstiness", 1.0}}));
    EXPECT_EQ(load_with({{"arrivals", "gamma:burstiness=0.2,rate=20"}}),
              Json({{"request_rate", 20.0}, {"burstiness", .2}}));
    EXPECT_EQ(load_with({{"arrivals", "constant:rate=20"}}), Json({{"request_rate", 20.0}}));
    EXPECT_TRUE(load_with({{"arrivals", "ramp:from=1,over=10s,to=20"}}).empty());
    const Json ramp{{"request_rate", "inf"},
                    {"ramp_up_strategy", "linear"},
                    {"ramp_up_start_rps", 1.0},
                    {"ramp_up_end_rps", 10.0}};
    EXPECT_EQ(load_with({{"arrivals", "ramp:from=1,to=10"}}, "vLLM bench serve"), ramp);
    EXPECT_EQ(load_with({{"request_rate", "20"}}, "vLLM bench serve"),
              Json({{"request_rate", 20.0}, {"burstiness", 1.0}}));
    EXPECT_EQ(load_with({{"request_rate", "20"}}, "AIPerf"), Json({{"request_rate", 20.0}}));
}

TEST(VllmExport, leaves_out_a_load_that_is_not_known) {
    ExportedCase run(four_requests());
    EXPECT_EQ(run.vllm()["request_rate"], "inf") << "all at once";
    run.result.provenance.measured_by = "llmperf";
    const Json json = run.vllm();
    EXPECT_FALSE(json.contains("request_rate"));
    EXPECT_EQ(load_label_of(imported(json)), "load unknown");
    EXPECT_FALSE(run.aiperf()["input_config"]["phases"][0].contains("type"));
}

TEST(VllmExport, leaves_out_requests_on_which_users_hung_up) {
    std::vector<RequestRecord> records = four_requests();
    records[1].outcome = Outcome::abandoned;
    records[2] = without_tokens(records[2], Outcome::cancelled);
    records[3] = without_tokens(records[3], Outcome::connect_failed);
    records[3].sent = std::nullopt;
    const Json json = ExportedCase(records).vllm();
    EXPECT_EQ(json["num_prompts"], 2);
    EXPECT_EQ(json["completed"], 1);
    EXPECT_EQ(json["failed"], 1);
    EXPECT_EQ(json["output_lens"], Json({3, 0}));
    EXPECT_EQ(imported(json).counts.failed, 1U);
}

TEST(Exports, have_no_tokens_that_the_run_does_not_know) {
    ExportedCase run(four_requests());
    run.stored.recorded.begun.unknown_facts = {Fact::output_tokens};
    const Json vllm = run.vllm();
    EXPECT_TRUE(vllm.contains("input_lens"));
    for (const char* const key : {"output_lens", "total_output_tokens", "output_throughput",
                                  "total_token_throughput", "mean_tpot_ms"})
        EXPECT_FALSE(vllm.contains(key)) << key;
    EXPECT_FALSE(run.aiperf().contains("output_token_throughput"));
    EXPECT_FALSE(run.aiperf().contains("output_sequence_length"));
    const Json aggregate = run.report()["results"]["request_performance"]["aggregate"];
    EXPECT_TRUE(aggregate["throughput"].contains("input_token_rate"));
    EXPECT_FALSE(aggregate["throughput"].contains("output_token_rate"));
    EXPECT_FALSE(aggregate["throughput"].contains("total_token_rate"));
    EXPECT_FALSE(aggregate["requests"].contains("output_length"));
}

TEST(Exports, count_answers_that_were_not_streamed) {
    std::vector<RequestRecord> records = four_requests();
    for (RequestRecord& record : records) {
        const auto finished = record.finished;
        const TokenUsage usage = record.usage;
        record = without_tokens(record, Outcome::ok);
        record.finished = record.last_event = finished;
        record.usage = usage;
    }
    const ExportedCase run(records);
    EXPECT_EQ(run.vllm()["completed"], 4);
    EXPECT_EQ(run.vllm()["total_output_tokens"], 12);
    EXPECT_FALSE(run.vllm().contains("mean_ttft_ms"));
    EXPECT_EQ(run.aiperf()["request_count"]["avg"], 4);
    EXPECT_EQ(run.aiperf()["input_config"]["endpoint"]["streaming"], false);
    EXPECT_EQ(imported(run.vllm()).counts.ok, 4U);
}

TEST(Exports, leave_out_a_start_that_is_not_known) {
    ExportedCase run(four_requests());
    EXPECT_FALSE(run.aiperf().contains("start_time"));
    EXPECT_FALSE(run.report()["run"]["time"].contains("start"));
    run.result.provenance.started_at = "2026-11-21T08:03:25Z";
    EXPECT_EQ(run.aiperf()["start_time"], "2026-11-21T08:03:25Z");
    EXPECT_EQ(run.report()["run"]["time"]["start"], "2026-11-21T08:03:25Z");
}

TEST(RunFamilies, have_no_two_samples_with_equal_labels) {
    RunResult run = ExportedCase(four_requests()).result;
    run.concurrency = 2;
    run.plan["isl"] = "100";
    run.plan["seed"] = "0";
    RunResult again = run;
    again.plan["seed"] = "1";
    RunResult longer = run;
    longer.plan["isl"] = "200";
    const auto labels_of = [](const std::vector<const RunResult*>& runs) {
        std::vector<std::vector<std::pair<std::string, std::string>>> labels;
        const std::vector<MetricFamily> families = run_families(runs);
        for (const MetricSample& sample : families.front().samples) {
            labels.push_back(sample.labels);
            std::erase_if(labels.back(), [](const auto& label) { return label.first == "model"; });
        }
        return labels;
    };
    EXPECT_THAT(labels_of({&run}), ElementsAre(ElementsAre(Pair("concurrency", "2"))));
    EXPECT_THAT(
        labels_of({&run, &again, &longer}),
        ElementsAre(UnorderedElementsAre(Pair("concurrency", "2"), Pair("isl", "100"), Pair("repeat", "1")),
                    UnorderedElementsAre(Pair("concurrency", "2"), Pair("isl", "100"), Pair("repeat", "2")),
                    UnorderedElementsAre(Pair("concurrency", "2"), Pair("isl", "200"))));
}

}  // namespace
}  // namespace paretoken::reports::export_tests
