#include "datasets/audit/changing_part.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "core/text/letter_case.h"
#include "core/text/printable.h"

namespace paretoken::datasets {
namespace {

constexpr std::size_t kMostWords = 6;
constexpr std::size_t kMostBytes = 256;
constexpr std::size_t kAgreement = 64;
constexpr std::size_t kBefore = 32;
constexpr std::size_t kAfter = 24;
constexpr std::size_t kShown = 20;
constexpr std::string_view kBetweenWords = " \t\r\n\"'`<>()[]{}|=,;";

constexpr std::array<std::string_view, 6> kKinds{"date", "id", "number", "name", "whitespace", "text"};
constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDays{"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

bool is_between(char c) {
    return kBetweenWords.find(c) != std::string_view::npos;
}
bool is_space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// Returns the positions from `begin` on at which a word ends.
std::vector<std::size_t> ends_of_words(std::string_view text, std::size_t begin) {
    std::vector<std::size_t> ends{begin};
    const std::size_t limit = std::min(text.size(), begin + kMostBytes);
    for (std::size_t i = begin; i < limit && ends.size() <= 2 * kMostWords; ++i) {
        // Both ends of the characters between words count, so that white space can change as well.
        const bool turns = i > begin && is_between(text[i]) != is_between(text[i - 1]);
        if (turns) ends.push_back(i);
    }
    if (limit == text.size()) ends.push_back(limit);
    return ends;
}

bool starts_with_any(std::string_view word, const auto& names) {
    return std::ranges::find(names, lower_case(word.substr(0, 3))) != names.end();
}

bool any_word(std::string_view text, const auto& test) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(kBetweenWords), text.size());
        if (end > 0 && test(text.substr(0, end))) return true;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
}

/// Returns whether a word is part of a date: "2026-11-22", "10:15:33", "22.11.2026", "Nov", "Sunday".
bool is_date_word(std::string_view word) {
    if (starts_with_any(word, kMonths) && word.size() <= 9 && std::ranges::all_of(word, is_letter))
        return true;
    if (starts_with_any(word, kDays) && word.ends_with("day")) return true;
    const auto count = [&](char c) { return std::ranges::count(word, c); };
    const auto digits = std::ranges::count_if(word, is_digit);
    const auto separators = count('-') + count(':') + count('/') + count('.');
    const auto others = static_cast<std::ptrdiff_t>(word.size()) - digits - separators;
    return digits >= 3 && separators >= 1 && others <= 3 && (count('.') != 1 || separators > 1);
}

}  // namespace

std::string_view name_of(ChangeKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

std::optional<ChangingPart> changing_part(std::string_view earlier, std::string_view text) {
    const std::size_t shorter = std::min(earlier.size(), text.size());
    const auto differ =
        std::mismatch(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(shorter), earlier.begin());
    auto begin = static_cast<std::size_t>(differ.first - text.begin());
    if (begin == shorter) return std::nullopt;
    while (begin > 0 && !is_between(text[begin - 1])) --begin;
    std::optional<ChangingPart> found;
    std::size_t fewest = std::string_view::npos;
    const auto ends_before = ends_of_words(earlier, begin);
    for (const std::size_t end : ends_of_words(text, begin)) {
        if (end + kAgreement > text.size()) continue;
        for (const std::size_t end_before : ends_before) {
            const std::size_t bytes = end + end_before - 2 * begin;
            if (bytes == 0 || bytes >= fewest || end_before + kAgreement > earlier.size()) continue;
            if (text.substr(end, kAgreement) != earlier.substr(end_before, kAgreement)) continue;
            fewest = bytes;
            const std::size_t context = std::min(begin, kBefore);
            found = ChangingPart{.at = begin,
                                 .before = std::string(text.substr(begin - context, context)),
                                 .text = std::string(text.substr(begin, end - begin)),
                                 .after = std::string(text.substr(end, kAfter))};
        }
    }
    return found;
}

ChangeKind kind_of(std::string_view text) {
    if (std::ranges::all_of(text, is_space)) return ChangeKind::whitespace;
    if (any_word(text, is_date_word)) return ChangeKind::date;
    const auto digits = std::ranges::count_if(text, is_digit);
    const auto letters = std::ranges::count_if(text, is_letter);
    if (digits > 0 && letters == 0 && text.find('-') == std::string_view::npos) return ChangeKind::number;
    if (digits > 0) return ChangeKind::id;
    const auto first = std::ranges::find_if(text, is_letter);
    const bool capital = first != text.end() && std::isupper(static_cast<unsigned char>(*first)) != 0;
    return capital ? ChangeKind::name : ChangeKind::text;
}

std::string moved_back(const ChangingPart& part, std::string_view text) {
    const std::size_t context = part.before.empty() ? 0 : text.find(part.before);
    if (context == std::string_view::npos) return std::string(text);
    const std::size_t begin = context + part.before.size();
    const std::size_t end = text.find(part.after, begin);
    if (end == std::string_view::npos || end - begin > kMostBytes) return std::string(text);
    std::string moved(text.substr(0, begin));
    moved.append(text.substr(end)).append(text.substr(begin, end - begin));
    return moved;
}

std::string redacted(std::string_view text) {
    std::size_t bytes = 0;
    std::size_t characters = 0;
    while (bytes < text.size()) {
        if (!continues_character(text[bytes]) && ++characters > kShown)
            return std::string(text.substr(0, bytes)) + "…";
        ++bytes;
    }
    return std::string(text);
}

}  // namespace paretoken::datasets
