#include "reports/files/json/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paretoken::reports {
namespace {

TEST(JsonText, is_what_a_json_parser_takes_back) {
    for (const std::string& text : {std::string("plain"), std::string("\"\\/\b\f\n\r\t\x01\x7f"),
                                    std::string("é → 模型 😀"), std::string("a\0b", 3), std::string()})
        EXPECT_EQ(nlohmann::json::parse(json_text(text)).get<std::string>(), text);
}

TEST(JsonText, bytes_that_are_no_utf8_become_question_marks) {
    EXPECT_EQ(json_text("a\xff\xc3z\xe2\x82"), "\"a??z??\"");
}

}  // namespace
}  // namespace paretoken::reports
