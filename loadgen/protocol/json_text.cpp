#include "loadgen/protocol/json_text.h"

#include <fmt/format.h>

#include <iterator>

#include "core/text/printable.h"

namespace paretoken::protocol {

void append_json_escaped(std::string& out, std::string_view text) {
    std::size_t plain = 0;  // bytes at the front that need no escape
    const auto flush = [&] {
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        plain = 0;
    };
    while (plain < text.size()) {
        const auto byte = static_cast<unsigned char>(text[plain]);
        if (byte >= 0x80) {
            if (const std::size_t length = utf8_length(text.substr(plain))) {
                plain += length;
                continue;
            }
            flush();
            out += "\xEF\xBF\xBD";
        } else if (byte == '"' || byte == '\\') {
            flush();
            out += '\\';
            out += static_cast<char>(byte);
        } else if (byte < 0x20) {
            flush();
            switch (byte) {
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
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(byte));
            }
        } else {
            ++plain;
            continue;
        }
        text.remove_prefix(1);
    }
    flush();
}

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    append_json_escaped(out, text);
    out += '"';
}

namespace {

void append_role(std::string& out, std::string_view role) {
    out += "{\"role\":";
    append_json_string(out, role);
    out += ",\"content\":";
}

void append_message(std::string& out, const Message& message) {
    append_role(out, message.role);
    if (message.parts.empty()) {
        append_json_string(out, message.content);
    } else {
        out += message.parts;
    }
    if (!message.fields.empty()) out += ',';
    out += message.fields;
    out += '}';
}

}  // namespace

void append_messages(std::string& out, const Prompt& prompt, std::string_view without) {
    out += '[';
    if (const auto* text = std::get_if<std::string>(&prompt)) {
        append_role(out, "user");
        append_json_string(out, *text);
        out += '}';
    } else if (const auto* messages = std::get_if<Messages>(&prompt)) {
        bool first = true;
        for (const Message& message : *messages) {
            if (!without.empty() && message.role == without) continue;
            if (!first) out += ',';
            first = false;
            append_message(out, message);
        }
    }
    out += ']';
}

}  // namespace paretoken::protocol
