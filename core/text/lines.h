#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace paretoken {

/// Returns the lines of a text without their line feeds. A line feed at its end begins no further line.
inline std::vector<std::string_view> lines_in(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

}  // namespace paretoken
