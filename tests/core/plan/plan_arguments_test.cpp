#include "core/plan/plan_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan.h"
#include "core/plan/plan_fields.h"

namespace paretoken {
namespace {

using ::testing::ElementsAre;

LoadPlan sample_plan() {
    LoadPlan plan;
    plan.targets = {"http://127.0.0.1:8080"};
    plan.classes.front().concurrency = 16;
    plan.classes.front().goodput = {"ttft:500", "tpot:15"};
    plan.sampling.ignore_eos = false;
    plan.virtual_time = true;
    plan.salt = "5a17";
    plan.metadata = {{"precision", "q8_0"}};
    return plan;
}

TEST(PlanArguments, AskForThePlanAgainWithoutWhatIsNewForEveryRun) {
    LoadPlan plan = sample_plan();
    plan.headers = {"x-key: secret"};
    plan.out = "runs/c16";
    const std::vector<std::string> arguments = arguments_of(echo_of(plan));
    EXPECT_EQ(arguments.front(), "http://127.0.0.1:8080");
    const std::string line = shell_line(arguments);
    EXPECT_THAT(line, ::testing::HasSubstr("--concurrency 16"));
    EXPECT_THAT(line, ::testing::HasSubstr("--goodput ttft:500 --goodput tpot:15"));
    EXPECT_THAT(line, ::testing::HasSubstr("--no-ignore-eos"));
    EXPECT_THAT(line, ::testing::HasSubstr("--virtual"));
    for (const char* gone : {"secret", "5a17", "runs/c16", "precision", "--seed"})
        EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr(gone)));
}

TEST(PlanArguments, texts_of_an_echo_make_the_plan_again_without_what_is_new_for_every_run) {
    LoadPlan plan = sample_plan();
    const LoadPlan again = plan_of(texts_of(echo_of(plan)));
    plan.salt.clear();
    plan.metadata.clear();
    EXPECT_EQ(echo_of(again), echo_of(plan));
}

TEST(PlanArguments, OfADefaultPlanAreNone) {
    EXPECT_TRUE(arguments_of(echo_of(LoadPlan{})).empty());
}

TEST(PlanArguments, replace_the_value_of_an_option_or_add_it) {
    EXPECT_EQ(with_option({"p", "--out", "a", "--x"}, "--out", "b"),
              (std::vector<std::string>{"p", "--out", "b", "--x"}));
    EXPECT_EQ(with_option({"p", "--out=a"}, "--out", "b"), (std::vector<std::string>{"p", "--out=b"}));
    EXPECT_EQ(with_option({"p", "--output", "a"}, "--out", "b"),
              (std::vector<std::string>{"p", "--output", "a", "--out", "b"}));
}

}  // namespace
}  // namespace paretoken
