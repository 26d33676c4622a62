#include "reports/files/gate/baseline_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "reports/files/file_io.h"
#include "reports/files/gate/gate_run.h"
#include "reports/files/run_directory.h"
#include "tests/reports/analysis/gate/gate_runs.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Store : public ::testing::Test {
  protected:
    fs::path run(const std::string& name, Verdict verdict = Verdict::valid) {
        const fs::path directory = place_.path() / name;
        fs::create_directories(directory);
        RunResult result = sample::gate_run({}).result;
        result.validity = {verdict, {{verdict, "hiccups", "the host was busy"}}};
        write_run(directory, result);
        std::ofstream(directory / kRecordsFileName) << "";
        std::ofstream(directory / kEventsFileName) << "events";
        std::ofstream(directory / kAnswersFileName) << "answers";
        return directory;
    }
    BaselineStore store() const { return BaselineStore(place_.path() / "store"); }

    TemporaryDirectory place_;
};

TEST_F(Store, keeps_what_a_gate_needs_under_a_name_and_no_events) {
    store().save("main", {run("a"), run("b")}, false);
    const StoredBaseline kept = store().find("main");
    ASSERT_EQ(kept.runs.size(), 2U);
    EXPECT_NO_THROW((void)read_run_directory(kept.runs[1]));
    EXPECT_NO_THROW((void)read_gate_run(kept.runs[1]));
    EXPECT_FALSE(fs::exists(kept.runs[0] / kRecordsFileName)) << "requests are as large as their number";
    EXPECT_FALSE(fs::exists(kept.runs[0] / kEventsFileName));
    EXPECT_EQ(store().list().size(), 1U);
    EXPECT_TRUE(store().holds("main"));
    store().drop("main");
    EXPECT_FALSE(store().holds("main"));
}

TEST_F(Store, refuses_a_copy_of_a_run) {
    RunResult result = sample::gate_run({}).result;
    result.provenance.run_id = "4711";
    const fs::path first = run("a");
    write_run(first, result);
    const fs::path copy = run("b");
    write_run(copy, result);
    EXPECT_THROW(store().save("main", {first, copy}, false), UsageError);
    EXPECT_THROW(store().save("main", {first, first}, false), UsageError);
    EXPECT_FALSE(store().holds("main"));
    EXPECT_NO_THROW(store().save("main", {first, run("c")}, false));
}

TEST_F(Store, replaces_a_baseline_only_when_told_to) {
    store().save("main", {run("a"), run("b")}, false);
    EXPECT_THROW(store().save("main", {run("c")}, false), UsageError);
    EXPECT_EQ(store().find("main").runs.size(), 2U);
    store().save("main", {run("c")}, true);
    EXPECT_EQ(store().find("main").runs.size(), 1U);
}

TEST_F(Store, keeps_finish_reasons_faults_of_answers_and_probes_in_a_compact_copy) {
    GateRun run = sample::gate_run({});
    run.finish_reasons = {{"length", 9}, {"stop", 2}};
    run.answers = {.answers = 11, .empty = 1, .repeated = 2, .empty_example = "request 7"};
    run.probe = {{.question = 3, .right = true, .expected = "17", .answer = std::string(5000, 'x')}};
    run.result.series = {{"output_tokens_per_s", "tok/s", "requests", std::vector<double>(90000, 1),
                          std::vector<double>(90000, 2)}};
    write_gate_run(place_.path() / "copy", run);
    const GateRun read = read_gate_run(place_.path() / "copy");
    EXPECT_EQ(read.finish_reasons, run.finish_reasons);
    EXPECT_EQ(read.answers, run.answers);
    EXPECT_TRUE(read.probe.at(0).right);
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(place_.path() / "copy")) bytes += file.file_size();
    EXPECT_LT(bytes, 200'000U);
    std::ofstream(place_.path() / "copy" / "gate-run.json") << "{}";
    EXPECT_THROW((void)read_gate_run(place_.path() / "copy"), UsageError);
}

