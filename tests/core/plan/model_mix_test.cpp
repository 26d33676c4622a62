#include "core/plan/model_mix.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace paretoken {
namespace {

TEST(ModelMix, of_one_name_is_that_model) {
    EXPECT_EQ(parse_model_mix("org/model:7b"), (std::vector<ModelShare>{{"org/model:7b", 1}}));
    EXPECT_EQ(parse_model_mix(""), (std::vector<ModelShare>{{"", 1}}));
}

TEST(ModelMix, draws_each_model_as_often_as_its_share_says) {
    const auto mix = parse_model_mix("base=6,lora-a=3,lora-b=1");
    EXPECT_DOUBLE_EQ(mix[1].share, 0.3);
    std::map<std::string, int> seen;
    for (std::uint64_t i = 0; i < 10'000; ++i) ++seen[model_of(mix, 7, i)];
    EXPECT_NEAR(seen["base"], 6000, 250);
    EXPECT_NEAR(seen["lora-b"], 1000, 150);
    EXPECT_EQ(model_of(mix, 7, 5), model_of(mix, 7, 5));
}

TEST(ModelMix, refuses_shares_that_are_none) {
    for (const char* text : {"a=.5,b", "a=0,b=1", "a=-1,b=1", "a=x", "=1"})
        EXPECT_THROW(parse_model_mix(text), UsageError) << text;
}

}  // namespace
}  // namespace paretoken
