#include "cli/plan/plan_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace paretoken::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

reports::PlannedLengths thousand_tokens() {
    return reports::lengths_of("1000", "100", {1000}, {100});
}

std::string refusal_of_cells(const CellOptions& options) {
    try {
        (void)planned_cells(options, thousand_tokens());
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

/// A config.json with a small model of the type, and more members.
std::string config_of_type(const std::string& type, const std::string& more = "") {
    const auto path = std::filesystem::path(testing::TempDir()) / (type + ".json");
    std::ofstream(path) << R"({"num_hidden_layers": 8, "hidden_size": 1024, "num_attention_heads": 8,
        "vocab_size": 1000, "intermediate_size": 4096, "torch_dtype": "bfloat16", "tie_word_embeddings": true,
        "model_type": ")"
                        << type << "\"" << more << "}";
    return path.string();
}

TEST(PlanCells, RanksThatDivideABlockAreRefusedAndTheOthersStand) {
    const reports::DeploymentPlan plan = planned_cells(
        {.model_card = "qwen3-30b-a3b:weights=fp8_blocks", .gpus = {"h100"}}, thousand_tokens());
    ASSERT_EQ(plan.cells.size(), 4U);
    EXPECT_EQ(plan.cells[1].refused, "");
    EXPECT_THAT(plan.cells[3].refused, HasSubstr("take --ep 8"));
}

TEST(PlanCells, AnEngineThatDoesNotRunOnAGpuIsRefusedThere) {
    const reports::DeploymentPlan plan =
        planned_cells({.model_card = "llama-3.1-8b", .gpus = {"mi300xx1", "h100x1"}, .engine = "trtllm"},
                      thousand_tokens());
    EXPECT_THAT(plan.cells[0].refused, HasSubstr("trtllm does not run on AMD"));
    EXPECT_EQ(plan.cells[1].refused, "");
    EXPECT_EQ(plan.best, 1U);
}

TEST(PlanCells, AModelThatNeedsBf16IsPlannedIn32BitsOnGpusWithoutIt) {
    CellOptions options{.model_card = config_of_type("gemma2", R"(, "max_position_embeddings": 8192)"),
                        .gpus = {"v100-32gbx1"}};
    EXPECT_THAT(planned_cells(options, thousand_tokens()).cells[0].refused, HasSubstr("take --weights f32"));
    options.weights = {"f32"};
    EXPECT_EQ(planned_cells(options, thousand_tokens()).cells[0].refused, "");
    EXPECT_EQ(planned_cells(options, thousand_tokens()).cells[0].kv, "f32") << "as the model";
    options.weights = {"bf16"};
    options.engine = "llamacpp";
    EXPECT_EQ(planned_cells(options, thousand_tokens()).cells[0].refused, "");
}

TEST(PlanCells, AContextIsTheModelsOrSaidToBeAssumed) {
    CellOptions options{.model_card = config_of_type("llama"), .gpus = {"h100x1"}};
    const reports::DeploymentPlan plan = planned_cells(options, thousand_tokens());
    EXPECT_FALSE(plan.knows_context);
    EXPECT_THAT(plan.cells[0].notes,
                ElementsAre(HasSubstr("131072 tokens are assumed; give --max-model-len")));
    options.max_model_len = 4096;
    EXPECT_TRUE(planned_cells(options, thousand_tokens()).knows_context);
    options = {.model_card = "llama-3.1-8b", .gpus = {"h100x1"}, .max_model_len = 200000};
    EXPECT_THAT(refusal_of_cells(options),
                HasSubstr("--max-model-len 200000: llama-3.1-8b has a context of 131072"));
    options.engine = "llamacpp";
    EXPECT_EQ(refusal_of_cells(options), "accepted");
}

TEST(PlanCells, TheHostsMemoryCostsVllmTheRoomBehindWindows) {
    CellOptions options{.model_card = "gpt-oss-120b", .gpus = {"h200x1"}};
    const auto at_once = [&] {
        return planned_cells(options, reports::lengths_of("30000", "1000", {30000}, {1000}))
            .cells[0]
            .sequences_p50;
    };
    const std::uint64_t without = at_once();
    options.kv_offload = "256GiB";
    EXPECT_NEAR(static_cast<double>(at_once()), static_cast<double>(without) / 2, 1);
}

}  // namespace
}  // namespace paretoken::cli
