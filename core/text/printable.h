#pragma once
// Converts a text from outside (a server, a file) to one line that is safe on a terminal, on a page and in a
// JSON file. The functions are pure.
#include <cstddef>
#include <string>
#include <string_view>

namespace paretoken {

/// Returns one line of valid UTF-8: runs of spaces, control characters, and line and paragraph separators
/// become one space (none at either end), invalid bytes become U+FFFD, and control characters for the
/// direction of writing are left out. It has at most `most` bytes. A cut text ends in "…", or is empty if
/// `most` is less than 3.
std::string printable_line(std::string_view text, std::size_t most = std::string_view::npos);

/// Returns whether a byte of valid UTF-8 is not the first one of its character.
constexpr bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns the number of bytes of the UTF-8 character at the front of `text`, which is not empty; 0 when it
/// is invalid.
std::size_t utf8_length(std::string_view text);

}  // namespace paretoken
