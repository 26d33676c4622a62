#include "experiments/sweep/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class AnswerOfALadder : public VirtualExperiment {
  protected:
    /// Measures levels of a load in which the TPOT p95 is 7.4 ms with one user, and higher with more.
    reports::SweepFile measured_ladder(const char* slo, const char* requests) {
        PlanTexts texts{{"url", {"sim:llama3-8b-h100-bf16"}},
                        {"virtual", {"true"}},
                        {"isl", {"512"}},
                        {"osl", {"32"}},
                        {"seed", {"7"}},
                        {"num_prompts", {requests}},
                        {"slo", {slo}}};
        plan_ = {.asked = with_dataset(plan_of(texts)), .levels = {1, 4, 64}};
        return swept(plan_, "ladder");
    }
    reports::SweepSearch answer(const reports::SweepFile& file) {
        return answer_in(plan_, file, {}, directory_ / "ladder");
    }
    SweepPlan plan_;
};

TEST_F(AnswerOfALadder, has_the_highest_load_that_is_shown_to_meet_the_limits) {
    const reports::SweepFile file = measured_ladder("tpot_p95:9", "2000");
    const reports::SweepSearch found = answer(file);
    EXPECT_EQ(found.pass, 4);
    EXPECT_EQ(found.within, 4);
    EXPECT_EQ(found.fail, 64);
    EXPECT_EQ(found.binding, "tpot_p95:9");
    EXPECT_EQ(found.certify, "");
    EXPECT_NO_THROW(require_shown(file, {}, found, 1));
}

TEST_F(AnswerOfALadder, a_spoiled_run_within_the_limits_says_something_and_another_one_nothing) {
    const reports::SweepFile file = measured_ladder("tpot_p95:9", "600");
    const std::vector<Slo> slos = parse_slos({"tpot_p95:9"});
    const auto spoiled = [&](std::size_t level, const char* check) {
        RunResult run = *finished_run(directory_ / "ladder" / file.points[level].directory);
        run.validity = {Verdict::invalid, {{Verdict::invalid, check, "a reason"}}};
        return run;
    };
    EXPECT_TRUE(says_something(spoiled(0, "instrument"), slos));
    EXPECT_TRUE(is_within_although_spoiled(spoiled(0, "instrument"), slos));
    EXPECT_FALSE(says_something(spoiled(2, "instrument"), slos)) << "the delays may be what misses the limit";
    EXPECT_FALSE(says_something(spoiled(0, "fewer_tokens"), slos)) << "that is not the host";
    EXPECT_TRUE(says_something(spoiled(2, "errors"), slos));
}

TEST_F(AnswerOfALadder, has_the_run_that_would_show_what_was_only_measured) {
    const reports::SweepFile file = measured_ladder("tpot_p99:9", "128");
    const reports::SweepSearch found = answer(file);
    EXPECT_EQ(found.pass, std::nullopt);
    EXPECT_EQ(found.within, 4);
    EXPECT_THAT(found.within_text, HasSubstr("tpot_p99: 0 of"));
    EXPECT_THAT(found.certify, HasSubstr("--concurrency 4"));
    EXPECT_THAT(found.certify, HasSubstr("--seed 8")) << "other requests";
    EXPECT_THAT(found.certify, EndsWith("--slo tpot_p99:9 --require met"));
    EXPECT_GT(found.certify_minutes, 0);
    EXPECT_THAT([&] { require_shown(file, {}, found, 1); },
                ::testing::ThrowsMessage<Error>(HasSubstr("4 is the highest load that was measured within")));
}

TEST_F(AnswerOfALadder, offers_no_run_where_the_requests_are_not_what_is_missing) {
    const reports::SweepFile file = measured_ladder("tpot_p99:9", "128");
    const std::filesystem::path four = directory_ / "ladder" / "c0004";
    RunResult run = reports::read_run_directory(four);
    run.window.steady = false;
    for (SloResult& slo : run.slo) slo.times_enough.reset();
    reports::write_run(four, run);
    const reports::SweepSearch found = answer(file);
    EXPECT_EQ(found.certify, "");
    EXPECT_EQ(found.certify_minutes, std::nullopt);
    EXPECT_THAT(found.within_text, EndsWith("paretoken show " + four.string() + " has the reason"));
}

TEST_F(AnswerOfALadder, counts_the_requests_of_all_repeats_together) {
    PlanTexts texts{{"url", {"sim:llama3-8b-h100-bf16"}},
                    {"virtual", {"true"}},
                    {"concurrency", {"8"}},
                    {"slo", {"ttft_p95:800"}}};
    plan_ = {.asked = with_dataset(plan_of(texts)), .levels = {8}, .repeats = 8};
    const reports::SweepFile file = swept(plan_, "ladder");
    for (const reports::SweepPoint& point : file.points) EXPECT_EQ(point.slo, SloVerdict::within);
    EXPECT_EQ(answer(file).pass, 8);
    plan_.repeats = 1;
    reports::SweepFile once = file;
    once.points.resize(1);
    EXPECT_EQ(answer(once).pass, std::nullopt);
}

TEST_F(AnswerOfALadder, leaves_out_loads_above_one_that_misses) {
    reports::SweepFile file = measured_ladder("tpot_p95:9", "2000");
    std::swap(file.points[1].load, file.points[2].load);  // as if the highest load met the limit again
    const reports::SweepSearch found = answer(file);
    EXPECT_EQ(found.pass, 1);
    EXPECT_EQ(found.fail, 4);
}

}  // namespace
}  // namespace paretoken::experiments
