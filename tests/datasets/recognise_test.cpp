#include "datasets/recognise.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "datasets/files/row_file.h"
#include "tests/datasets/temporary_file.h"
#include "tests/support/message_of.h"

namespace paretoken::datasets {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string said_of(std::string_view text) {
    const paretoken::testing::TemporaryFile file(text);
    try {
        return guessed_format(file.path());
    } catch (const UsageError& error) {
        return error.what();
    }
}

TEST(Recognise, names_the_fields_of_a_row_of_no_known_format) {
    EXPECT_THAT(said_of(R"({"ask": "a", "reply": "b"})"),
                AllOf(HasSubstr("none of the known formats"), HasSubstr("the fields \"ask\", \"reply\""),
                      HasSubstr("columns:prompt=NAME")));
    EXPECT_THAT(said_of("plain text\n"), Not(HasSubstr("fields")));
}

TEST(Recognise, proposes_columns_of_lengths_where_the_values_are_numbers) {
    EXPECT_THAT(said_of("when,in_tok,out_tok\n2026-11-20T10:00:00Z,500,20\n"),
                HasSubstr("--dataset columns:input_tokens=in_tok,output_tokens=out_tok,timestamp=when,"));
    EXPECT_THAT(said_of("PromptTokens;GeneratedTokens\n500;20\n"),
                HasSubstr("columns:input_tokens=PromptTokens,output_tokens=GeneratedTokens,"));
    EXPECT_THAT(said_of("prompts,outputs\nhello,5\n"),
                HasSubstr("columns:prompt=prompts,output_tokens=outputs,"));
    EXPECT_THAT(said_of("prompt,prompt_tokens_count,output_tokens_count\nhello,12,7\n"),
                HasSubstr("columns:prompt=prompt,output_tokens=output_tokens_count,"));
}

TEST(Recognise, reads_a_table_whose_columns_have_plain_names) {
    EXPECT_EQ(said_of("prompt,max_tokens\nhello,5\n"), "columns:prompt=prompt,output_tokens=max_tokens");
    EXPECT_EQ(said_of("input_tokens;output_tokens\n12;5\n"),
              "columns:input_tokens=input_tokens,output_tokens=output_tokens");
    EXPECT_EQ(said_of("prompt,output_tokens\n12,5\n"),
              "columns:input_tokens=prompt,output_tokens=output_tokens")
        << "the prompts are lengths";
    for (const char* const values :
         {"hello,many", "hello,1e2", "hello,2026-01-01T00:00:00Z", "hello,", "\"line 1\nline, 2\",3", ",5"})
        EXPECT_EQ(said_of(fmt::format("prompt,output_tokens\r\n\r\n{}\r\nd,5\r\n", values)),
                  "columns:prompt=prompt,output_tokens=output_tokens")
            << values << ": the names decide, and the reader refuses what is no length";
    EXPECT_EQ(said_of("output_tokens;prompt\n5;hello, you\n"),
              "columns:prompt=prompt,output_tokens=output_tokens");
    EXPECT_EQ(said_of("input_tokens,output_tokens\n1e2,soon\n"),
              "columns:input_tokens=input_tokens,output_tokens=output_tokens");
    for (const char* const text :
         {"prompt,max_tokens,system\nhello,5,x\n", "prompt,prompt_tokens\nhello,5\n"})
        EXPECT_THAT(said_of(text), HasSubstr("none of the known formats")) << text;
}

TEST(Recognise, says_what_to_write_of_known_forms_that_are_not_read) {
    EXPECT_THAT(said_of(R"([{"role": "user", "content": "a"}])"),
                AllOf(HasSubstr("lists of messages"), HasSubstr("{\"messages\": [...]}")));
    EXPECT_THAT(said_of(R"({"custom_id": "1", "url": "/v1/chat/completions", "body": {"messages": []}})"),
                HasSubstr("OpenAI's batches"));
    EXPECT_THAT(said_of(R"([{"instruction": "a", "input": "b", "output": "c"}])"),
                HasSubstr("{prompt: (.instruction"));
    EXPECT_THAT(said_of(R"({"instruction": "a", "context": "b", "response": "c"})"),
                HasSubstr("{prompt: (.instruction"));
    EXPECT_THAT(said_of(R"({"prefix": "a", "prompt_0": "b", "prompt_1": "c"})"), HasSubstr("{conversation:"));
    EXPECT_THAT(said_of(R"({"type": "user", "uuid": "1", "parentUuid": null, "sessionId": "s"})"),
                AllOf(HasSubstr("Claude Code's sessions"), HasSubstr("\"delay_s\"")));
    EXPECT_THAT(said_of(R"({"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}})"),
                HasSubstr("Codex's sessions"));
    EXPECT_THAT(said_of(R"({"environment": "e", "trajectory": [], "history": []})"),
                HasSubstr("SWE-agent's"));
    EXPECT_EQ(said_of(R"({"instruction": "a", "response": "c"})"), "custom");
    EXPECT_EQ(said_of(R"({"text_input": "a"})"), "custom");
    EXPECT_EQ(said_of(R"({"conversation_id": "1", "conversation": [{"role": "user", "content": "a"}]})"),
              "sharegpt");
}

TEST(Recognise, does_not_wait_for_the_writer_of_a_pipe) {
    const std::string pipe = ::testing::TempDir() + fmt::format("recognise_pipe_{}", ::getpid());
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(paretoken::message_of<UsageError>([&] { guessed_format(pipe); }),
                HasSubstr("not a regular file"));
    const auto read = [&] { const RowFile file(pipe, RowLayout::lines, [](auto, const auto&) {}); };
    EXPECT_THAT(paretoken::message_of<UsageError>(read), HasSubstr("not a regular file"));
    ::unlink(pipe.c_str());
}

TEST(Recognise, names_what_is_no_text_or_came_in_place_of_the_data) {
    using namespace std::string_view_literals;
    EXPECT_THAT(said_of("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 672106\n"),
                AllOf(HasSubstr("pointer of Git LFS"), HasSubstr("git lfs pull")));
    EXPECT_THAT(said_of("\n<!DOCTYPE HTML><title>Sign in</title>"), HasSubstr("is a web page"));
    EXPECT_THAT(said_of("\xff\xfe{\0\"\0"sv), AllOf(HasSubstr("UTF-16"), HasSubstr("iconv")));
    EXPECT_THAT(said_of("\0{\0\""sv), HasSubstr("UTF-16BE"));
    EXPECT_THAT(said_of("BZh91AY&SY"), HasSubstr("bzip2 -dc"));
    EXPECT_THAT(said_of("\x04\x22\x4d\x18...."), HasSubstr("lz4 -dc"));
    EXPECT_THAT(said_of("ARROW1\0\0"sv), HasSubstr("an Arrow file"));
}

}  // namespace
}  // namespace paretoken::datasets
