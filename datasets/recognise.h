#pragma once
// Recognises the format of a file of requests by the names of the fields of its first row, or of its columns.
#include <optional>
#include <string>

namespace paretoken::datasets {

/// Returns the dataset whose format the file probably has, from its first 64 KiB; nothing if none. Throws
/// UsageError with the reason for a known format that is not read, RuntimeError if it cannot be read.
std::optional<std::string> recognised_format(const std::string& path);

/// Returns whether a file has lines of values behind a header, and no JSON. Throws RuntimeError.
bool is_table(const std::string& path);

/// Returns recognised_format(). Throws UsageError naming the known formats when there is none.
std::string guessed_format(const std::string& path);

/// Returns guessed_format() for a table, and for other files recognised_format() or "custom".
std::string format_to_read(const std::string& path);

}  // namespace paretoken::datasets
