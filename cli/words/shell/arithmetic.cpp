#include "cli/words/shell/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "cli/words/shell/splitting.h"

namespace paretoken::cli {
namespace {

class Computation {
  public:
    Computation(std::string_view text, const ValueOf& value_of) : text_(text), value_of_(value_of) {}

    std::optional<std::int64_t> value() {
        const auto result = choice();
        return skip_blanks() == '\0' ? result : std::nullopt;
    }

  private:
    using Number = std::optional<std::int64_t>;

    char skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    /// A number above 2^31 is no number of requests, tokens or users; two smaller ones have a product.
    static Number within(std::int64_t number) {
        constexpr std::int64_t kMost = std::int64_t{1} << 31U;
        return std::abs(number) <= kMost ? Number(number) : std::nullopt;
    }
    Number choice() {
        const Number condition = comparison();
        if (skip_blanks() != '?') return condition;
        ++at_;
        const Number if_true = nested();
        if (skip_blanks() != ':') return std::nullopt;
        ++at_;
        const Number if_false = nested();
        if (!condition) return std::nullopt;
        return *condition != 0 ? if_true : if_false;
    }
    Number comparison() {
        const Number left = sum_of_terms();
        skip_blanks();
        const std::string_view rest = text_.substr(at_);
        constexpr std::array<std::string_view, 6> kOperators = {"<=", ">=", "==", "!=", "<", ">"};
        const auto* const sign =
            std::ranges::find_if(kOperators, [&](std::string_view one) { return rest.starts_with(one); });
        if (sign == kOperators.end()) return left;
        at_ += sign->size();
        const Number right = sum_of_terms();
        if (!left || !right) return std::nullopt;
        const bool holds = *sign == "<="   ? *left <= *right
                           : *sign == ">=" ? *left >= *right
                           : *sign == "==" ? *left == *right
                           : *sign == "!=" ? *left != *right
                           : *sign == "<"  ? *left < *right
                                           : *left > *right;
        return holds ? 1 : 0;
    }
    Number sum_of_terms() {
        Number sum = product();
        for (char c = skip_blanks(); sum && (c == '+' || c == '-'); c = skip_blanks()) {
            ++at_;
            const Number next = product();
            sum = next ? within(c == '+' ? *sum + *next : *sum - *next) : std::nullopt;
        }
        return sum;
    }
    Number product() {
        Number product = factor();
        for (char c = skip_blanks(); product && (c == '*' || c == '/' || c == '%'); c = skip_blanks()) {
            ++at_;
            const Number next = factor();
            if (!next || (c != '*' && *next == 0)) return std::nullopt;
            product = within(c == '*' ? *product * *next : c == '/' ? *product / *next : *product % *next);
            if (!product) return std::nullopt;
        }
        return product;
    }
    Number nested() {
        constexpr int kDeepest = 64;
        if (++depth_ > kDeepest) return std::nullopt;
        const Number inner = choice();
        --depth_;
        return inner;
    }
    Number factor() {
        if (skip_blanks() == '(') {
            ++at_;
            const Number inner = nested();
            return skip_blanks() == ')' && ++at_ > 0 ? inner : std::nullopt;
        }
        std::string word;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (is_of_name(c))
                word += c;
            else if (std::string_view("${}").find(c) == std::string_view::npos)
                break;
        }
        const bool is_name = !word.empty() && is_letter(word.front());
        if (const auto value = is_name ? value_of_(word) : std::nullopt) word = *value;
        constexpr std::size_t kMostDigits = 9;
        const bool is_octal = word.size() > 1 && word.front() == '0';
        const bool is_number = !word.empty() && word.size() <= kMostDigits && !is_octal &&
                               std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c); });
        return is_number ? Number(std::strtoll(word.c_str(), nullptr, 10)) : std::nullopt;
    }

    std::string_view text_;
    const ValueOf& value_of_;
    std::size_t at_ = 0;
    int depth_ = 0;  ///< open parentheses
};

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n\""), text.size()));
    return text.substr(0, text.find_last_not_of(" \t\n\"") + 1);
}

/// "n += 2" as "n=$((n+(2)))"; empty if the statement sets nothing.
std::string assignment_in(std::string_view statement) {
    statement = trimmed(statement);
    for (const std::string_view sign : {"++", "--"})
        if (statement.starts_with(sign))
            return assignment_in(fmt::format("{}{}=1", statement.substr(2), sign[0]));
    const std::size_t end =
        static_cast<std::size_t>(std::ranges::find_if_not(statement, is_of_name) - statement.begin());
    if (end == 0 || !is_letter(statement.front())) return {};
    const std::string_view name = statement.substr(0, end);
    const std::string_view rest = trimmed(statement.substr(end));  // "*= 2"
    for (const std::string_view sign : {"++", "--"})
        if (rest == sign) return fmt::format("{0}=$(({0}{1}1))", name, sign[0]);
    if (rest.starts_with('=') && !rest.starts_with("=="))
        return fmt::format("{}=$(({}))", name, trimmed(rest.substr(1)));
    const std::size_t equals = rest.find('=');
    const bool has_operator = equals != std::string_view::npos && equals > 0 && equals < 3 &&
                              rest.substr(0, equals).find_first_not_of("+-*/%&|^<>") == rest.npos &&
                              rest.substr(0, equals) != "<" && rest.substr(0, equals) != ">";
    if (!has_operator) return {};
    return fmt::format("{0}=$(({0}{1}({2})))", name, rest.substr(0, equals),
                       trimmed(rest.substr(equals + 1)));
}

}  // namespace

std::optional<std::int64_t> value_of_computation(std::string_view text, const ValueOf& value_of) {
    return Computation(text, value_of).value();
}

Words assignments_in_computation(std::string_view text) {
    Words assignments;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t end = begin;
        for (int depth = 0; end < text.size() && (text[end] != ',' || depth > 0); ++end)
            depth += static_cast<int>(text[end] == '(') - static_cast<int>(text[end] == ')');
        if (std::string one = assignment_in(text.substr(begin, end - begin)); !one.empty())
            assignments.push_back(std::move(one));
        begin = end + 1;
    }
    return assignments;
}

std::optional<std::string_view> computation_in(std::string_view word) {
    if (!word.starts_with("((") || !word.ends_with("))")) return std::nullopt;
    return word.substr(2, word.size() - 4);
}

std::set<std::string> names_in(std::string_view text) {
    std::set<std::string> names;
    std::string name;
    for (const char c : std::string(text) + ' ')
        if (is_of_name(c))
            name += c;
        else if (!name.empty())
            names.insert(std::exchange(name, {}));
    return names;
}

}  // namespace paretoken::cli
