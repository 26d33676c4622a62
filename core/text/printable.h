#pragma once
// Converts a text from outside to one line that is safe on a terminal, on a page and in a JSON file.
#include <cstddef>
#include <string>
#include <string_view>

namespace paretoken {

/// Returns one line of valid UTF-8 of at most `most` bytes: runs of blanks, control characters and separators
/// become one space, invalid bytes U+FFFD, and controls of direction are left out. A cut text ends in "…".
std::string printable_line(std::string_view text, std::size_t most = std::string_view::npos);

/// Returns whether a byte of valid UTF-8 is not the first one of its character.
constexpr bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns the bytes of the UTF-8 character at the front of `text` (not empty); 0 if invalid.
std::size_t utf8_length(std::string_view text);

}  // namespace paretoken