TEST_F(Store, is_updated_with_new_runs_and_keeps_the_latest) {
    const auto at = [&](const std::string& name, const std::string& day, const std::string& load = "8") {
        const fs::path directory = run(name);
        RunResult result = read_run_directory(directory);
        result.provenance.started_at = "2026-11-" + day + "T09:00:00Z";
        result.provenance.run_id = name;
        result.plan["concurrency"] = load;
        write_run(directory, result);
        return directory;
    };
    EXPECT_THROW(store().update("main", {at("a", "01")}, 3), UsageError) << "there is no baseline yet";
    store().save("main", {at("a", "01"), at("b", "02"), at("c", "03")}, false);
    store().update("main", {at("d", "04")}, 3);
    const StoredBaseline kept = store().find("main");
    ASSERT_EQ(kept.runs.size(), 3U);
    EXPECT_EQ(read_run_directory(kept.runs.front()).provenance.run_id, "b");
    EXPECT_EQ(read_run_directory(kept.runs.back()).provenance.run_id, "d");
    EXPECT_THROW(store().update("main", {at("d", "04")}, 3), UsageError) << "it is stored already";
    const auto refusal = message_of<UsageError>([&] { store().update("main", {at("e", "05", "16")}, 3); });
    EXPECT_THAT(refusal, AllOf(HasSubstr("--concurrency: 8 and 16"), Not(HasSubstr("--across"))));
    EXPECT_EQ(store().find("main").runs.size(), 3U);
    EXPECT_THAT(message_of<UsageError>([&] {
                    store().save("mixed", {at("a", "01"), at("b", "02"), at("e", "05", "16")}, false);
                }),
                AllOf(HasSubstr("/a and "), HasSubstr("/e did not do the same work: --concurrency: 8 and 16"),
                      Not(HasSubstr("--across"))));
    EXPECT_FALSE(store().holds("mixed"));
}

TEST_F(Store, keeps_a_run_whose_file_is_gone_in_the_list) {
    store().save("main", {run("a"), run("b"), run("c")}, false);
    fs::remove(store().find("main").runs.at(1) / kRunFileName);
    const StoredBaseline kept = store().find("main");
    ASSERT_EQ(kept.runs.size(), 3U);
    EXPECT_THROW((void)read_gate_run(kept.runs[1]), UsageError);
}

TEST_F(Store, keeps_the_runs_of_all_who_change_it_at_once) {
    constexpr int kWriters = 6;
    std::vector<fs::path> runs;
    for (int i = 0; i <= kWriters; ++i) {
        runs.push_back(run(std::to_string(i)));
        RunResult result = read_run_directory(runs.back());
        result.provenance.run_id = std::to_string(i);
        write_run(runs.back(), result);
    }
    store().save("main", {runs.back()}, false);
    std::vector<std::jthread> writers;
    for (int i = 0; i < kWriters; ++i)
        writers.emplace_back([&, i] { store().update("main", {runs[static_cast<std::size_t>(i)]}, 100); });
    writers.clear();
    EXPECT_EQ(store().find("main").runs.size(), kWriters + 1U);
    EXPECT_EQ(store().list().size(), 1U);
}

TEST_F(Store, takes_an_empty_directory_for_no_baseline) {
    fs::create_directories(place_.path() / "store" / "main");
    EXPECT_FALSE(store().holds("main"));
    EXPECT_NO_THROW(store().save("main", {run("a")}, false));
    EXPECT_EQ(store().find("main").runs.size(), 1U);
}

TEST_F(Store, refuses_invalid_runs_and_names_that_are_paths) {
    EXPECT_THROW(store().save("main", {run("bad", Verdict::invalid)}, false), UsageError);
    for (const std::string name : {"", "..", "a/b", "-x", ".hidden", "a b"})
        EXPECT_THROW(store().save(name, {run("a")}, false), UsageError) << name;
    EXPECT_TRUE(store().list().empty());
}

TEST_F(Store, names_the_known_baselines_when_one_is_missing) {
    store().save("main", {run("a")}, false);
    try {
        (void)store().find("mian");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("known: main"));
    }
}

}  // namespace
}  // namespace paretoken::reports
