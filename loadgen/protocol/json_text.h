#pragma once
// Writes JSON as text, for the bodies of requests. No I/O.
#include <string>
#include <string_view>

#include "core/record/request.h"

namespace paretoken::protocol {

/// Appends `text` with JSON's escapes, without quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_escaped(std::string& out, std::string_view text);

/// Appends `text` as a JSON string.
void append_json_string(std::string& out, std::string_view text);

/// Appends [{"role":…,"content":…},…], leaving out messages of the role `without`. A text is one message of
/// the user; a message's parts replace its text. Token ids give an empty list.
void append_messages(std::string& out, const Prompt& prompt, std::string_view without = {});

}  // namespace paretoken::protocol
