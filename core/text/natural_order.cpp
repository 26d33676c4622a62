#include "core/text/natural_order.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace paretoken {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::size_t digits_from(std::string_view text, std::size_t begin) {
    std::size_t end = begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end;
}

/// The end of the number that begins at `begin`, or `begin` if none does. A point begins one (".25") unless
/// it is behind a digit, as in a version.
std::size_t number_end(std::string_view text, std::size_t begin) {
    const auto decimals_end = [&](std::size_t point) {
        return point < text.size() && text[point] == '.' ? digits_from(text, point + 1) : point + 1;
    };
    const std::size_t whole = digits_from(text, begin);
    if (whole == begin && begin > 0 && is_digit(text[begin - 1])) return begin;
    const std::size_t decimal = decimals_end(whole);
    const bool has_decimals = decimal > whole + 1;
    const bool is_version = has_decimals && decimals_end(decimal) > decimal + 1;
    return has_decimals && !is_version ? decimal : whole;
}

double number_in(std::string_view digits) {
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

}  // namespace

bool NaturalLess::operator()(std::string_view a, std::string_view b) const {
    std::size_t at_a = 0;
    std::size_t at_b = 0;
    while (at_a < a.size() && at_b < b.size()) {
        const std::size_t end_a = number_end(a, at_a);
        const std::size_t end_b = number_end(b, at_b);
        if ((end_a > at_a) != (end_b > at_b)) return end_a > at_a;
        if (end_a > at_a) {
            const double value_a = number_in(a.substr(at_a, end_a - at_a));
            const double value_b = number_in(b.substr(at_b, end_b - at_b));
            if (value_a != value_b) return value_a < value_b;
        } else if (a[at_a] != b[at_b]) {
            return static_cast<unsigned char>(a[at_a]) < static_cast<unsigned char>(b[at_b]);
        }
        at_a = std::max(at_a + 1, end_a);
        at_b = std::max(at_b + 1, end_b);
    }
    if (a.size() - at_a != b.size() - at_b) return a.size() - at_a < b.size() - at_b;
    return a < b;  // such as "2" and "02"
}

}  // namespace paretoken
