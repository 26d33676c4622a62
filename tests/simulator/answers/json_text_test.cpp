#include "simulator/answers/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paretoken::sim {
namespace {

TEST(JsonText, AnythingCanBeAJsonString) {
    std::string text;
    for (int c = 0; c < 128; ++c) text += static_cast<char>(c);
    EXPECT_EQ(nlohmann::json::parse(json_string(text)).get<std::string>(), text);
}

}  // namespace
}  // namespace paretoken::sim
