#include "cli/words/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/words/pasted_line.h"

namespace paretoken::cli {
namespace {

using ::testing::ElementsAre;

TEST(Manifest, is_yaml_with_commands) {
    EXPECT_TRUE(is_manifest("apiVersion: batch/v1\nspec:\n  containers:\n  - image: i\n    args: [a]\n"));
    EXPECT_TRUE(is_manifest("services:\n  a:\n    image: i\n    command: b\n"));
    EXPECT_FALSE(is_manifest("vllm bench serve --model M"));
    EXPECT_FALSE(is_manifest("export A=b\n# image: i\ncommand: c"));
}

std::vector<std::string> last_command_of(const char* json) {
    return commands_in(script_of_manifest(json)).back();
}

TEST(Manifest, has_the_words_of_containers_with_their_variables) {
    EXPECT_THAT(last_command_of(R"x({"spec": {"containers": [{"image": "x/tool:1", "command": ["tool"],
                 "args": ["run", "--url=$(URL)", "{\"a\":1}"], "env": [{"name": "URL", "value": "http://h"}]}]}})x"),
                ElementsAre("tool", "run", "--url=http://h", R"({"a":1})"));
    EXPECT_THAT(last_command_of(R"x({"image": "x/tool:1", "args": ["--a", 3]})x"),
                ElementsAre("x/tool:1", "--a", "3"));
    EXPECT_THAT(last_command_of(R"x({"image": "i", "command": ["sh", "-c"], "args": ["cd x; tool --a b"]})x"),
                ElementsAre("tool", "--a", "b"));
    EXPECT_THAT(last_command_of(R"x({"services": {"a": {"image": "x/tool", "environment": ["N=4"],
                 "command": "run --n ${N}"}}})x"),
                ElementsAre("x/tool", "run", "--n", "4"));
    EXPECT_THAT(last_command_of(R"x({"jobs": {"steps": [{"run": "tool \\\n  --a b\n"}]}})x"),
                ElementsAre("tool", "--a", "b"));
}

}  // namespace
}  // namespace paretoken::cli
