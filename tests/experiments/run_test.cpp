#include "experiments/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/random.h"
#include "core/result/overload.h"
#include "core/result/summary.h"
#include "experiments/run/begun.h"
#include "reports/files/events.h"
#include "reports/files/file_io.h"
#include "reports/files/json/run_json.h"
#include "reports/files/probe_file.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"
#include "tests/experiments/virtual_sweep.h"
#include "tests/support/golden.h"

namespace paretoken::experiments {
namespace {

class VirtualRun : public VirtualExperiment {
  protected:
    PlanTexts with(const std::string& name, const std::string& text) const {
        PlanTexts texts = small();
        texts["concurrency"] = {"3"};
        if (!name.empty()) texts[name] = {text};
        return texts;
    }
    PlanTexts plain() const { return with("", ""); }
};

TEST_F(VirtualRun, leaves_the_same_records_every_time) {
    measured(plain(), "one");
    measured(plain(), "two");
    EXPECT_FALSE(records("one").empty());
    EXPECT_EQ(records("one"), records("two"));
}

// After an intended change: paretoken run 'sim:llama3-8b-h100-bf16?jitter=0' --virtual --isl
// 'uniform:min=16;max=64' --osl 8 --num-prompts 24 --concurrency 3 --ramp-up 0 makes requests.jsonl anew.
TEST_F(VirtualRun, leaves_the_records_that_it_always_left) {
    measured(with("ramp_up", "0s"), "run");
    EXPECT_EQ(records("run"), paretoken::testing::golden("virtual/requests.jsonl"));
}

TEST_F(VirtualRun, over_a_ramp_is_never_steady) {
    // In half of these runs chance hides the ramp from the tests for trends and shifts.
    for (int i = 0; i < 12; ++i) {
        const int over_s = 30 + 7 * i;
        PlanTexts texts = small();
        texts.erase("num_prompts");
        texts["osl"] = {"64"};
        texts["seed"] = {std::to_string(i)};
        texts["duration"] = {fmt::format("{}s", over_s * 9 / 10)};
        texts["arrivals"] = {
            fmt::format("ramp:from=0.{},to={},over={}s", i * 7 % 9 + 1, 2 + i * 5 % 9, over_s)};
        const Window window = measured(texts, "run").result.window;
        EXPECT_FALSE(window.steady) << texts["arrivals"].front() << ": " << window.how;
    }
}

TEST_F(VirtualRun, after_a_ramp_and_within_a_step_is_steady) {
    const auto window_of = [&](const char* arrivals) {
        PlanTexts texts = small();
        texts.erase("num_prompts");
        texts["duration"] = {"120s"};
        texts["arrivals"] = {arrivals};
        return measured(texts, "run").result;
    };
    const auto ramp = window_of("ramp:from=1,to=8,over=30s");
    EXPECT_TRUE(ramp.window.steady) << ramp.window.how;
    EXPECT_GE(ramp.window.zero_s + ramp.window.begin_s, 30);
    const auto steps = window_of("steps:rates=2;8,each=60s");
    EXPECT_TRUE(steps.window.steady) << steps.window.how;
    EXPECT_GE(steps.window.zero_s + steps.window.begin_s, 60);
}

TEST_F(VirtualRun, beyond_the_servers_capacity_is_overloaded_behind_a_cap_too) {
    const auto result_of = [&](const char* concurrency) {
        PlanTexts texts = small();
        texts["num_prompts"] = {"1500"};
        texts["request_rate"] = {"40"};
        texts["osl"] = {"32"};
        texts["url"] = {"sim:llama3-8b-h100-bf16?max_num_seqs=4"};
        if (*concurrency != 0) texts["concurrency"] = {concurrency};
        return measured(texts, "run").result;
    };
    EXPECT_FALSE(kept_up(result_of("")));
    EXPECT_FALSE(kept_up(result_of("4")));
}

TEST_F(VirtualRun, says_that_it_is_simulated) {
    const Measured run = measured(plain(), "run");
    EXPECT_EQ(run.result, result("run"));
    EXPECT_EQ(run.not_written, "");
    EXPECT_EQ(run.result.provenance.server_kind, "paretoken-sim in virtual time");
    EXPECT_EQ(run.result.provenance.clock, "virtual time");
    EXPECT_EQ(run.result.provenance.url, small().at("url").front());
    EXPECT_EQ(run.result.provenance.hardware, "sim:llama3-8b-h100-bf16?jitter=0");
    EXPECT_EQ(run.result.counts.ok, 24U);
}

TEST_F(VirtualRun, echoes_the_plan_as_it_was_resolved) {
    const Measured run = measured(with("temperature", "0.7"), "run");
    const PlanEcho& echo = run.result.plan;
    EXPECT_EQ(echo.at("concurrency"), "3");
    EXPECT_EQ(echo.at("num_prompts"), "24");
    EXPECT_EQ(echo.at("temperature"), "0.7");
    EXPECT_EQ(echo.at("model"), run.result.provenance.model) << "asked for none: the server's first";
    EXPECT_EQ(echo.at("salt"), run.result.workload.salt);
    EXPECT_EQ(echo.at("arrivals"), "at_once");
}

TEST_F(VirtualRun, keeps_how_many_questions_were_answered_right_and_each_answer) {
    PlanTexts texts = with("probe", "recall:ctx=256,n=12");
    texts["url"] = {"sim:llama3-8b-h100-bf16?answers=recall"};
    const Measured run = measured(texts, "run");
    ASSERT_TRUE(run.result.quality.has_value());
    EXPECT_EQ(run.result.quality->probe, "recall:ctx=256,n=12");
    EXPECT_EQ(run.result.quality->n, 12U);
    EXPECT_EQ(run.result.quality->score, 1);
    EXPECT_NEAR(run.result.quality->ci95.low, .757, .001);
    EXPECT_EQ(run.result, result("run")) << "run.json holds it";
    EXPECT_EQ(run.result.counts.ok, 24U) << "the questions are no part of the load";
    const auto answers = reports::read_probe_file(directory_ / "run/probe.jsonl");
    ASSERT_EQ(answers.size(), 12U);
    EXPECT_EQ("number " + answers[7].answer, answers[7].expected);
    texts["url"] = {"sim:llama3-8b-h100-bf16?answers=garbage"};
    EXPECT_EQ(measured(texts, "garbage").result.quality->score, 0);
    EXPECT_FALSE(measured(plain(), "run").result.quality.has_value());
    EXPECT_FALSE(std::filesystem::exists(directory_ / "run/probe.jsonl")) << "an earlier run's is gone";
}

TEST_F(VirtualRun, says_that_no_question_was_answered_rather_than_that_all_answers_were_wrong) {
    std::string words;
    for (int i = 0; i < 1000; ++i) words += "word ";
    std::ofstream(directory_ / "long.jsonl")
        << "{\"prompt\": \"" << words << "\", \"expect\": {\"exact\": \"x\"}}\n";
    PlanTexts texts = with("probe", (directory_ / "long.jsonl").string());
    texts["url"] = {"sim:llama3-8b-h100-bf16?max_model_len=512"};
    const Measured run = measured(texts, "run");
    EXPECT_FALSE(run.result.quality.has_value());
    ASSERT_EQ(run.result.validity.reasons.size(), 1U);
    EXPECT_EQ(run.result.validity.reasons.front().check, "probe_failed");
    EXPECT_THAT(run.result.validity.reasons.front().text, ::testing::HasSubstr("HTTP 400"));
    EXPECT_EQ(run.result.validity.verdict, Verdict::warn);
}

TEST_F(VirtualRun, counts_questions_whose_requests_failed_as_failures_and_not_as_wrong_answers) {
    std::string words;
    for (int i = 0; i < 1000; ++i) words += "word ";
    std::ofstream(directory_ / "mixed.jsonl")
        << R"({"prompt": "Say something.", "expect": {"regex": "."}})"
        << "\n"
        << "{\"prompt\": \"" << words << "\", \"expect\": {\"exact\": \"x\"}}\n";
    PlanTexts texts = with("probe", (directory_ / "mixed.jsonl").string());
    texts["url"] = {"sim:llama3-8b-h100-bf16?max_model_len=512"};
    const Measured run = measured(texts, "run");
    ASSERT_TRUE(run.result.quality.has_value());
    EXPECT_EQ(run.result.quality->score, 1);
    EXPECT_EQ(run.result.quality->n, 1U);
    EXPECT_THAT(run.result.validity.reasons.front().text,
                ::testing::HasSubstr("1 of the 2 questions of --probe got no answer"));
    EXPECT_EQ(result("run").quality, run.result.quality);
    EXPECT_TRUE(reports::read_probe_file(directory_ / "run/probe.jsonl").at(1).failed);
}

TEST_F(VirtualRun, refuses_questions_that_the_context_does_not_hold) {
    EXPECT_THROW(measured(with("probe", "recall:ctx=900k,n=2"), "run"), UsageError);
    EXPECT_THROW(measured(with("probe", "nowhere.jsonl"), "run"), UsageError);
}

TEST_F(VirtualRun, is_for_the_simulated_server_only) {
    EXPECT_THROW(measured(with("url", "http://127.0.0.1:1"), "run"), UsageError);
    EXPECT_THROW(measured(with("isl", "200000"), "run"), UsageError) << "longer than the context";
}

TEST_F(VirtualRun, is_the_same_however_many_workers_are_asked_for) {
    measured(plain(), "one");
    measured(with("workers", "2"), "two");
    EXPECT_EQ(records("one"), records("two"));
}

TEST_F(VirtualRun, judged_anew_is_what_it_would_have_been_with_those_slos) {
    PlanTexts texts = plain();
    texts["salt"] = {"s"};
    measured(texts, "later");
    EXPECT_FALSE(result("later").whole_run.at(figure::kGoodput));
    texts["goodput"] = {"ttft:8.4", "e2e:61"};
    const RunResult from_the_start = measured(texts, "from_the_start").result;
    const auto ratio = from_the_start.whole_run.at(figure::kGoodputRatio);
    ASSERT_TRUE(ratio);
    EXPECT_GT(*ratio, 0) << "the limits must divide the requests";
    EXPECT_LT(*ratio, 1);

    EXPECT_EQ(judge_anew(directory_ / "later", plan_of(texts)).validity.verdict, Verdict::valid);
    RunResult later = result("later");
    EXPECT_EQ(later.throughput, from_the_start.throughput);
    EXPECT_EQ(later.whole_run, from_the_start.whole_run);
    EXPECT_EQ(later.totals.judged_good, from_the_start.totals.judged_good);
    EXPECT_EQ(later.plan.at("goodput"), from_the_start.plan.at("goodput"));
    EXPECT_EQ(later.metrics, from_the_start.metrics);

    texts.erase("goodput");
    judge_anew(directory_ / "later", plan_of(texts));
    later = result("later");
    EXPECT_FALSE(later.throughput.at(figure::kGoodput));
    EXPECT_FALSE(later.plan.contains("goodput"));
}

TEST_F(VirtualRun, judged_anew_is_held_against_another_share_of_failures) {
    PlanTexts texts = with("timeout", "61ms");  // divides the requests
    ASSERT_EQ(measured(texts, "run").result.validity.verdict, Verdict::invalid);
    texts["max_failed"] = {"99%"};
    EXPECT_EQ(judge_anew(directory_ / "run", plan_of(texts)).validity.verdict, Verdict::warn);
    EXPECT_EQ(result("run").validity.verdict, Verdict::warn);
    EXPECT_EQ(result("run").plan.at("max_failed"), "0.99");
}

/// Returns the plans of loads of every kind.
std::vector<PlanTexts> loads_of_every_kind() {
    const PlanTexts common = {{"virtual", {"true"}}, {"isl", {"64"}}, {"osl", {"16"}}, {"salt", {"s"}}};
    std::vector<PlanTexts> all;
    const auto add = [&](const std::string& url, PlanTexts more) {
        more.insert(common.begin(), common.end());
        more["url"] = {url};
        all.push_back(std::move(more));
    };
    const std::string sim = "sim:llama3-8b-h100-bf16";
    add(sim, {{"concurrency", {"8"}},
              {"num_prompts", {"120"}},
              {"goodput", {"ttft:20"}},
              {"slo", {"e2e_p90:900"}}});
    add(sim, {{"request_rate", {"20"}}, {"num_prompts", {"150"}}, {"num_warmups", {"7"}}});
    add(sim, {{"request_rate", {"40"}},
              {"burstiness", {".5"}},
              {"concurrency", {"12"}},
              {"num_prompts", {"120"}}});
    add(sim, {{"arrivals", {"ramp:from=2,to=30,over=20s"}}, {"duration", {"20s"}}});
    add(sim, {{"isl", {}},
              {"osl", {}},
              {"dataset", {"shared_prefix:groups=8"}},
              {"concurrency", {"6"}},
              {"num_prompts", {"90"}}});
    add(sim,
        {{"duration", {"15s"}}, {"class", {"a:concurrency=4,goodput=ttft:30", "b:request_rate=2,isl=256"}}});
    add(sim + "?max_num_seqs=2",
        {{"concurrency", {"8"}}, {"num_prompts", {"80"}}, {"timeout", {"500ms"}}, {"max_failed", {"90%"}}});
    add(sim + "?max_num_seqs=2",
        {{"request_rate", {"200"}}, {"stop", {"diverging"}}, {"num_prompts", {"20000"}}});
    add(sim, {{"concurrency", {"4"}}, {"num_prompts", {"60"}}, {"cancel", {"p=.3,after=50ms"}}});
    for (PlanTexts& texts : all) std::erase_if(texts, [](const auto& field) { return field.second.empty(); });
    return all;
}

TEST_F(VirtualRun, has_the_same_result_if_run_json_is_deleted_and_made_again) {
    int number = 0;
    for (const PlanTexts& texts : loads_of_every_kind()) {
        const std::string name = fmt::format("{}", number++);
        measured(texts, name);
        const auto path = directory_ / name / "run.json";
        const std::string before = reports::read_file(path);
        std::filesystem::remove(path);
        const RunResult again = reports::read_run_directory(directory_ / name);
        EXPECT_EQ(reports::run_json(again), before) << name;
        reports::write_run(directory_ / name, again);
        EXPECT_EQ(reports::read_run_directory(directory_ / name), again) << name;
    }
}

TEST_F(VirtualRun, that_was_killed_at_any_moment_has_the_result_of_its_records) {
    Random random(1);
    int number = 0;
    for (const PlanTexts& texts : loads_of_every_kind()) {
        const std::filesystem::path run = directory_ / fmt::format("{}", number++);
        measured(texts, run.filename().string());
        const auto files = reports::record_files_in(run);
        const std::string lines = reports::read_file(files.lines);
        for (const char* const name : {"run.json", "ended.json"}) std::filesystem::remove(run / name);
        for (int i = 0; i < 6; ++i) {
            const auto least = lines.size() / 8;
            reports::write_file_atomically(files.lines,
                                           lines.substr(0, least + random.below(lines.size() - least)));
            std::uint64_t whole = 0;
            reports::for_each_record(files.lines, {}, [&](const RequestRecord& record) {
                whole += record.warmup || record.outcome == Outcome::cancelled ? 0 : 1;
            });
            const RunResult read = reports::read_run_directory(run);
            EXPECT_TRUE(read.partial) << run;
            EXPECT_EQ(read.counts.requests, whole) << run;
            EXPECT_EQ(read.validity.verdict, Verdict::invalid) << run;
            EXPECT_EQ(read.validity.reasons.at(0).check, "interrupted") << run;
            EXPECT_EQ(reports::read_run_directory(run), read) << run;
        }
    }
}

TEST_F(VirtualRun, a_ramp_that_was_killed_says_nothing_about_the_server) {
    PlanTexts texts = plain();
    for (const char* const option : {"num_prompts", "concurrency"}) texts.erase(option);
    texts["url"] = {"sim:llama3-8b-h100-bf16"};
    texts["arrivals"] = {"ramp:from=0.2,to=12,over=240s"};
    texts["duration"] = {"240s"};
    const RunResult whole = measured(texts, "run").result;
    EXPECT_FALSE(whole.window.overloaded);
    std::filesystem::remove(directory_ / "run" / "run.json");
    std::filesystem::remove(directory_ / "run" / "ended.json");
    const RunResult killed = reports::read_run_directory(directory_ / "run");
    EXPECT_FALSE(killed.window.overloaded) << killed.window.how;
    EXPECT_EQ(killed.request_rate, whole.request_rate);
    EXPECT_EQ(killed.throughput, whole.throughput);
}

TEST_F(VirtualRun, is_folded_from_the_disk_as_its_records_in_memory_would_be) {
    const RunResult folded = measured(plain(), "run").result;
    const auto files = reports::record_files_in(directory_ / "run");
    std::vector<RequestRecord> records;
    reports::for_each_record(files.lines, {}, [&](RequestRecord&& r) { records.push_back(std::move(r)); });
    std::size_t next = 0;
    reports::EventsFile(files.events, {})
        .for_each([&](const RequestKey& key, std::span<const StreamEvent> events) {
            ASSERT_EQ(key.index, records[next].index);
            records[next++].events.assign(events.begin(), events.end());
        });
    ASSERT_EQ(next, records.size());
    const RunSummary summary = summarize(records, {.concurrency = 3, .last_dispatch = {}, .slos = {}});
    EXPECT_EQ(summary.metrics, folded.metrics);
    EXPECT_EQ(summary.throughput, folded.throughput);
    EXPECT_EQ(summary.counts, folded.counts);
    EXPECT_EQ(summary.series, folded.series);
}

TEST_F(VirtualRun, without_events_has_every_figure_but_the_pooled_metrics) {
    const RunResult all = measured(plain(), "all").result;
    const RunResult none = measured(with("events", "none"), "none").result;
    EXPECT_TRUE(all.metric("itl_s"));
    EXPECT_EQ(all.counts.without_events, 0U);
    EXPECT_FALSE(none.metric("itl_s"));
    EXPECT_EQ(none.counts.without_events, 24U);
    EXPECT_EQ(none.metric("ttft_s")->percentiles, all.metric("ttft_s")->percentiles);
    EXPECT_NEAR(*none.whole_run.at(figure::kOutputTokens), *all.whole_run.at(figure::kOutputTokens), 1e-6);
    EXPECT_EQ(none.plan.at("events"), "none");
    EXPECT_LT(std::filesystem::file_size(directory_ / "none" / "events.bin"), 100U);
}

TEST_F(VirtualRun, with_a_sample_of_events_pools_those) {
    const RunResult all = measured(plain(), "all").result;
    const RunResult some = measured(with("events", "sample=3"), "some").result;
    EXPECT_GT(some.counts.without_events, 4U);
    EXPECT_LT(some.counts.without_events, 22U);
    ASSERT_TRUE(some.metric("itl_s"));
    EXPECT_LT(some.metric("itl_s")->n, all.metric("itl_s")->n);
    EXPECT_THROW(measured(with("events", "some"), "bad"), UsageError);
}

TEST_F(VirtualRun, that_was_killed_still_shows_its_inter_token_latency) {
    const RunResult whole = measured(plain(), "run").result;
    const auto path = directory_ / "run";
    std::filesystem::remove(path / "run.json");
    std::filesystem::remove(path / "ended.json");
    // A crash leaves an incomplete last frame and an incomplete last line.
    const auto files = reports::record_files_in(path);
    std::filesystem::resize_file(files.events, std::filesystem::file_size(files.events) - 3);
    std::filesystem::resize_file(files.lines, std::filesystem::file_size(files.lines) - 3);
    const RunResult read = reports::read_run_directory(path);
    EXPECT_TRUE(read.partial);
    EXPECT_EQ(read.counts.ok, 23U);
    ASSERT_TRUE(read.metric("itl_s"));
    EXPECT_NEAR(*read.metric("itl_s")->at(0.5)->value, *whole.metric("itl_s")->at(0.5)->value, 1e-3);
}

TEST(RequireValid, throws_what_a_result_deserves) {
    Measured measured;
    EXPECT_NO_THROW(require_valid(measured));
    measured.result.validity = {Verdict::invalid, {{Verdict::invalid, "loop_lag", "The client was late."}}};
    try {
        require_valid(measured);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::measurement_invalid);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("The client was late."));
    }
    measured.result.partial = true;
    EXPECT_THROW(require_valid(measured), RuntimeError);
    measured = {};
    measured.not_written = "the disk is full";
    EXPECT_THROW(require_valid(measured), RuntimeError);
}

TEST(RequireSlos, takes_a_run_within_its_limits_unless_they_must_be_met) {
    const auto code_of = [](SloVerdict verdict, bool shown, bool met) {
        RunResult result;
        result.slo = {{.key = "ttft_p95", .verdict = verdict, .shown = shown}};
        try {
            require_slos(result, met);
        } catch (const Error& error) {
            return error.code();
        }
        return ExitCode::ok;
    };
    for (const bool met : {false, true}) {
        EXPECT_EQ(code_of(SloVerdict::met, true, met), ExitCode::ok);
        EXPECT_EQ(code_of(SloVerdict::missed, true, met), ExitCode::gate_failed);
        EXPECT_EQ(code_of(SloVerdict::missed, false, met), ExitCode::gate_inconclusive);
        EXPECT_EQ(code_of(SloVerdict::insufficient, false, met), ExitCode::gate_inconclusive);
        EXPECT_EQ(code_of(SloVerdict::within, false, met), met ? ExitCode::gate_inconclusive : ExitCode::ok);
    }
}

}  // namespace
}  // namespace paretoken::experiments
