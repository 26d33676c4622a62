#pragma once
// Writes a JSON string, for files whose JSON is written without a library.
#include <string>
#include <string_view>

namespace paretoken::reports {

/// The text as a JSON string with its quotes. Each byte that is not valid UTF-8 becomes a question mark.
std::string json_text(std::string_view text);

}  // namespace paretoken::reports
