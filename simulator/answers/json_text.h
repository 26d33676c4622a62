#pragma once
// Strings as JSON writes them.
#include <string>
#include <string_view>

namespace paretoken::sim {

/// Without the quotes; control characters, quotes and backslashes escaped.
void append_json_escaped(std::string& out, std::string_view text);

/// With its quotes.
std::string json_string(std::string_view text);

}  // namespace paretoken::sim
