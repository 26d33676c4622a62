#include "experiments/gate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "experiments/session.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

using reports::GateVerdict;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kServer = "sim:llama3-8b-h100-bf16";

class VirtualGate : public VirtualExperiment {
  protected:
    static PlanTexts load() {
        return {{"virtual", {"true"}},  {"isl", {"2048"}},       {"osl", {"32"}},
                {"concurrency", {"4"}}, {"num_prompts", {"40"}}, {"url", {kServer}}};
    }
    static GatePlan plan(const std::string& candidate, const PlanTexts& texts = load()) {
        return {.asked = with_dataset(plan_of(texts)),
                .baseline = {.url = kServer},
                .candidate = {.url = candidate}};
    }
    reports::GateReport gated(const GatePlan& plan, const std::string& name = "gate") {
        std::filesystem::create_directories(directory_ / name);
        return measure_gate(plan, {}, directory_ / name,
                            {{{"paretoken"}, "paretoken gate"}, watcher_, stop_.get_token()},
                            [this](const auto& report) { told_.push_back(report.pairs); });
    }
    std::string refused(const GatePlan& plan) {
        try {
            (void)gated(plan);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "taken";
    }
    const reports::GateRow& row(const reports::GateReport& report, const std::string& metric) {
        return *std::find_if(report.rows.begin(), report.rows.end(),
                             [&](const auto& r) { return r.metric == metric; });
    }

    std::vector<std::uint64_t> told_;
};

TEST_F(VirtualGate, passes_a_candidate_that_is_the_baseline) {
    const auto report = gated(plan(kServer));
    EXPECT_EQ(report.verdict, GateVerdict::pass);
    EXPECT_TRUE(told_.empty() || told_.back() < report.pairs) << "the last look is the verdict";
    EXPECT_TRUE(std::filesystem::exists(directory_ / "gate/pairs/03/candidate/run.json"));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "gate/pairs/17"));
}

TEST_F(VirtualGate, compares_two_servers_with_random_numbers_of_their_own_and_equal_requests) {
    const auto report = gated(plan(kServer));
    const auto is_zero = [](const reports::GateRow& row) { return row.shift.value_or(0) == 0; };
    EXPECT_FALSE(std::all_of(report.rows.begin(), report.rows.end(), is_zero))
        << "a server that is compared with itself could never fail";
    const RunResult baseline = result("gate/pairs/01/baseline");
    const RunResult candidate = result("gate/pairs/01/candidate");
    EXPECT_EQ(baseline.workload.seed, candidate.workload.seed);
    EXPECT_EQ(baseline.workload.achieved_input_tokens, candidate.workload.achieved_input_tokens);
    EXPECT_NE(baseline.throughput.at(figure::kOutputTokens), candidate.throughput.at(figure::kOutputTokens));
}

TEST_F(VirtualGate, fails_slower_memory_and_says_that_itl_moved_and_ttft_did_not) {
    PlanTexts texts = load();
    texts["ramp_up"] = {"0s"};  // requests that run in step tell little about TTFT
    const auto report = gated(plan("sim:llama3-8b-h100-bf16?weight_bytes_per_s=2.0328e12", texts));
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "itl_p50").verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "ttft_p95").verdict, GateVerdict::inconclusive);
    EXPECT_THAT(report.why, HasSubstr("ITL is worse and TTFT is not"));
    EXPECT_THAT(report.why, HasSubstr(": the cause is the decode step"));
}

TEST_F(VirtualGate, fails_answers_that_stop_at_half_the_length) {
    PlanTexts texts = load();
    texts["ignore_eos"] = {"false"};
    texts["osl"] = {"2000"};
    texts["isl"] = {"64"};
    const auto report = gated(plan("sim:llama3-8b-h100-bf16?answer_tokens=100", texts));
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "output_length").verdict, GateVerdict::fail);
}

