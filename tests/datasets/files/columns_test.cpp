#include "datasets/files/columns.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/datasets/temporary_file.h"
#include "tests/support/message_of.h"

namespace paretoken::datasets {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using File = paretoken::testing::TemporaryFile;

std::unique_ptr<Dataset> dataset_of_columns(std::string_view text, std::string_view spec) {
    const File file(text);
    return make_dataset({.spec = parse_spec(spec), .path = file.path()});
}

std::string refusal_of_columns(std::string_view text, std::string_view spec) {
    return message_of<UsageError>([&] { dataset_of_columns(text, spec); });
}

constexpr std::string_view kTexts = "columns:prompt=article,output_tokens=n,at_s=when,class=team";

TEST(Columns, of_a_table_and_of_json_lines_give_the_same_requests) {
    const auto table = dataset_of_columns(
        "\xef\xbb\xbfid,article,n,when,team\r\n"
        "1,\"He said \"\"no\"\", and\r\nleft.\",5,2026-01-01 00:00:00,a\r\n"
        "\r\n"
        "2,short,7.0,2026-01-01T00:00:02.5Z,b\r\n",
        kTexts);
    const auto lines = dataset_of_columns(
        R"({"id":1,"article":"He said \"no\", and\r\nleft.","n":5,"when":1767225600,"team":"a"})"
        "\n"
        R"({"id":2,"article":"short","n":"7","when":"1767225602500","team":"b"})",
        kTexts);
    for (const auto* const dataset : {&table, &lines}) {
        ASSERT_EQ((*dataset)->size(), 2U);
        EXPECT_EQ((*dataset)->request(0).prompt, Prompt("He said \"no\", and\r\nleft."));
        EXPECT_EQ((*dataset)->request(0).wanted_output_tokens, 5);
        EXPECT_EQ((*dataset)->request(1).prompt, Prompt("short"));
        EXPECT_EQ((*dataset)->request(1).wanted_output_tokens, 7);
        EXPECT_EQ((*dataset)->request(1).request_class, "b");
        EXPECT_EQ((*dataset)->recorded_time(1), std::chrono::milliseconds(2500));
    }
}

TEST(Columns, times_with_fractions_that_all_lie_within_a_second_as_milliseconds_are_seconds) {
    const std::string spec = "columns:timestamp=when,input_tokens=in,output_tokens=out";
    for (const char* const text : {"when,in,out\n0,600,4\n0.5,700,8\n2.5,700,8\n",
                                   "{\"when\":0,\"in\":6,\"out\":4}\n{\"when\":0.5,\"in\":7,\"out\":8}\n{"
                                   "\"when\":2.5,\"in\":7,\"out\":8}\n"}) {
        const auto fractions = dataset_of_columns(text, spec);
        EXPECT_EQ(fractions->recorded_time(2), std::chrono::milliseconds(2500)) << text;
        EXPECT_THAT(fractions->notes(), ::testing::ElementsAre(HasSubstr("read as seconds"))) << text;
        EXPECT_EQ(dataset_of_columns(text, spec + ",unit=ms")->recorded_time(2), Duration(2'500'000)) << text;
    }
    EXPECT_THAT(refusal_of_columns("when,in,out\nsoon,600,4\n", spec), HasSubstr("(the column 'when')"));
}

TEST(Columns, of_lengths_and_hash_ids_are_those_of_a_trace) {
    const auto trace =
        dataset_of_columns("ms;in;out;ids\n0;600;4;[1,2]\n50;1100;8;[1,2,3]\n",
                           "columns:timestamp=ms,input_tokens=in,output_tokens=out,hash_ids=ids,block=512");
    ASSERT_EQ(trace->size(), 2U);
    EXPECT_EQ(trace->request(0).wanted_input_tokens, 600);
    EXPECT_EQ(trace->request(1).wanted_output_tokens, 8);
    EXPECT_EQ(trace->recorded_time(1), std::chrono::milliseconds(50));
    const auto first = std::get<std::string>(trace->request(0).prompt);
    const auto second = std::get<std::string>(trace->request(1).prompt);
    EXPECT_EQ(first.substr(0, 1000), second.substr(0, 1000)) << "the first block is the same";
}

TEST(Columns, that_are_not_there_are_named_with_their_place) {
    EXPECT_THAT(refusal_of_columns("a,b\n1,2\n", "columns:prompt=question"),
                AllOf(HasSubstr(":2: "), HasSubstr("question")));
    EXPECT_THAT(refusal_of_columns(R"({"a":"x"})", "columns:prompt=question"),
                HasSubstr("has a field \"question\""));
    EXPECT_THAT(refusal_of_columns("q\n\"no end\nx\n", "columns:prompt=q"),
                HasSubstr("a quoted value has no end"));
    EXPECT_THAT(refusal_of_columns("q,t\nx,noon\n", "columns:prompt=q,at_s=t"),
                AllOf(HasSubstr("at_s"), HasSubstr("'t'")));
    EXPECT_THAT(refusal_of_columns("q,n\nx,-5\n", "columns:prompt=q,output_tokens=n"),
                HasSubstr("output_tokens"));
    EXPECT_THAT(refusal_of_columns("q\nx\n", "columns:output_tokens=q"), HasSubstr("columns:prompt="));
    EXPECT_THAT(refusal_of_columns("q\nx\n", "columns:prompt=q,colour=q"), HasSubstr("colour"));
}

