#include "simulator/answers/json_text.h"

#include <fmt/format.h>

#include <iterator>

namespace paretoken::sim {

void append_json_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
                } else {
                    out += c;
                }
        }
    }
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    append_json_escaped(out, text);
    return out += '"';
}

}  // namespace paretoken::sim
