#include "cards/config/name_pattern.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace paretoken::cards {
namespace {

bool regular(std::string_view expression, std::string_view name) {
    return NamePattern::regular(expression).matches(name);
}
bool shell(std::string_view pattern, std::string_view name) {
    return NamePattern::shell(pattern).matches(name);
}

TEST(NamePattern, MatchesFromTheBeginningOfAName) {
    EXPECT_TRUE(regular("model", "model.layers.0"));
    EXPECT_FALSE(regular("layers", "model.layers.0"));
    EXPECT_TRUE(regular(".*layers", "model.layers.0"));
    EXPECT_FALSE(regular("model$", "model.layers.0"));
    EXPECT_TRUE(regular("", "anything"));
}

TEST(NamePattern, UnderstandsTheExpressionsOfRecipes) {
    const std::string gate = "model.layers.12.mlp.gate_proj";
    const std::string expert = "model.layers.12.mlp.experts.3.gate_proj";
    EXPECT_TRUE(regular(R"(.*mlp\.(gate|up|gate_up|down)_proj.*)", gate));
    EXPECT_FALSE(regular(R"(.*mlp\.(gate|up|gate_up|down)_proj.*)", expert));
    EXPECT_TRUE(regular(R"(.*\.(?:gate|up)_proj)", gate));
    EXPECT_TRUE(regular(R"(model\.layers\.\d+\.mlp)", gate));
    EXPECT_TRUE(regular(R"(model\.layers\.1[0-3]\.mlp)", gate));
    EXPECT_FALSE(regular(R"(model\.layers\.1[^0-3]\.mlp)", gate));
    EXPECT_TRUE(regular(R"(model\.layers\.[0-9]{2}\.)", gate));
    EXPECT_FALSE(regular(R"(model\.layers\.[0-9]{3,}\.)", gate));
    EXPECT_TRUE(regular(R"(^(?!.*experts).*gate_proj$)", gate));
    EXPECT_FALSE(regular(R"(^(?!.*experts).*gate_proj$)", expert));
    EXPECT_TRUE(regular(R"((?=.*experts).*gate)", expert));
    EXPECT_TRUE(regular(R"((\w+\.)+?gate_proj)", expert));
    EXPECT_TRUE(regular("m?model", "model"));
}

TEST(NamePattern, AShellPatternAlsoMatchesWhatIsInside) {
    EXPECT_TRUE(shell("model.layers.0.self_attn*", "model.layers.0.self_attn.q_proj"));
    EXPECT_TRUE(shell("*.self_attn", "model.layers.0.self_attn.q_proj"));
    EXPECT_FALSE(shell("*.self", "model.layers.0.self_attn.q_proj"));
    EXPECT_TRUE(shell("model.layers.?.mlp", "model.layers.0.mlp"));
    EXPECT_FALSE(shell("model.layers.?.mlp", "model.layers.10.mlp"));
    EXPECT_FALSE(shell("modelxlayers*", "model.layers.0"));
}

TEST(NamePattern, RefusesWhatItDoesNotUnderstandAndWhatTakesTooLong) {
    for (const char* const wrong :
         {"(", ")", "a)", "*", "a{2", "a{3,2}", "[", "(?i)a", "(?<n>a)", R"(\b)", "\\"})
        EXPECT_THROW(NamePattern::regular(wrong), std::invalid_argument) << wrong;
    EXPECT_THROW(NamePattern::regular(std::string(1000, '(')), std::invalid_argument);
    EXPECT_THROW((void)regular("((a*)*)*b", std::string(60, 'a')), std::length_error);
    EXPECT_THROW((void)regular("(((){999}){999}){999}", "a"), std::length_error);
}

}  // namespace
}  // namespace paretoken::cards
