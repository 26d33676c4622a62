#pragma once
// A dataset whose requests are the rows of a file. Each format has its own function that reads a row; the
// rest is common to all: the file is checked, hashed and indexed once, and a row is read again whenever it is
// needed. A row without a prompt gets a generated prompt of its length.
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

/// The content of one row.
struct Row {
    std::optional<Prompt> prompt = {};  ///< if absent, a prompt of `input_tokens` tokens is generated
    std::optional<std::int64_t> input_tokens = {};
    std::optional<std::int64_t> output_tokens = {};
    std::optional<double> at_s = {};         ///< time of the request in seconds; its zero is arbitrary
    std::vector<std::uint64_t> blocks = {};  ///< names of the prompt's blocks; equal names mean equal content
    std::string request_class = {};
    std::string slo = {};                   ///< limits: "ttft:500 tpot:20"; empty means the run's
    std::string conversation = {};          ///< name of its conversation; rows of equal name are its turns
    std::optional<std::int64_t> turn = {};  ///< number of the turn from 0, if the row has it
    std::vector<Messages> further = {};     ///< later turns, if this row holds several
    std::string model = {};
    std::string body = {};  ///< text of a JSON object that is merged into the request's body
    /// Why the row holds no request, as a continuation of "left out, "; empty if it holds one. A row of a
    /// trace with 0 input tokens or 0 output tokens holds none either.
    std::string_view unusable = {};
    std::vector<std::string> unknown_fields = {};  ///< names of fields that have no effect
};

/// A format: the layout of its files and the function that reads a row.
struct RowFormat {
    std::string_view name;
    RowLayout layout = RowLayout::lines;
    /// Reads a row; the returned row has a prompt, or else `input_tokens`, or it is unusable. `header` is the
    /// first line of a csv, and empty for other layouts. A wrong row is refused by place.refuse()
    /// (datasets/files/row_file.h), which throws UsageError. Thread-safe. `text` must have
    /// RowFile::kPadding readable bytes behind it.
    std::function<Row(std::string_view text, const std::string& header, const RowPlace& place)> read = {};
    std::int64_t block_tokens = 0;          ///< tokens per block, if rows have blocks
    std::uint32_t most_turns = UINT16_MAX;  ///< largest number of turns from one row; later ones are left out
    std::string_view known_fields = {};  ///< names of the fields of a row, for formats that tell unknown ones
};

/// Makes the dataset. The spec's field "osl" is the number of output tokens for rows that have none. Throws
/// the errors of RowFile (datasets/files/row_file.h) and of the format's reader, and UsageError if osl is
/// not a whole number from 1 to 1G, if osl is given although every row has a number of output tokens, if
/// the prose is too short, or if rows do not fit together: a time before the previous row's, times in some
/// rows only, more than 1,000 different SLOs, or turns that ConversationIndex::add()
/// (datasets/files/conversation_index.h) refuses. Rows that hold no request are left out and counted in
/// Dataset::notes(); UsageError is thrown if no row is left.
std::unique_ptr<Dataset> make_file_dataset(const DatasetOptions& options, const RowFormat& format);

/// Calls `visit` with every row of a file that holds a request, in order, and returns the notes on the others
/// (RowNotes::texts()). Throws the errors of RowFile and of the format's reader, and UsageError if no row
/// holds a request.
std::vector<std::string> for_each_row(
    const std::string& path, const RowFormat& format,
    const std::function<void(const Row& row, const RowPlace& place)>& visit);

}  // namespace paretoken::datasets