TEST_F(VirtualGate, fails_a_cache_that_is_off_and_names_the_prefill) {
    PlanTexts texts = load();
    texts.erase("isl");
    texts["dataset"] = {"shared_prefix:groups=4,levels=1500;500,unique=100"};
    const auto report = gated(plan("sim:llama3-8b-h100-bf16?prefix_cache=0", texts));
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_GT(row(report, "ttft_p50").ci95->low, std::log(2.0));
    EXPECT_THAT(report.why, HasSubstr("the prefix cache held"));
}

TEST_F(VirtualGate, fails_a_candidate_that_is_faster_and_says_garbage) {
    const std::string recalls = std::string(kServer) + "?answers=recall";
    PlanTexts texts = load();
    texts["probe"] = {"recall:ctx=512,n=40"};
    GatePlan asked = plan("sim:llama3-8b-h100-bf16?answers=garbage&weight_bytes_per_s=6e12", texts);
    asked.baseline.url = recalls;
    const auto report = gated(asked);
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_LT(row(report, "itl_p50").shift.value(), 0) << "it is faster";
    EXPECT_EQ(row(report, "quality").verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "quality").baseline, 1);
    EXPECT_EQ(row(report, "quality").candidate, 0);
    EXPECT_EQ(row(report, "repeated_answers").verdict, GateVerdict::fail);
    EXPECT_THAT(row(report, "repeated_answers").reason, HasSubstr(" the the the"));
    EXPECT_THAT(report.why, HasSubstr("The answers are worse"));
    // Each side answered the questions once, in its first run.
    EXPECT_TRUE(result("gate/pairs/01/candidate").quality.has_value());
    EXPECT_FALSE(result("gate/pairs/02/candidate").quality.has_value());
    asked.candidate.url = recalls + "&weight_bytes_per_s=6e12";
    const auto honest = gated(asked, "honest");
    EXPECT_EQ(honest.verdict, GateVerdict::pass);
    EXPECT_EQ(row(honest, "quality").candidate, 1);
}

TEST_F(VirtualGate, measures_abba_with_the_same_seed_on_both_sides_and_fresh_salts) {
    (void)gated(plan(kServer));
    std::set<std::string> salts;
    for (int pair = 1; pair <= 3; ++pair) {
        const auto of = [&](const std::string& side) {
            return result(fmt::format("gate/pairs/{:02}/{}", pair, side));
        };
        EXPECT_EQ(of("baseline").workload.seed, static_cast<std::uint64_t>(pair - 1));
        EXPECT_EQ(of("candidate").workload.seed, of("baseline").workload.seed);
        salts.insert(of("baseline").workload.salt);
        salts.insert(of("candidate").workload.salt);
    }
    EXPECT_EQ(salts.size(), 6U);
    EXPECT_EQ((std::vector<bool>{candidate_is_first(0), candidate_is_first(1), candidate_is_first(2),
                                 candidate_is_first(3)}),
              (std::vector<bool>{false, true, false, true}));
}

TEST_F(VirtualGate, goes_on_with_the_pairs_that_are_there) {
    GatePlan asked = plan(kServer);
    (void)gated(asked);
    const std::string first = bytes("gate/pairs/01/baseline/run.json");
    std::filesystem::remove_all(directory_ / "gate/pairs/02/candidate");
    EXPECT_EQ(gated(asked).verdict, GateVerdict::pass);
    EXPECT_EQ(bytes("gate/pairs/01/baseline/run.json"), first) << "it was not measured again";
    EXPECT_TRUE(std::filesystem::exists(directory_ / "gate/pairs/02/candidate/run.json"));
    asked.asked.overwrite = true;
    (void)gated(asked);
    EXPECT_NE(bytes("gate/pairs/01/baseline/run.json"), first);
}

TEST_F(VirtualGate, refuses_to_go_on_with_another_gate) {
    (void)gated(plan(kServer));
    EXPECT_THAT(refused(plan("sim:llama3-8b-h100-bf16?step_s=.002")), HasSubstr("the candidate"));
    PlanTexts texts = load();
    texts["temperature"] = {"0.7"};
    EXPECT_THAT(refused(plan(kServer, texts)), HasSubstr("--temperature"));
    texts = load();
    texts["concurrency"] = {"8"};
    EXPECT_THAT(refused(plan(kServer, texts)), HasSubstr("--concurrency was 4 there and is 8 now"));
}

