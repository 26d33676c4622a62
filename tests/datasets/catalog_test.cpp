#include "datasets/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "datasets/recognise.h"
#include "tests/datasets/temporary_file.h"

namespace paretoken::datasets {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal_of(const Spec& spec, const std::string& path = "") {
    try {
        make_dataset({.spec = spec, .path = path});
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Catalog, names_the_option_of_a_dataset_that_cannot_be_made) {
    EXPECT_THAT(refusal_of(parse_spec("foo")), AllOf(StartsWith("--dataset 'foo'"), HasSubstr("multi_turn")));
    EXPECT_THAT(refusal_of(parse_spec("custom")), StartsWith("--dataset 'custom' needs a file"));
    EXPECT_THAT(refusal_of(parse_spec("multi_turn:turn=3")),
                AllOf(StartsWith("--dataset multi_turn: "), HasSubstr("no field 'turn'")));
    EXPECT_THAT(refusal_of(parse_spec("shared_prefix:levels=0")), StartsWith("--dataset shared_prefix: "));
    EXPECT_THAT(refusal_of({"synthetic", {{"isl", "uniform:min=9,max=2"}}}),
                AllOf(StartsWith("--isl length"), HasSubstr("min is above max")));
    EXPECT_THAT(refusal_of({"synthetic", {{"osl", "many"}}}), StartsWith("--osl length 'many'"));
}

TEST(Catalog, names_file_and_line_of_a_row_that_is_wrong) {
    const paretoken::testing::TemporaryFile file("{\"prompt\": 7}\n");
    EXPECT_THAT(refusal_of(parse_spec("custom"), file.path()), StartsWith(file.path() + ":1: "));
    EXPECT_THAT(refusal_of(parse_spec("custom:ils=5"), file.path()), StartsWith("--dataset custom: "));
}

TEST(Catalog, refuses_the_lengths_of_prompts_where_something_else_decides_them) {
    const paretoken::testing::TemporaryFile file("{\"prompt\": \"a\"}\n");
    for (const CatalogRow& row : catalog()) {
        for (const auto& [field, option] :
             {std::pair{"isl", "--isl 64"}, std::pair{"ratio", "--range-ratio 64"}}) {
            const Spec spec{std::string(row.name), {{field, "64"}}};
            const std::string refusal = refusal_of(spec, row.format == nullptr ? "" : file.path());
            if (row.name == "synthetic") continue;
            EXPECT_THAT(refusal, AllOf(StartsWith(option), HasSubstr(std::string(row.name)),
                                       HasSubstr(std::string(row.prompt_lengths)), HasSubstr("leave")));
        }
    }
    EXPECT_EQ(refusal_of({"synthetic", {{"isl", "64"}}}), "accepted");
}

TEST(Catalog, the_example_of_each_format_is_read_by_it) {
    for (const CatalogRow& row : catalog()) {
        ASSERT_EQ(row.example.empty(), row.format == nullptr) << row.name;
        if (row.format == nullptr) continue;
        const paretoken::testing::TemporaryFile file(row.example);
        Spec spec{std::string(row.name), {}};
        if (row.name == "columns")
            spec.fields = {{"prompt", "question"}, {"output_tokens", "answer_tokens"}};
        else
            EXPECT_EQ(guessed_format(file.path()), row.name);
        const auto dataset = make_dataset({.spec = spec, .path = file.path()});
        EXPECT_GE(dataset->size(), 1U) << row.name;
        EXPECT_GT(dataset->request(0).wanted_output_tokens, 0) << row.name;
        for (const std::string& note : dataset->notes())
            EXPECT_THAT(note, ::testing::Not(HasSubstr("no effect"))) << row.name;
    }
}

}  // namespace
}  // namespace paretoken::datasets
