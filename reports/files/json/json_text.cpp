#include "reports/files/json/json_text.h"

#include <fmt/format.h>

#include "core/text/printable.h"

namespace paretoken::reports {
std::string json_text(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const char c = text.front();
        if (length == 0)
            out += '?';
        else if (length > 1)
            out += text.substr(0, length);
        else if (c == '"' || c == '\\')
            out += fmt::format("\\{}", c);
        else if (static_cast<unsigned char>(c) < ' ')
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            out += c;
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + "\"";
}

}  // namespace paretoken::reports
