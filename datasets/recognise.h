#pragma once
// Recognises the format of a file of requests by the names of the fields of its first row, or of its columns.
#include <optional>
#include <string>
#include <string_view>

namespace paretoken::datasets {

/// The reason why version 2 of Dynamo's agentic_mooncake is not read.
inline constexpr std::string_view kNoAgenticMooncake2 =
    "each of its \"dependencies\" has a pause of its own, and a turn here has one pause after the last of "
    "them; write JSON lines with \"input_tokens\", \"output_tokens\", \"hash_ids\", \"block_tokens\", "
    "\"job\" (the "
    "play), \"conversation\", \"id\", \"after\" and \"delay_s\" for --dataset turns";

/// Returns the dataset whose format the file probably has, from its first 64 KiB; nothing if none. Throws
/// UsageError with the reason for a known format that is not read, and for a file that cannot be.
std::optional<std::string> recognised_format(const std::string& path);

/// Returns whether a file has lines of values behind a header, and no JSON. Throws UsageError.
bool is_table(const std::string& path);

/// Returns recognised_format(). Throws UsageError naming the known formats when there is none.
std::string guessed_format(const std::string& path);

/// Returns guessed_format() for a table, and for other files recognised_format() or "custom".
std::string format_to_read(const std::string& path);

}  // namespace paretoken::datasets