TEST(Columns, of_a_table_are_utf8_and_lengths_are_whole_numbers) {
    constexpr std::string_view kPlain = "columns:prompt=prompt,output_tokens=output_tokens";
    EXPECT_THAT(refusal_of_columns("prompt,output_tokens\nplain,3\ncaf\xe9,3\n", kPlain),
                AllOf(HasSubstr(":3: "), HasSubstr("UTF-8"), HasSubstr("iconv")));
    EXPECT_EQ(dataset_of_columns("prompt,output_tokens\ncaf\u00e9,3\n", kPlain)->request(0).prompt,
              Prompt("caf\u00e9"));
    EXPECT_EQ(dataset_of_columns("prompt,output_tokens\nb,1e2\n", kPlain)->request(0).wanted_output_tokens,
              100);
    for (const char* const length : {"3.5", "2026-01-01T00:00:00Z", "many"})
        EXPECT_THAT(refusal_of_columns(fmt::format("prompt,output_tokens\nb,{}\n", length), kPlain),
                    AllOf(HasSubstr(":2: "), HasSubstr("\"output_tokens\""), HasSubstr("not a whole number")))
            << length;
}

TEST(Columns, may_be_absent_in_some_rows_as_fields_of_custom_are) {
    const auto lines = dataset_of_columns(R"({"article":"one","n":5,"team":"a"})"
                                          "\n"
                                          R"({"article":"two"})"
                                          "\n"
                                          R"({"article":"three","n":null,"team":"b"})",
                                          "columns:prompt=article,output_tokens=n,class=team,osl=9");
    ASSERT_EQ(lines->size(), 3U);
    EXPECT_EQ(lines->request(0).wanted_output_tokens, 5);
    EXPECT_EQ(lines->request(1).wanted_output_tokens, 9);
    EXPECT_EQ(lines->request(1).request_class, "");
    EXPECT_EQ(lines->request(2).wanted_output_tokens, 9);
    const auto one = dataset_of_columns("{\"q\":\"x\"}\n{\"other\":1}", "columns:prompt=q");
    EXPECT_EQ(one->size(), 1U);
    EXPECT_THAT(one->notes(),
                ::testing::ElementsAre(HasSubstr("their prompt is empty or missing (first in line 2)")));
    EXPECT_THAT(refusal_of_columns("{\"q\":\"x\"}\n{\"q\":\"y\"}", "columns:prompt=q,output_tokens=lenght"),
                AllOf(HasSubstr("lenght"), HasSubstr("no row")));
}

TEST(Columns, keep_quotes_and_brackets_of_prompts_as_they_stand) {
    const auto prompts = dataset_of_columns(
        "q,n\n[INST] hello,5\n{name}: hi,6\n\"[1,2]\",7\n6\" nails,8\nprint(\"\"),9\nlast,10\n",
        "columns:prompt=q,output_tokens=n");
    const std::vector<std::string> wanted = {"[INST] hello", "{name}: hi",  "[1,2]",
                                             "6\" nails",    "print(\"\")", "last"};
    ASSERT_EQ(prompts->size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(prompts->request(i).prompt, Prompt(wanted[i])) << i;
    EXPECT_EQ(dataset_of_columns("q\nhello, you\n", "columns:prompt=q,osl=4")->request(0).prompt,
              Prompt("hello, you"))
        << "a table with one column has no separators";
    EXPECT_THAT(refusal_of_columns("q,n\nTell me, please,5\n", "columns:prompt=q,output_tokens=n"),
                AllOf(HasSubstr(":2: "), HasSubstr("more fields than the header")));
    EXPECT_THAT(refusal_of_columns("q,n\n\"Tell me\",5,6\n", "columns:prompt=q,output_tokens=n"),
                HasSubstr("more fields than the header"));
}

TEST(Columns, whose_times_change_their_unit_are_refused) {
    EXPECT_THAT(refusal_of_columns("q,t\na,999999999\nb,1000000001\n", "columns:prompt=q,timestamp=t,osl=4"),
                HasSubstr("the same unit"));
}

TEST(Columns, with_prompts_are_not_made_up) {
    EXPECT_FALSE(makes_prompts(parse_spec("columns:prompt=q")));
    EXPECT_TRUE(makes_prompts(parse_spec("columns:input_tokens=n")));
}

}  // namespace
}  // namespace paretoken::datasets