TEST_F(VirtualGate, refuses_another_model_or_hardware_unless_that_is_meant) {
    GatePlan asked = plan("sim:llama3-8b-h100-fp8");
    EXPECT_THAT(refused(asked), HasSubstr("model: llama3-8b-h100-bf16 and llama3-8b-h100-fp8"));
    asked.across = {reports::Across::model};
    asked.asked.overwrite = true;
    EXPECT_THAT(refused(asked), HasSubstr("hardware"));
    asked.across.insert(reports::Across::hardware);
    EXPECT_EQ(gated(asked).verdict, GateVerdict::pass);
}

TEST_F(VirtualGate, begins_no_pair_that_would_end_after_its_time) {
    GatePlan asked = plan(kServer);
    asked.max_time = Duration(1);
    const auto report = gated(asked);
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_THAT(report.notes, Contains(HasSubstr("--max-time ended the gate after 1 pair.")));
    EXPECT_THAT(report.headline, HasSubstr("only 1 pair was measured within --max-time, and at least 3"));
}

TEST_F(VirtualGate, ends_when_it_is_interrupted) {
    stop_.request_stop();
    EXPECT_THROW(gated(plan(kServer)), RuntimeError);
}

TEST_F(VirtualGate, needs_a_simulated_side_to_be_known) {
    EXPECT_THROW(gated(plan("sim:warp-drive")), UsageError);
}

// ---- stored runs

class StoredGate : public VirtualGate {
  protected:
    /// Returns the directories of runs of `url`, one per seed.
    std::vector<std::filesystem::path> runs(const std::string& name, int n, const std::string& url,
                                            PlanTexts texts = load()) {
        std::vector<std::filesystem::path> found;
        texts["url"] = {url};
        for (int i = 0; i < n; ++i) {
            texts["seed"] = {std::to_string(i)};
            found.push_back(measured(texts, name + std::to_string(i)).directory);
        }
        return found;
    }
    static reports::GateReport judged(const GateDirectories& directories, bool within_run = false) {
        return judge_gate(reports::default_policy(), directories, {}, within_run);
    }
};

TEST_F(StoredGate, compares_runs_that_were_measured_before) {
    const auto before = runs("before", 4, kServer);
    EXPECT_EQ(judged({before, runs("same", 4, kServer)}).verdict, GateVerdict::pass);
    const auto slow = judged({before, runs("slow", 4, "sim:llama3-8b-h100-bf16?step_s=.004")});
    EXPECT_EQ(slow.verdict, GateVerdict::fail);
    EXPECT_EQ(slow.baseline_name.substr(slow.baseline_name.size() - 7), "before3");
}

