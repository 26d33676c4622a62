#include "datasets/custom_jsonl.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "core/error.h"

namespace paretoken::datasets {
namespace {

using ::testing::HasSubstr;

/// A file that is gone when the test is over.
class File {
  public:
    explicit File(std::string_view text) {
        static int files = 0;
        path_ = ::testing::TempDir() + "paretoken_custom_" + std::to_string(getpid()) + "_" +
                std::to_string(++files);
        std::ofstream(path_, std::ios::binary) << text;
    }
    ~File() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::unique_ptr<Dataset> dataset_of(std::string_view text, std::string_view spec = "custom") {
    const File file(text);
    return make_dataset({.spec = parse_spec(spec), .path = file.path()});
}

std::string refusal_of(std::string_view text) {
    try {
        dataset_of(text);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(CustomJsonl, ReadsPromptsConversationsAndTokenIds) {
    const auto dataset = dataset_of(
        "{\"prompt\": \"h\\u00e9llo\", \"output_tokens\": 5, \"class\": \"batch\"}\n"
        "\r\n"
        "{\"messages\": [{\"role\": \"system\", \"content\": \"be brief\"}, {\"role\": \"user\", "
        "\"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"text\", \"text\": \"b\"}]}]}\n"
        "{\"prompt\": [5, 6, 7]}");
    EXPECT_EQ(dataset->size(), 3u);
    EXPECT_EQ(dataset->request(0).prompt, Prompt("héllo"));
    EXPECT_EQ(dataset->request(0).wanted_output_tokens, 5);
    EXPECT_EQ(dataset->request(0).request_class, "batch");
    EXPECT_EQ(dataset->request(1).prompt, Prompt(Messages{{"system", "be brief"}, {"user", "ab"}}));
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, std::nullopt);
    EXPECT_EQ(dataset->request(2).prompt, Prompt(TokenIds{5, 6, 7}));
    EXPECT_EQ(dataset->request(2).wanted_input_tokens, 3);
}

TEST(CustomJsonl, BeginsAgainAtTheEnd) {
    const auto dataset = dataset_of("{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n");
    EXPECT_EQ(dataset->request(5).prompt, Prompt("b"));
    EXPECT_EQ(dataset->request(5).index, 5u);
    EXPECT_NE(dataset->request(5).id, dataset->request(1).id);
}

TEST(CustomJsonl, OslFillsInWhatLinesDoNotSay) {
    const auto dataset =
        dataset_of("{\"prompt\":\"a\"}\n{\"prompt\":\"b\",\"output_tokens\":9}\n", "custom:osl=3");
    EXPECT_EQ(dataset->request(0).wanted_output_tokens, 3);
    EXPECT_EQ(dataset->request(1).wanted_output_tokens, 9);
    EXPECT_EQ(dataset->mean_output_tokens(), 6);
}

TEST(CustomJsonl, AWrongLineIsNamed) {
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\"}\n{\"prompt\":\"b\"\n"), HasSubstr(":2: not JSON"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\"}\n\n{\"text\":\"b\"}\n"), HasSubstr(":3: neither"));
    EXPECT_THAT(refusal_of("[1]"), HasSubstr(":1: no JSON object"));
    EXPECT_THAT(refusal_of("{\"prompt\":7}"), HasSubstr("neither text nor token ids"));
    EXPECT_THAT(refusal_of("{\"prompt\":[]}"), HasSubstr("empty"));
    EXPECT_THAT(refusal_of("{\"prompt\":[-1]}"), HasSubstr("no token id"));
    EXPECT_THAT(refusal_of("{\"messages\":[{\"content\":\"x\"}]}"), HasSubstr("lacks \"role\""));
    EXPECT_THAT(refusal_of("{\"messages\":[]}"), HasSubstr("empty"));
    EXPECT_THAT(refusal_of("{\"prompt\":\"a\",\"output_tokens\":0}"), HasSubstr("\"output_tokens\""));
    EXPECT_THAT(refusal_of("\n\n"), HasSubstr("holds no requests"));
}

TEST(CustomJsonl, AFileThatCannotBeReadIsNamed) {
    try {
        make_dataset({.spec = parse_spec("custom:path=/nowhere/at/all.jsonl")});
        FAIL();
    } catch (const RuntimeError& error) {
        EXPECT_THAT(error.what(), HasSubstr("/nowhere/at/all.jsonl"));
    }
    EXPECT_THROW(make_dataset({.spec = parse_spec("custom:path=/tmp")}), RuntimeError);
    EXPECT_THROW(make_dataset({.spec = parse_spec("custom")}), UsageError);
}

TEST(CustomJsonl, content_follows_what_the_file_holds_and_not_its_name) {
    const std::string one = R"({"prompt": "a"})";
    EXPECT_EQ(dataset_of(one)->content().size(), 16U);
    EXPECT_EQ(dataset_of(one)->content(), dataset_of(one)->content());
    EXPECT_NE(dataset_of(one)->content(), dataset_of(R"({"prompt": "b"})")->content());
    EXPECT_EQ(make_dataset({.spec = parse_spec("synthetic")})->content(), "");
}

TEST(CustomJsonl, file_is_the_path_or_the_field_of_the_spec_and_must_be_given) {
    EXPECT_EQ(file_of(parse_spec("custom"), "a"), "a");
    EXPECT_EQ(file_of(parse_spec("custom:path=b"), ""), "b");
    EXPECT_EQ(file_of(parse_spec("synthetic"), ""), "");
    EXPECT_THROW(file_of(parse_spec("custom"), ""), UsageError);
    EXPECT_THROW(file_of(parse_spec("sonnet"), ""), UsageError);
}

}  // namespace
}  // namespace paretoken::datasets
