#include "core/text/printable.h"

namespace paretoken {
namespace {

/// Returns whether a character is a mark, embedding, override or isolate of the Unicode bidirectional
/// algorithm: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
bool turns_direction(std::string_view character) {
    if (character == "\xD8\x9C") return true;
    if (character.size() != 3 || character[0] != '\xE2') return false;
    const auto second = static_cast<unsigned char>(character[1]);
    const auto third = static_cast<unsigned char>(character[2]);
    return (second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xAA && third <= 0xAE))) ||
           (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

/// Returns whether a character is C0, space, DEL, C1, or a line or paragraph separator (U+2028, U+2029).
bool is_blank(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return first <= ' ' || first == 0x7F;
    if (character.size() == 2) return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
    return character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9";
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    const auto at = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    const auto continues = [&](std::size_t i) { return i < text.size() && continues_character(text[i]); };
    const unsigned first = at(0), second = at(1);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const bool overlong = first == 0xE0 && second < 0xA0;
        const bool surrogate = first == 0xED && second >= 0xA0;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool overlong = first == 0xF0 && second < 0x90;
        const bool beyond = first == 0xF4 && second >= 0x90;
        return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

std::string printable_line(std::string_view text, std::size_t most) {
    constexpr std::string_view kCut = "…";
    std::string line;
    std::size_t kept = 0;  // bytes of the line that leave enough space for kCut
    bool space = false;    // whether a space must precede the next character
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view character = length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
        if (turns_direction(character)) continue;
        if (is_blank(character)) {
            space = !line.empty();
            continue;
        }
        if (space) line += ' ';
        line += character;
        space = false;
        if (line.size() > most) {
            line.resize(kept);
            return most < kCut.size() ? line : line.append(kCut);
        }
        if (line.size() + kCut.size() <= most) kept = line.size();
    }
    return line;
}

}  // namespace paretoken
