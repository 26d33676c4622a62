#pragma once
// Writes strings in JSON's form.
#include <string>
#include <string_view>

namespace paretoken::sim {

/// Appends `text` without enclosing quotes; control characters, quotes and backslashes in it are escaped.
void append_json_escaped(std::string& out, std::string_view text);

std::string json_string(std::string_view text);

}  // namespace paretoken::sim
