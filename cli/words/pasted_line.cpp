#include "cli/words/pasted_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/words/shell/functions.h"
#include "cli/words/shell/known_values.h"
#include "cli/words/shell/splitting.h"
#include "core/error.h"
#include "core/text/lines.h"

namespace paretoken::cli {
namespace {

/// Removes the "#" at the beginning of each line, if all lines are comments and have options.
std::string without_comment_marks(std::string_view text) {
    std::string bare;
    for (std::string_view line : lines_in(text)) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (!line.empty() && !line.starts_with('#')) return std::string(text);
        line.remove_prefix(std::min(line.find_first_not_of('#'), line.size()));
        bare.append(line).append("\n");
    }
    return bare.find(" -") == std::string::npos ? std::string(text) : bare;
}

/// The length of the sign at the beginning of a text that web pages put in place of a blank or a dash.
std::size_t blank_at(std::string_view text) {
    constexpr std::array<std::string_view, 4> kBlanks = {"\u00A0", "\u202F", "\u2007", "\u2009"};
    const auto* const found =
        std::ranges::find_if(kBlanks, [&](std::string_view one) { return text.starts_with(one); });
    return found == kBlanks.end() ? 0 : found->size();
}
std::size_t dash_at(std::string_view text) {
    constexpr std::array<std::string_view, 8> kDashes = {"-",      "\u2010", "\u2011", "\u2012",
                                                         "\u2013", "\u2014", "\u2015", "\u2212"};
    const auto* const found =
        std::ranges::find_if(kDashes, [&](std::string_view one) { return text.starts_with(one); });
    return found == kDashes.end() ? 0 : found->size();
}

/// The plain dashes for those with which a text begins as an option, and their length there.
using Dashes = std::pair<std::string_view, std::size_t>;
Dashes dashes_at(std::string_view text) {
    std::size_t end = 0;
    for (std::size_t length = 1; length > 0; end += length) length = dash_at(text.substr(end));
    const std::string_view name = text.substr(end, text.find_first_of(" \t\n=", end) - end);
    if (name.empty() || !is_letter(name.front())) return {};
    return {blank_at(name.substr(1)) > 0 || name.size() == 1 ? "-" : "--", end};
}

/// Returns a text with the blanks, dashes and quotation marks of a keyboard in place of those that web pages
/// and word processors make of them. What stands in quotation marks stays as it is.
std::string with_plain_signs(std::string_view text) {
    constexpr std::array kMarks = {std::pair{"\u201C", "\u201D"}, std::pair{"\u201D", "\u201D"},
                                   std::pair{"\u2018", "\u2019"}, std::pair{"\u2019", "\u2019"}};
    if (std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0xC2; }))
        return std::string(text);
    std::string plain;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        const char c = rest.front();
        if (c == '\'' || c == '"') {
            std::size_t end = 1;
            while (end < rest.size() && rest[end] != c) end += c == '"' && rest[end] == '\\' ? 2 : 1;
            plain += rest.substr(0, end + 1);
            at += end + 1;
            continue;
        }
        const auto* const mark =
            std::ranges::find_if(kMarks, [&](const auto& one) { return rest.starts_with(one.first); });
        const std::size_t size = 3;  // of each mark, in bytes
        const bool is_apostrophe = !plain.empty() && is_of_name(plain.back());
        const std::size_t close = mark == kMarks.end() || is_apostrophe
                                      ? rest.npos
                                      : rest.substr(0, rest.find('\n')).find(mark->second, size);
        if (close != rest.npos) {
            const char quote = mark - kMarks.begin() < 2 ? '"' : '\'';
            std::string inside(rest.substr(size, close - size));
            for (const char* const of_json : {kMarks[0].first, kMarks[1].first})
                for (std::size_t place = 0;
                     quote == '\'' && (place = inside.find(of_json, place)) != std::string::npos;)
                    inside.replace(place, size, "\"");
            plain += quote + inside + quote;
            at += close + size;
            continue;
        }
        const bool begins = plain.empty() || std::string_view(" \t\n").find(plain.back()) != rest.npos;
        const auto [dashes, end] = begins && dash_at(rest) > 0 ? dashes_at(rest) : Dashes{};
        if (end > 0) {
            const bool is_plain = rest.substr(0, end).find_first_not_of('-') == rest.npos;
            plain += is_plain ? rest.substr(0, end) : dashes;
            at += end;
            continue;
        }
        const std::size_t blank = blank_at(rest);
        plain += blank > 0 ? ' ' : c;
        at += std::max<std::size_t>(blank, 1);
    }
    return plain;
}

}  // namespace

bool has_shell_variable(std::string_view text) {
    for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1))
        if (at + 1 < text.size() && (is_of_name(text[at + 1]) ||
                                     std::string_view("({@*").find(text[at + 1]) != std::string_view::npos))
            return true;
    return false;
}

std::vector<Words> commands_in(std::string_view text) {
    constexpr std::size_t kShown = 60;
    const std::string bare = without_comment_marks(with_plain_signs(text));
    Split written = split(bare);
    if (!written.open_quote.empty())
        throw UsageError(
            fmt::format("a quotation mark is not closed: {}", written.open_quote.substr(0, kShown)));
    return with_known_values(with_expanded_calls(std::move(written.commands)));
}

}  // namespace paretoken::cli
