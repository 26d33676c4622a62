#include "cli/options/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/options/plan_options.h"
#include "core/error.h"
#include "experiments/server/resolve.h"
#include "tests/support/paths.h"

namespace paretoken::cli {
namespace {

using ::testing::HasSubstr;

TEST(Recipes, are_loads_that_a_run_can_make) {
    for (const Recipe& recipe : recipes()) {
        PlanTexts texts = texts_of(recipe);
        if (recipe.name == "agentx")
            texts["dataset_path"] = {paths::source_dir() + "/tests/golden/agents/weka.json"};
        if (recipe.name == "mlperf-agentic")
            texts["dataset_path"] = {paths::source_dir() + "/tests/golden/agents/mlcommons_agentic.jsonl"};
        EXPECT_EQ(texts.contains("dataset_path"), !recipe.file.empty()) << recipe.name;
        const LoadPlan plan = experiments::with_load(experiments::with_dataset(plan_of(texts)));
        EXPECT_TRUE(plan.stop.requests || plan.stop.duration) << recipe.name << " must end by itself";
        EXPECT_TRUE(recipe.look.ends_with('.')) << recipe.name;
    }
}

TEST(Recipes, give_way_to_what_is_given) {
    PlanOptions options;
    options.recipe = "rag";
    options.given["concurrency"] = {"9"};
    const PlanTexts texts = texts_of(options);
    EXPECT_EQ(texts.at("concurrency"), Texts{"9"});
    EXPECT_EQ(texts.at("num_prompts"), Texts{"100"});
}

TEST(Recipes, of_another_name_are_refused_with_the_nearest) {
    try {
        (void)recipe_named("spyke");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(),
                    HasSubstr("'spyke' is not a recipe (did you mean spike?); known are prefill-heavy"));
    }
}

}  // namespace
}  // namespace paretoken::cli
