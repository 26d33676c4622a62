#include "datasets/expectation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>

namespace paretoken::datasets {
namespace {

constexpr std::array<std::string_view, 4> kNames{"exact", "regex", "contains", "number"};
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMostSearched = 64
                                      << 10;  // bytes: a regular expression recurses for every byte of a text

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::optional<double> number_of(std::string_view text) {
    std::string plain(text);
    std::erase(plain, ',');  // separators of thousands
    double value = 0;
    const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (error != std::errc{} || end != plain.data() + plain.size()) return std::nullopt;
    return value;
}

/// Returns the last number of a text: "-1,234.5" from "It is -1,234.5."
std::optional<double> last_number(std::string_view text) {
    const auto last = text.find_last_of(kDigits);
    if (last == std::string_view::npos) return std::nullopt;
    const auto inside = [&](std::size_t i) {
        return is_digit(text[i]) || ((text[i] == '.' || text[i] == ',') && i > 0 && is_digit(text[i - 1]) &&
                                     is_digit(text[i + 1]));
    };
    std::size_t begin = last;
    while (begin > 0 && inside(begin - 1)) --begin;
    const bool negative = begin > 0 && text[begin - 1] == '-' && (begin == 1 || !is_digit(text[begin - 2]));
    return number_of(text.substr(begin - (negative ? 1 : 0), last + 1 - begin + (negative ? 1 : 0)));
}

bool is_the_same(double a, double b) {
    constexpr double kRounding = 1e-9;
    return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

}  // namespace

std::string_view name_of(Expect expect) {
    return kNames[static_cast<std::size_t>(expect)];
}

std::string why_impossible(const Expectation& expectation) {
    if (expectation.kind == Expect::number) {
        const auto number = number_of(trimmed(expectation.text));
        if (!number || !std::isfinite(*number)) return "is not a number: " + expectation.text;
    }
    if (expectation.kind != Expect::regex) return {};
    try {
        const std::regex compiled(expectation.text, std::regex::ECMAScript);
    } catch (const std::regex_error&) {
        return "is not a regular expression: " + expectation.text;
    }
    return {};
}

bool is_met(const Expectation& expectation, std::string_view answer) {
    switch (expectation.kind) {
        case Expect::exact:
            return trimmed(answer) == trimmed(expectation.text);
        case Expect::contains:
            return answer.find(expectation.text) != std::string_view::npos;
        case Expect::number: {
            const auto wanted = number_of(trimmed(expectation.text));
            const auto said = last_number(answer);
            return wanted && said && is_the_same(*wanted, *said);
        }
        case Expect::regex: {
            const std::string searched(answer.substr(0, kMostSearched));
            return std::regex_search(searched, std::regex(expectation.text, std::regex::ECMAScript));
        }
    }
    return false;
}

}  // namespace paretoken::datasets
