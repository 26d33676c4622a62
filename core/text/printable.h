#pragma once
// A text from elsewhere (a server, a file) as one line that a terminal, a page and a JSON file take as it
// looks. Pure.
#include <cstddef>
#include <string>
#include <string_view>

namespace paretoken {

/// One line of valid UTF-8: runs of white space and control characters become one space, bytes that are no
/// UTF-8 become U+FFFD, and characters that change the direction of writing are left out. At most `most`
/// bytes; what was cut ends in "…".
std::string printable_line(std::string_view text, std::size_t most = std::string_view::npos);

/// Length of the UTF-8 character at the front of `text`; 0 when it is none.
std::size_t utf8_length(std::string_view text);

}  // namespace paretoken
