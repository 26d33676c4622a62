#pragma once
// Recognises the format of a file of requests by the names of the fields of its first row, or of its columns.
#include <optional>
#include <string>

namespace paretoken::datasets {

/// Returns the name of the dataset whose format the file probably has, from its first 64 KiB; nothing if it
/// looks like none. Throws UsageError, with the reason, if the file has a format that is known but not read;
/// RuntimeError when the file cannot be read.
std::optional<std::string> recognised_format(const std::string& path);

/// Returns whether a file has lines of values behind a header, and no JSON. Throws RuntimeError when it
/// cannot be read.
bool is_table(const std::string& path);

/// Returns recognised_format(). Throws UsageError naming the known formats when there is none.
std::string guessed_format(const std::string& path);

}  // namespace paretoken::datasets
