#pragma once
// Strings of JSON, for files that are written as text.
#include <string>
#include <string_view>

namespace paretoken::reports {

/// With its quotes; bytes that are no UTF-8 become question marks.
std::string json_text(std::string_view text);

}  // namespace paretoken::reports
