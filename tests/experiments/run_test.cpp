#include "experiments/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
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
// 'uniform:min=16;max=64' --osl 8 --num-prompts 24 --concurrency 3 makes requests.jsonl anew.
TEST_F(VirtualRun, leaves_the_records_that_it_always_left) {
    measured(plain(), "run");
    EXPECT_EQ(records("run"), paretoken::testing::golden("virtual/requests.jsonl"));
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

TEST_F(VirtualRun, is_for_the_simulated_server_only) {
    EXPECT_THROW(measured(with("url", "http://127.0.0.1:1"), "run"), UsageError);
    EXPECT_THROW(measured(with("isl", "200000"), "run"), UsageError) << "longer than the context";
}

TEST_F(VirtualRun, is_the_same_however_many_workers_are_asked_for) {
    measured(plain(), "one");
    measured(with("workers", "2"), "two");
    EXPECT_EQ(records("one"), records("two"));
}

/// Good tokens are credited without their events: exactly in all, nearly in a stretch.
void expect_same_judgement(const Figures& a, const Figures& b) {
    ASSERT_EQ(a.values.size(), b.values.size());
    for (const FigureValue& figure : b.values) {
        ASSERT_TRUE(a.at(figure.key)) << figure.key;
        if (figure.key == figure::kGoodOutputTokens) {
            EXPECT_NEAR(*a.at(figure.key), figure.value, 0.05 * figure.value);
        } else {
            EXPECT_DOUBLE_EQ(*a.at(figure.key), figure.value) << figure.key;
            EXPECT_EQ(a.interval(figure.key), figure.ci95) << figure.key;
        }
    }
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

    judge_anew(directory_ / "later", texts["goodput"]);
    RunResult later = result("later");
    expect_same_judgement(later.throughput, from_the_start.throughput);
    expect_same_judgement(later.whole_run, from_the_start.whole_run);
    EXPECT_EQ(later.totals.judged_good, from_the_start.totals.judged_good);
    EXPECT_EQ(later.plan.at("goodput"), from_the_start.plan.at("goodput"));
    EXPECT_EQ(later.metrics, from_the_start.metrics);

    judge_anew(directory_ / "later", {});
    later = result("later");
    EXPECT_FALSE(later.throughput.at(figure::kGoodput));
    EXPECT_FALSE(later.plan.contains("goodput"));
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

}  // namespace
}  // namespace paretoken::experiments
