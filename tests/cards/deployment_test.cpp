#include "cards/deployment.h"

#include <gtest/gtest.h>

namespace paretoken::cards {
namespace {

TEST(Deployment, MoreRanksThanKvHeadsReplicateTheCache) {
    const ModelCard model = model_card("llama-3.1-70b");
    EXPECT_EQ(kv_ranks(model, 4), 4);
    EXPECT_EQ(kv_ranks(model, 8), 8);
    EXPECT_EQ(kv_ranks(model, 16), 8);
    EXPECT_EQ(kv_ranks(model_card("deepseek-v3"), 16), 16) << "a latent cache is spread by requests";
}

TEST(Deployment, TheCacheGetsWhatTheWeightsLeave) {
    const ModelCard model = model_card("llama-3.1-8b");
    const auto weights = static_cast<double>(model.resident_weight_bytes);
    EXPECT_DOUBLE_EQ(*kv_pool_bytes(model, 80e9), 0.9 * 80e9 - weights);
    EXPECT_EQ(kv_pool_bytes(model, 16e9), std::nullopt);
}

TEST(Deployment, ATokenTakesTwoFlopPerParameterThatWorksOnIt) {
    const ModelCard model = model_card("qwen3-30b-a3b");
    EXPECT_DOUBLE_EQ(linear_flops_per_token(model), 2.0 * static_cast<double>(model.active_parameters));
    EXPECT_LT(linear_flops_per_token(model), 2.0 * static_cast<double>(model.parameters) / 5);
}

TEST(Deployment, TheOutputHeadIsAPartOfTheLinearLayers) {
    EXPECT_DOUBLE_EQ(output_head_flops(model_card("llama-3.1-8b")), 2 * 128256.0 * 4096);
    for (const std::string& name : known_models())
        EXPECT_LT(output_head_flops(model_card(name)), linear_flops_per_token(model_card(name))) << name;
}

}  // namespace
}  // namespace paretoken::cards
