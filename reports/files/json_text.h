#pragma once
// Writes JSON strings for files that are written as text.
#include <string>
#include <string_view>

namespace paretoken::reports {

/// The text as a JSON string with its quotes; bytes that are not UTF-8 become question marks.
std::string json_text(std::string_view text);

}  // namespace paretoken::reports
