#include "loadgen/protocol/json_text.h"

#include <gtest/gtest.h>

namespace paretoken::protocol {
namespace {

TEST(JsonText, BytesThatAreNoUtf8BecomeReplacementCharacters) {
    const auto escaped = [](std::string_view text) {
        std::string out;
        append_json_escaped(out, text);
        return out;
    };
    EXPECT_EQ(escaped("a\xFF"
                      "b"),
              "a\uFFFDb");
    EXPECT_EQ(escaped("\xC3"), "\uFFFD");
    EXPECT_EQ(escaped("\xC0\xAF"), "\uFFFD\uFFFD");
    EXPECT_EQ(escaped("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
    EXPECT_EQ(escaped("\xF0\x9F\x98"), "\uFFFD\uFFFD\uFFFD");
    EXPECT_EQ(escaped("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

TEST(JsonText, MessagesOfARoleCanBeLeftOut) {
    const auto messages = [](const Prompt& prompt, std::string_view without) {
        std::string out;
        append_messages(out, prompt, without);
        return out;
    };
    const Messages prompt = {{.role = "system", .content = "s"}, {.role = "user", .content = "\"u\""}};
    EXPECT_EQ(messages(prompt, ""), R"([{"role":"system","content":"s"},{"role":"user","content":"\"u\""}])");
    EXPECT_EQ(messages(prompt, "system"), R"([{"role":"user","content":"\"u\""}])");
    EXPECT_EQ(messages(Messages{{.role = "user", .content = "x", .parts = R"([{"type":"text"}])"}}, ""),
              R"([{"role":"user","content":[{"type":"text"}]}])");
    EXPECT_EQ(messages(Messages{{.role = "assistant",
                                 .content = "",
                                 .parts = "null",
                                 .fields = R"("tool_calls":[{"id":"a"}],"x":1)"}},
                       ""),
              R"([{"role":"assistant","content":null,"tool_calls":[{"id":"a"}],"x":1}])");
    EXPECT_EQ(messages("x", ""), R"([{"role":"user","content":"x"}])");
}

}  // namespace
}  // namespace paretoken::protocol
