#include "datasets/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
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
    EXPECT_THAT(refusal_of(parse_spec("custom:isl=5"), file.path()), StartsWith("--dataset custom: "));
}

}  // namespace
}  // namespace paretoken::datasets
