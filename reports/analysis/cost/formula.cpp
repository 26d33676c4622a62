#include "reports/analysis/cost/formula.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace paretoken::reports {
namespace {

/// Operators with a higher level bind first; longer signs stand before their beginnings.
struct Operator {
    std::string_view sign;
    int level;
    double (*apply)(double, double);
};
constexpr Operator kOperators[] = {{"<=", 1, [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
                                   {">=", 1, [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
                                   {"<", 1, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
                                   {">", 1, [](double a, double b) { return a > b ? 1.0 : 0.0; }},
                                   {"+", 2, [](double a, double b) { return a + b; }},
                                   {"-", 2, [](double a, double b) { return a - b; }},
                                   {"*", 3, [](double a, double b) { return a * b; }},
                                   {"/", 3, [](double a, double b) { return a / b; }},
                                   {"^", 4, [](double a, double b) { return std::pow(a, b); }}};

double called(std::string_view name, const std::vector<double>& a) {
    if (name == "min" && a.size() == 2) return std::min(a[0], a[1]);
    if (name == "max" && a.size() == 2) return std::max(a[0], a[1]);
    if (name == "ceil" && a.size() == 1) return std::ceil(a[0]);
    if (name == "exp" && a.size() == 1) return std::exp(a[0]);
    if (name == "if" && a.size() == 3) return a[0] != 0 ? a[1] : a[2];
    throw std::invalid_argument("formula with the function " + std::string(name));
}

/// Takes what it has read away from the front of `rest`.
struct Reader {
    std::string_view rest;
    const std::map<std::string, double>& names;

    void take(std::size_t count) {
        rest.remove_prefix(count);
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
    bool takes(std::string_view sign) {
        const bool here = rest.starts_with(sign);
        if (here) take(sign.size());
        return here;
    }
    double value(int level) {
        double left = operand();
        while (true) {
            const auto* const next = std::ranges::find_if(
                kOperators, [&](const Operator& one) { return rest.starts_with(one.sign); });
            if (next == std::end(kOperators) || next->level < level) return left;
            take(next->sign.size());
            left = next->apply(left, value(next->level + 1));
        }
    }
    double operand() {
        if (takes("(")) return closed(value(1));
        double number = 0;
        const auto [end, error] = std::from_chars(rest.begin(), rest.end(), number);
        const auto* const after =
            std::ranges::find_if_not(rest, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
        const std::string name(rest.begin(), after);
        take(static_cast<std::size_t>((error == std::errc() ? end : after) - rest.begin()));
        if (error == std::errc()) return number;
        if (!takes("(")) return names.at(name);
        std::vector<double> arguments{value(1)};
        while (takes(",")) arguments.push_back(value(1));
        return closed(called(name, arguments));
    }
    double closed(double value) {
        if (!takes(")")) throw std::invalid_argument("formula without ')' at '" + std::string(rest) + "'");
        return value;
    }
};

}  // namespace

double value_of(std::string_view formula, const std::map<std::string, double>& names) {
    Reader reader{formula, names};
    const double value = reader.value(1);
    if (!reader.rest.empty()) throw std::invalid_argument("formula at '" + std::string(reader.rest) + "'");
    return value;
}

}  // namespace paretoken::reports
