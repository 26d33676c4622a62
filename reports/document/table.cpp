#include "reports/document/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace paretoken::reports {
namespace {

/// Digits with separators: "1234567.5" → "1,234,567.5"
std::string with_separators(std::string digits) {
    const std::size_t first = digits.find_first_of("0123456789");
    const std::size_t point = std::min(digits.find('.'), digits.size());
    for (std::size_t i = point; i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
    return digits;
}

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// The code point minus U+2000 of a character from U+2000 to U+206F in UTF-8 (E2 80 80 …).
unsigned code_below_2000(std::string_view text) {
    return ((static_cast<unsigned char>(text[1]) & 1U) << 6U) | (static_cast<unsigned char>(text[2]) & 0x3fU);
}

/// The number of bytes of a character that changes the direction of the text after it (U+061C, U+200E,
/// U+200F, U+202A to U+202E, U+2066 to U+2069); 0 if there is none. Such a character can show text in a
/// different order.
std::size_t direction_mark_at(std::string_view text) {
    if (text.starts_with("\xd8\x9c")) return 2;
    if (text.size() < 3 || text[0] != '\xe2' || (text[1] != '\x80' && text[1] != '\x81')) return 0;
    const unsigned code = code_below_2000(text);
    const bool turns =
        code == 0x0e || code == 0x0f || (code >= 0x2a && code <= 0x2e) || (code >= 0x66 && code <= 0x69);
    return turns ? 3 : 0;
}

std::string_view first_characters(std::string_view text, std::size_t width) {
    std::size_t i = 0;
    for (; i < text.size(); ++i)
        if (!continues_character(text[i]) && width-- == 0) break;
    return text.substr(0, i);
}

std::string padded(const std::string& text, std::size_t width, Align align) {
    const std::string blanks(width - std::min(width, display_width(text)), ' ');
    return align == Align::left ? text + blanks : blanks + text;
}

}  // namespace

std::string significant(double value, int digits) {
    if (std::isnan(value)) return "–";
    if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
    if (value == 0) return "0";
    const double rounded = std::stod(fmt::format("{:.{}e}", value, digits - 1));
    const int exponent = static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-9));
    if (exponent < -4) return fmt::format("{:.{}e}", value, digits - 1);
    return with_separators(fmt::format("{:.{}f}", rounded, std::max(0, digits - 1 - exponent)));
}

std::string significant(const std::optional<double>& value, double scale, int digits) {
    return value ? significant(*value * scale, digits) : "–";
}

std::string grouped(std::uint64_t count) {
    return with_separators(fmt::format("{}", count));
}

std::string tokens_text(double tokens) {
    constexpr double kShort = 100;
    const double whole = std::round(tokens);
    const bool is_whole = tokens >= kShort || significant(tokens) == significant(whole);
    return is_whole ? grouped(static_cast<std::uint64_t>(whole)) : significant(tokens);
}

std::string dollars(double value) {
    if (std::isfinite(value) && value >= 9.995 && value < 999.5) return fmt::format("{:.2f}", value);
    return significant(value);
}

TimeUnit time_unit_for(double typical_seconds) {
    if (typical_seconds >= 10) return {"s", 1};
    if (typical_seconds >= 1e-3) return {"ms", 1e3};
    return {"µs", 1e6};
}

std::string printable(std::string_view text, std::size_t width) {
    std::string line;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool is_c1_control =
            c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (is_c1_control) ++i;
        if (const std::size_t length = direction_mark_at(text.substr(i)); length > 0) {
            line += length == 2 ? "\\u061c" : fmt::format("\\u20{:02x}", code_below_2000(text.substr(i)));
            i += length - 1;
            continue;
        }
        if (c > ' ' && c != 0x7f && !is_c1_control)
            line += text[i];
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    if (!line.empty() && line.back() == ' ') line.pop_back();
    if (display_width(line) <= width) return line;
    return std::string(first_characters(line, width > 0 ? width - 1 : 0)) + "…";
}

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines(1);
    while (!text.empty()) {
        const std::size_t blank = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, blank);
        text.remove_prefix(std::min(blank + 1, text.size()));
        if (word.empty()) continue;
        if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > width)
            lines.emplace_back();
        if (!lines.back().empty()) lines.back() += ' ';
        lines.back() += word;
    }
    return lines;
}

std::string paragraph(std::string_view text, std::size_t indent) {
    std::string out;
    for (const std::string& line : wrapped(printable(text, 2000), 80 - indent))
        out += std::string(indent, ' ') + line + "\n";
    return out;
}

std::string labelled_text(std::string_view label, std::string_view text, std::size_t columns) {
    constexpr std::size_t kMostColumns = 4000;
    std::string lines;
    for (const std::string& line : wrapped(printable(text, kMostColumns), columns - kLabelledTextBegins))
        lines += fmt::format("  {:{}}{}\n", lines.empty() ? label : "", kLabelledTextBegins - 2, line);
    return lines;
}

std::string text_of(const Table& table, std::size_t indent) {
    std::vector<std::size_t> widths;
    for (const TableColumn& column : table.columns) widths.push_back(display_width(column.title));
    for (const auto& row : table.rows) {
        assert(row.size() == widths.size());
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
    }
    std::string text;
    const auto add_line = [&](auto&& cell_at) {
        std::string line(indent, ' ');
        for (std::size_t i = 0; i < widths.size(); ++i) {
            if (i > 0) line += "  ";
            line += padded(cell_at(i), widths[i], table.columns[i].align);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    };
    add_line([&](std::size_t i) -> const std::string& { return table.columns[i].title; });
    for (const auto& row : table.rows) add_line([&](std::size_t i) -> const std::string& { return row[i]; });
    return text;
}

}  // namespace paretoken::reports
