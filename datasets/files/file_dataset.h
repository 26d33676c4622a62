#pragma once
// A dataset whose requests are the rows of a file. What tells one from another is a function that reads a
// row; the rest is here: the file is checked, hashed and indexed once, and rows are read again when they are
// asked for. A row without a prompt gets one of its length.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/request.h"
#include "datasets/catalog.h"
#include "datasets/files/row_file.h"

namespace paretoken::datasets {

/// What a row says.
struct Row {
    std::optional<Prompt> prompt = {};  ///< nothing: one of `input_tokens` tokens is made up
    std::optional<std::int64_t> input_tokens = {};
    std::optional<std::int64_t> output_tokens = {};
    std::optional<double> at_s = {};         ///< when it was made, counted from any moment
    std::vector<std::uint64_t> blocks = {};  ///< names of the prompt's blocks; equal names, equal content
    std::string request_class = {};
    std::string slo = {};                   ///< as in RequestRecord
    std::string conversation = {};          ///< name; rows of one are its turns
    std::optional<std::int64_t> turn = {};  ///< where it says so, from 0
    std::vector<Messages> further = {};     ///< turns behind the first that this row holds too
    std::string model = {};
    std::string body = {};  ///< text of a JSON object that is merged into the request's
};

/// How the rows of a format are read.
struct RowFormat {
    std::string_view name;
    RowLayout layout = RowLayout::lines;
    /// `header` is the first line of a csv. Throws through `place` what is wrong. Thread-safe. `text` has
    /// RowFile::kPadding readable bytes behind it.
    Row (*read)(std::string_view text, const std::string& header, const RowPlace& place) = nullptr;
    std::int64_t block_tokens = 0;          ///< tokens of a block, where rows have blocks
    std::uint32_t most_turns = UINT16_MAX;  ///< of a row's; later ones are left out
};

/// Throws as RowFile, and UsageError where a row is wrong: times that go back, no tokens, a length that no
/// option gives.
std::unique_ptr<Dataset> make_file_dataset(const DatasetOptions& options, const RowFormat& format);

/// What a file holds, for `dataset describe` and `dataset convert`: calls `visit` with every row in order.
void for_each_row(const std::string& path, const RowFormat& format,
                  const std::function<void(const Row& row, const RowPlace& place)>& visit);

}  // namespace paretoken::datasets
