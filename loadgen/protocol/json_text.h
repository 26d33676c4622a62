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

/// Appends the messages of a prompt as [{"role":…,"content":…},…], leaving out those of the role `without`.
/// A prompt that is a text is one message of the user. If a message has parts, they replace its text; its
/// further fields follow. A prompt of token ids gives an empty list.
void append_messages(std::string& out, const Prompt& prompt, std::string_view without = {});

}  // namespace paretoken::protocol
