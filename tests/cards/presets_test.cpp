#include "cards/presets.h"

#include <gtest/gtest.h>

#include "cards/model.h"

namespace paretoken::cards {
namespace {

TEST(Presets, each_stands_for_a_shipped_card_whole_or_in_shares) {
    for (const ModelPreset& preset : model_presets()) {
        EXPECT_EQ(card_of_preset(preset.name), preset.card);
        EXPECT_EQ(card_of_preset(std::string(preset.name) + "-tp8"), preset.card);
        EXPECT_EQ(model_card(std::string(preset.card)).name, preset.card);
    }
    EXPECT_EQ(card_of_preset("llama-3.1-8b"), "llama-3.1-8b");
    EXPECT_EQ(card_of_preset("my-model-tpu"), "my-model-tpu");
}

}  // namespace
}  // namespace paretoken::cards
