#pragma once
// The mark with which some programs begin a file in UTF-8.
#include <string_view>

namespace paretoken {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Returns the text behind its mark, or the whole text if it has none.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
    return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

}  // namespace paretoken
