#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/run/server_figures.h"
#include "loadgen/scrape/known_metrics.h"

namespace paretoken::scrape {
namespace {

TEST(EngineNames, are_those_of_the_newest_version_and_of_no_other_engine) {
    const auto vllm = names_of_engine("vllm");
    EXPECT_EQ(vllm.at("kv_usage"), "vllm:kv_cache_usage_perc");
    EXPECT_EQ(vllm.at("ttft"), "vllm:time_to_first_token_seconds");
    for (const std::string& engine : engines()) {
        const auto names = names_of_engine(engine);
        EXPECT_TRUE(names.contains("running")) << engine;
        for (const auto& [key, name] : names) EXPECT_THAT(name, testing::StartsWith(engine)) << key;
    }
    EXPECT_TRUE(names_of_engine("ollama").empty());
}

}  // namespace
}  // namespace paretoken::scrape