TEST_F(StoredGate, repeats_the_requests_of_the_stored_runs_on_another_server) {
    PlanTexts texts = load();
    texts["isl"] = {"lognormal:mean=1024;cv=1"};
    texts["osl"] = {"lognormal:mean=32;cv=1"};
    texts["num_prompts"] = {"200"};
    GatePlan asked = plan(kServer, texts);
    asked.baseline = {.url = {}, .command = {}, .stored = "main"};
    asked.stored_runs = runs_below(runs("stored", 5, kServer, texts));
    asked.seeds = seeds_of(asked.stored_runs);
    EXPECT_EQ(asked.seeds, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
    const auto equal = gated(asked, "equal");
    for (const auto* const metric : {"output_tokens_per_s", "ttft_p50", "itl_p50", "e2e_p50"})
        EXPECT_EQ(row(equal, metric).verdict, GateVerdict::pass) << equal.headline;
    asked.candidate.url = "sim:llama3-8b-h100-bf16?weight_bytes_per_s=2.03e12";
    EXPECT_EQ(gated(asked, "slow").verdict, GateVerdict::fail);
    const LoadPlan sixth = asked_of(asked, asked.candidate, kServer, 5);
    EXPECT_EQ(sixth.seed, 0U);
    EXPECT_NE(sixth.server_number, asked_of(asked, asked.candidate, kServer, 0).server_number)
        << "the same requests again, and not the same noise";
    asked.stored_runs.front().result.provenance.measured_by = "vllm bench";
    EXPECT_TRUE(seeds_of(asked.stored_runs).empty());
}

TEST_F(StoredGate, refuses_a_run_that_is_given_twice_and_copies) {
    const auto before = runs("before", 3, kServer);
    const auto after = runs("after", 3, kServer);
    const std::filesystem::path copy = directory_ / "copy";
    std::filesystem::copy(before[0], copy, std::filesystem::copy_options::recursive);
    EXPECT_THROW(judged({{before[0], before[0], before[0]}, after}), UsageError);
    EXPECT_THROW(judged({before, before}), UsageError);
    EXPECT_THAT(
        [&] {
            judged({before, {after[0], after[1], copy}});
        },
        ::testing::ThrowsMessage<UsageError>(HasSubstr("the same run as")));
    EXPECT_THAT(judged({before, after, {before[0], copy}}).notes,
                Contains(HasSubstr("2 runs of the history")));
}

TEST_F(StoredGate, of_one_run_a_side_is_inconclusive_unless_that_is_accepted) {
    const GateDirectories single{runs("a", 1, kServer), runs("b", 1, "sim:llama3-8b-h100-bf16?step_s=.009")};
    const auto report = judged(single);
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_THAT(report.notes, Contains(HasSubstr("--within-run")));
    EXPECT_EQ(judged(single, true).design, reports::GateDesign::within_runs);
}

TEST_F(StoredGate, refuses_another_workload_and_takes_another_seed_or_salt) {
    const auto before = runs("before", 3, kServer);
    const auto with = [&](const std::string& option, const std::string& value) {
        PlanTexts texts = load();
        texts[option] = {value};
        try {
            (void)judged({before, runs("with_" + option, 3, kServer, texts)});
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("taken");
    };
    EXPECT_THAT(with("temperature", "0.7"), HasSubstr("--temperature: not given and 0.7"));
    EXPECT_THAT(with("model", "other"), HasSubstr("model: llama3-8b-h100-bf16 and other"));
    EXPECT_EQ(with("salt", "fixed"), "taken");
    EXPECT_EQ(with("seed", "17"), "taken");
}

TEST_F(StoredGate, refuses_another_content_of_the_same_file) {
    PlanTexts texts = load();
    texts.erase("isl");
    texts["dataset_path"] = {(directory_ / "prompts.jsonl").string()};
    const auto write = [&](const std::string& prompt) {
        std::ofstream(directory_ / "prompts.jsonl") << "{\"prompt\": \"" << prompt << "\"}\n";
    };
    write("one");
    const auto before = runs("one", 3, kServer, texts);
    write("two");
    EXPECT_THROW(judged({before, runs("two", 3, kServer, texts)}), UsageError);
}

reports::GateRun at(const std::string& time) {
    reports::GateRun run;
    run.result.provenance.started_at = "2026-11-22T09:" + time + "Z";
    return run;
}

TEST(Interleaved, are_runs_of_two_sides_that_were_measured_in_turn) {
    std::vector<reports::GateRun> baseline{at("00:00"), at("30:00"), at("40:00")};
    std::vector<reports::GateRun> candidate{at("10:00"), at("20:00"), at("50:00")};
    EXPECT_TRUE(are_interleaved(baseline, candidate)) << "ABBAAB";
    std::vector<reports::GateRun> later{at("41:00"), at("42:00"), at("50:00")};
    EXPECT_FALSE(are_interleaved(baseline, later));
    later.pop_back();
    EXPECT_FALSE(are_interleaved(baseline, later));
}

}  // namespace
}  // namespace paretoken::experiments
