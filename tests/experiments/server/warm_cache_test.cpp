#include "experiments/server/warm_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/result/figures.h"
#include "core/validity/validity.h"
#include "experiments/server/provenance.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kServer = "http://127.0.0.1:8000";
constexpr const char* kFile = "0123456789abcdef";

class WarmCache : public ::testing::Test {
  protected:
    void SetUp() override {
        directory_ =
            std::filesystem::path(::testing::TempDir()) /
            (std::string("warm_cache_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(directory_);
        plan_.classes.front().dataset.name = "custom";
        plan_.classes.front().dataset_content = kFile;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    static RunResult run_of(std::optional<double> cached_share = {}) {
        RunResult run;
        run.provenance.started_at = utc_now();
        run.provenance.url = kServer;
        run.plan["dataset_content"] = kFile;
        run.counts.requests = run.counts.ok = 12;
        if (cached_share) run.throughput.set(figure::kCachedPromptRatio, *cached_share);
        return run;
    }
    void store(const std::string& name, const RunResult& run) const {
        std::filesystem::create_directories(directory_ / name);
        reports::write_run(directory_ / name, run);
    }
    std::vector<EarlierRun> before(const RunResult& run, const std::string& name = "c0002",
                                   const std::string& opened_at = utc_now()) const {
        const Begun begun{.provenance = run.provenance, .plan = run.plan, .workload = run.workload};
        return earlier_runs_of(begun, plan_, opened_at, directory_ / name);
    }
    static std::optional<Reason> warm_cache(const std::vector<EarlierRun>& earlier, const RunResult& run) {
        for (const Reason& reason : validity_of(run, {.earlier_runs = earlier}).reasons)
            if (reason.check == "warm_cache") return reason;
        return std::nullopt;
    }

    std::filesystem::path directory_;
    LoadPlan plan_;
};

TEST_F(WarmCache, is_that_of_a_server_to_which_a_run_beside_this_one_sent_the_same_file) {
    store("c0001", run_of(.09));
    ASSERT_THAT(before(run_of()), SizeIs(1));
    const auto reason = warm_cache(before(run_of()), run_of(.91));
    ASSERT_TRUE(reason.has_value());
    EXPECT_EQ(reason->check, "warm_cache");
    EXPECT_EQ(reason->severity, Verdict::warn);
    EXPECT_THAT(reason->text, HasSubstr("the run in c0001"));
    EXPECT_THAT(reason->text, HasSubstr("91 % of their tokens, and 9 % in that run"));
    EXPECT_THAT(reason->text, HasSubstr("--reset-cache"));
}

TEST_F(WarmCache, is_compared_with_the_first_run_and_not_with_the_one_before) {
    store("c0001", run_of(.09));
    store("c0002", run_of(.91));
    EXPECT_TRUE(warm_cache(before(run_of(), "c0004"), run_of(.91)).has_value());
}

TEST_F(WarmCache, is_none_if_no_more_was_served_than_in_the_first_run) {
    store("c0001", run_of(.09));
    EXPECT_FALSE(warm_cache(before(run_of()), run_of(.10)).has_value());
    EXPECT_FALSE(warm_cache({}, run_of(.91)).has_value());
}

TEST_F(WarmCache, may_be_that_of_a_server_that_reports_no_cached_tokens) {
    store("c0001", run_of());
    const auto reason = warm_cache(before(run_of()), run_of());
    ASSERT_TRUE(reason.has_value());
    EXPECT_THAT(reason->text, HasSubstr("may have served them"));
}

TEST_F(WarmCache, needs_the_same_server_the_same_file_and_a_cache_that_is_not_emptied) {
    RunResult other = run_of(.09);
    other.provenance.url = "http://127.0.0.1:8001";
    store("other_server", other);
    other = run_of(.09);
    other.plan["dataset_content"] = "fedcba9876543210";
    store("other_file", other);
    other = run_of(.09);
    other.provenance.started_at = "2020-01-01T00:00:00Z";
    store("long_ago", other);
    other = run_of(.09);
    other.provenance.server = ServerStart{.command = "serve", .ready_s = 2.5};
    store("started_for_it", other);
    EXPECT_THAT(before(run_of()), IsEmpty());
    store("same", run_of(.09));
    EXPECT_THAT(before(run_of()), SizeIs(1));
    plan_.server.reset_cache = true;
    EXPECT_THAT(before(run_of()), IsEmpty());
}

TEST_F(WarmCache, is_none_for_prompts_that_a_new_salt_changes) {
    RunResult salted = run_of(.09);
    salted.plan["salt_prompts"] = "true";
    store("c0001", salted);
    RunResult begun = run_of();
    begun.workload.salt = "new";
    plan_.salt_prompts = true;
    EXPECT_THAT(before(begun), IsEmpty());
    EXPECT_THAT(before(run_of()), SizeIs(1)) << "the same --salt";
    plan_.classes.front().dataset.name = "mooncake";
    EXPECT_THAT(before(run_of()), IsEmpty()) << "its prompts are generated";
}

TEST_F(WarmCache, is_none_after_prompts_that_a_salt_changed) {
    RunResult salted = run_of(.01);
    salted.plan["salt_prompts"] = "true";
    salted.workload.salt = "old";
    store("c0001", salted);
    EXPECT_THAT(before(run_of()), IsEmpty());
    RunResult begun = run_of();
    begun.workload.salt = "old";
    EXPECT_THAT(before(begun), IsEmpty()) << "--salt alone does not change the prompts of a file";
    plan_.salt_prompts = true;
    EXPECT_THAT(before(begun), SizeIs(1));
    begun.workload.seed = 7;
    EXPECT_THAT(before(begun), IsEmpty()) << "the words of a salt depend on the seed";
    store("c0001", run_of(.09));
    begun.workload.seed = 0;
    EXPECT_THAT(before(begun), IsEmpty()) << "the earlier prompts had no words of a salt before them";
}

TEST_F(WarmCache, may_come_from_a_run_that_was_killed) {
    RunResult run = run_of();
    const Begun begun{.provenance = run.provenance, .plan = run.plan, .workload = run.workload};
    std::filesystem::create_directories(directory_ / "c0001");
    reports::write_begun(directory_ / "c0001", begun, {});
    const auto earlier = before(run);
    ASSERT_THAT(earlier, SizeIs(1)) << "none of its requests ended, but they were sent";
    EXPECT_EQ(earlier.front().cached_share, std::nullopt);
}

TEST_F(WarmCache, is_that_of_a_server_under_another_name_of_the_loopback) {
    RunResult other = run_of(.09);
    other.provenance.url = "http://localhost:8000";
    store("c0001", other);
    EXPECT_THAT(before(run_of()), SizeIs(1));
    RunResult two = run_of();
    two.provenance.url = "http://localhost:8000,http://10.0.0.1:8000";
    EXPECT_THAT(before(two), IsEmpty());
    other.provenance.url = "http://127.0.0.1:8000,http://10.0.0.1:8000";
    store("c0001", other);
    EXPECT_THAT(before(two), SizeIs(1));
}

TEST_F(WarmCache, of_the_simulated_server_is_as_old_as_its_target) {
    RunResult simulated = run_of(.09);
    simulated.provenance.url = "sim:llama3-8b-h100-bf16";
    store("c0001", simulated);
    EXPECT_THAT(before(simulated, "c0002", simulated.provenance.started_at), SizeIs(1));
    EXPECT_THAT(before(simulated, "c0002", "2099-01-01T00:00:00Z"), IsEmpty());
}

TEST_F(WarmCache, is_looked_for_in_all_pairs_of_a_gate_and_in_the_run_that_is_replaced) {
    store("pairs/01/baseline", run_of(.09));
    store("pairs/02/candidate", run_of(.91));
    EXPECT_THAT(before(run_of(), "pairs/02/candidate"), SizeIs(2));
}

}  // namespace
}  // namespace paretoken::experiments
