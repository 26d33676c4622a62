#include "datasets/files/row_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text/content_hash.h"
#include "tests/datasets/temporary_file.h"

namespace paretoken::datasets {
namespace {

using paretoken::testing::TemporaryFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Rows = std::vector<std::pair<std::string, std::size_t>>;

/// Returns the rows of the first pass with line numbers, after checking that every row is read again
/// unchanged.
Rows rows_of(std::string_view text, RowLayout layout) {
    const TemporaryFile file(text);
    Rows rows;
    const RowFile opened(file.path(), layout, [&](std::string_view row, const RowPlace& place) {
        rows.emplace_back(row, place.line);
    });
    const std::size_t headers = layout == RowLayout::csv ? 1 : 0;
    EXPECT_EQ(opened.size() + headers, rows.size());
    for (std::size_t i = 0; i < opened.size(); ++i) EXPECT_EQ(opened.row(i), rows[i + headers].first);
    return rows;
}

TEST(RowFile, HasTheLinesThatAreNotBlank) {
    EXPECT_THAT(rows_of("a\n\n  \r\n  b b \r\nc", RowLayout::lines),
                ElementsAre(Pair("a", 1), Pair("b b", 4), Pair("c", 5)));
    EXPECT_THAT(rows_of("\xef\xbb\xbf{}\n", RowLayout::lines), ElementsAre(Pair("{}", 1)));
    EXPECT_THAT(rows_of("h1,h2\n1,2\n\n3,4\n", RowLayout::csv),
                ElementsAre(Pair("h1,h2", 1), Pair("1,2", 2), Pair("3,4", 4)));
}

TEST(RowFile, HasTheElementsOfAnArray) {
    EXPECT_THAT(rows_of("[{\"a\": \"]},\\\"\"},\n {\"b\": [1, {}]} ,\n\n 7]\n", RowLayout::lines_or_array),
                ElementsAre(Pair("{\"a\": \"]},\\\"\"}", 1), Pair("{\"b\": [1, {}]}", 2), Pair("7", 4)));
    EXPECT_THAT(rows_of("{\"a\":1}\n{\"b\":2}\n", RowLayout::lines_or_array),
                ElementsAre(Pair("{\"a\":1}", 1), Pair("{\"b\":2}", 2)));
    EXPECT_THROW(rows_of("[]", RowLayout::lines_or_array), UsageError);
    EXPECT_THROW(rows_of("[{}, {\"a\": 1}", RowLayout::lines_or_array), UsageError)
        << "cut off before its end";
    EXPECT_THROW(rows_of("[{}, {\"a\"", RowLayout::lines_or_array), UsageError);
    EXPECT_THROW(rows_of("[{}] {}", RowLayout::lines_or_array), UsageError);
}

TEST(RowFile, FindsTheEndsOfObjectsWhereverTheirBracketsAndQuotesStand) {
    const std::vector<std::string> ends = {"{}", "[1]", "\"}\"", "\"\\\"}\"", "\"\\\\\"", "\"a|b\""};
    for (const std::string& end : ends)
        for (std::size_t before = 0; before < 70; ++before) {
            const std::string first = "{\"n\":" + std::string(before, '1') + "0,\"x\":" + end + "}";
            EXPECT_THAT(rows_of(first + "\n{\"y\":\n2}", RowLayout::objects),
                        ElementsAre(Pair(first, 1), Pair("{\"y\":\n2}", 2)))
                << end << " after " << before;
        }
}

TEST(RowFile, ReadsRowsThatLieAcrossTheBlocksItReads) {
    std::string lines;
    std::string array = "[";
    for (int i = 0; i < 40; ++i) {
        const std::string row = "{\"n\": \"" + std::string(static_cast<std::size_t>(97'000 + i), 'x') + "\"}";
        lines += row + "\n";
        array += (i == 0 ? "" : ", ") + row;
    }
    EXPECT_EQ(rows_of(lines, RowLayout::lines).size(), 40U);
    EXPECT_EQ(rows_of(array + "]", RowLayout::lines_or_array).size(), 40U);
}

TEST(RowFile, ALargeFileHasTheHashOfItsContentAsASmallOneHas) {
    struct Stop {};
    for (const int rows : {1, 17}) {
        std::string lines;
        for (int row = 0; row < rows; ++row) lines += std::string(std::size_t{1} << 20, 'x') + "\n";
        const TemporaryFile file(lines);
        const auto ignore = [](std::string_view, const RowPlace&) {};
        EXPECT_EQ(RowFile(file.path(), RowLayout::lines, ignore).content(), content_hash(lines));
        const auto stop = [](std::string_view, const RowPlace&) { throw Stop(); };
        EXPECT_THROW(RowFile(file.path(), RowLayout::lines, stop), Stop) << "its thread ends too";
    }
}

TEST(RowFile, RowsCanBeLeftOutAfterTheFirstPass) {
    const TemporaryFile file("a\nb\n\nc\nd\n");
    RowFile opened(file.path(), RowLayout::lines, [](std::string_view, const RowPlace&) {});
    opened.leave_out({0, 2});
    ASSERT_EQ(opened.size(), 2U);
    EXPECT_EQ(opened.row(0), "b");
    EXPECT_EQ(opened.row(1), "d");
}

TEST(RowFile, PackedFilesAreNamedWithACommandThatMakesRowsOfThem) {
    const auto refusal = [](std::string_view bytes) {
        try {
            rows_of(bytes, RowLayout::lines);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refusal("PAR1\x15\x04\x15"), AllOf(HasSubstr("a Parquet file"), HasSubstr("read_parquet(")));
    EXPECT_THAT(refusal("\x1f\x8b\x08"), AllOf(HasSubstr("packed with gzip"), HasSubstr("gzip -dc")));
    EXPECT_THAT(refusal("PK\x03\x04"), AllOf(HasSubstr("a zip file"), HasSubstr("unzip -p")));
    EXPECT_THAT(refusal("\x28\xb5\x2f\xfd"), HasSubstr("zstd -dc"));
    EXPECT_THAT(refusal("\xfd\x37zXZ"), HasSubstr("xz -dc"));
}

TEST(RowFile, NamesWhatCannotBeRead) {
    const auto refusal = [](const std::string& path) {
        try {
            const RowFile file(path, RowLayout::lines, [](std::string_view, const RowPlace&) {});
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refusal("/nowhere/at/all"), HasSubstr("/nowhere/at/all"));
    EXPECT_THAT(refusal("/tmp"), HasSubstr("/tmp"));
    EXPECT_THAT(refusal("/dev/zero"), HasSubstr("not a regular file"));
    const TemporaryFile huge(std::string(std::size_t{17} << 20, 'x'));
    EXPECT_THAT(refusal(huge.path()), HasSubstr(":1: the row is longer than 16 MiB"));
}

}  // namespace
}  // namespace paretoken::datasets
