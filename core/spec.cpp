#include "core/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.h"

namespace paretoken {
namespace {

constexpr std::size_t kMostRungs = 10'000;

/// The plain decimal number at the start of a text, and the rest. There is none in "", "inf", "nan", hex.
struct NumberAndRest {
    double number = 0;
    std::string_view rest;
};

std::optional<NumberAndRest> leading_number(std::string_view text) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
    return NumberAndRest{number, {stop, static_cast<std::size_t>(end - stop)}};
}

/// Returns a whole number, so that its product with a whole number is exact within double precision.
std::optional<double> nanoseconds_per(std::string_view unit) {
    if (unit.empty() || unit == "s") return 1e9;
    if (unit == "ms") return 1e6;
    if (unit == "us") return 1e3;
    if (unit == "ns") return 1;
    if (unit == "m" || unit == "min") return 60e9;
    if (unit == "h") return 3600e9;
    return std::nullopt;
}

std::optional<double> factor_of(std::string_view suffix) {
    if (suffix.empty()) return 1;
    if (suffix == "k" || suffix == "K") return 1e3;
    if (suffix == "M") return 1e6;
    if (suffix == "G") return 1e9;
    return std::nullopt;
}

std::optional<double> scaled_number(std::string_view text) {
    const auto parsed = leading_number(text);
    if (!parsed) return std::nullopt;
    const auto factor = factor_of(parsed->rest);
    if (!factor || !std::isfinite(parsed->number * *factor)) return std::nullopt;
    return parsed->number * *factor;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

struct Range {
    double first = 0;
    double last = 0;
    std::optional<double> step = {};  ///< step; nothing: by doubling
};

[[noreturn]] void refuse_ladder(std::string_view text, std::string_view why) {
    throw UsageError(fmt::format(
        "'{}': {}; expected a list like 1,2,4, a doubling range like 1..64, or steps like 8..64:8", text,
        why));
}

double rung(std::string_view text, std::string_view ladder, Rungs rungs) {
    constexpr double kMost = 1e9;
    constexpr double kLeast = 1e-6;
    const auto value = scaled_number(text);
    const bool whole = rungs == Rungs::whole;
    if (!value || *value > kMost || (whole && (*value < 1 || *value != std::floor(*value))))
        refuse_ladder(ladder, fmt::format("'{}' is not a {} from {} to 1000000000", text,
                                          whole ? "whole number" : "number", whole ? "1" : "0.000001"));
    if (*value < kLeast)
        refuse_ladder(ladder, fmt::format("'{}' is not a number of at least 0.000001", text));
    return *value;
}

Range parse_range(std::string_view item, std::string_view ladder, Rungs rungs) {
    const auto dots = item.find("..");
    if (dots == std::string_view::npos) {
        const double only = rung(item, ladder, rungs);
        return {only, only, 1};
    }
    const auto colon = item.find(':', dots);
    const auto last = item.substr(dots + 2, colon == std::string_view::npos ? colon : colon - dots - 2);
    Range range{rung(item.substr(0, dots), ladder, rungs), rung(last, ladder, rungs)};
    if (colon != std::string_view::npos) range.step = rung(item.substr(colon + 1), ladder, rungs);
    if (range.last < range.first) refuse_ladder(ladder, "the range ends before it begins");
    return range;
}

/// Appends a range. Steps are multiplied and not added up, so that 0.1..1:0.1 has exact values.
void append_range(const Range& range, std::string_view ladder, std::vector<double>& rungs) {
    constexpr double kRounding = 1e-9;
    for (std::size_t i = 0;; ++i) {
        const auto steps = static_cast<double>(i);
        const double value =
            range.step ? range.first + steps * *range.step : std::ldexp(range.first, static_cast<int>(i));
        if (value >= range.last * (1 - kRounding)) break;
        if (rungs.size() >= kMostRungs) refuse_ladder(ladder, fmt::format("more than {} steps", kMostRungs));
        rungs.push_back(value);
    }
    rungs.push_back(range.last);
}

}  // namespace

Duration parse_duration(std::string_view text) {
    constexpr double kLongest = 1e18;  // nanoseconds, 31 years
    double nanoseconds = 0;
    double larger_unit = kLongest;  // that of the part before
    std::string_view rest = text;
    do {
        const auto parsed = leading_number(rest);
        const std::size_t digit = parsed ? parsed->rest.find_first_of("0123456789") : std::string_view::npos;
        const auto unit = parsed ? nanoseconds_per(parsed->rest.substr(0, digit)) : std::nullopt;
        if (unit) nanoseconds += parsed->number * *unit;
        const bool has_no_unit = parsed && parsed->rest.empty() && rest.size() != text.size();
        if (!unit || has_no_unit || parsed->number < 0 || *unit >= larger_unit || nanoseconds > kLongest)
            throw UsageError(
                fmt::format("'{}' is not a duration; expected a number with h, m, s, ms, us or "
                            "ns, e.g. 30s, 1.5m or 1m30s",
                            text));
        larger_unit = *unit;
        rest = digit == std::string_view::npos ? "" : parsed->rest.substr(digit);
    } while (!rest.empty());
    return Duration(std::llround(nanoseconds));
}

Duration parse_milliseconds(std::string_view text) {
    const auto parsed = leading_number(text);
    return parse_duration(parsed && parsed->rest.empty() ? std::string(text) + "ms" : std::string(text));
}

std::string text_of(Duration duration) {
    struct Unit {
        Duration length;
        std::string_view name;
    };
    constexpr std::array kUnits = {Unit{std::chrono::seconds(1), "s"},
                                   Unit{std::chrono::milliseconds(1), "ms"},
                                   Unit{std::chrono::microseconds(1), "us"}};
    for (const Unit& unit : kUnits) {
        if (duration % unit.length == Duration{})
            return fmt::format("{}{}", duration / unit.length, unit.name);
    }
    return fmt::format("{}ns", duration.count());
}

double parse_number(std::string_view text) {
    const auto value = scaled_number(text);
    if (!value) throw UsageError(fmt::format("'{}' is not a number; expected e.g. 8, 1.5 or 4k", text));
    return *value;
}

std::uint64_t parse_count(std::string_view text) {
    constexpr double kMost = 1e15;  // doubles are exact well beyond it
    const auto value = scaled_number(text);
    if (!value || *value < 0 || *value > kMost || *value != std::floor(*value)) {
        throw UsageError(
            fmt::format("'{}' is not a count; expected a whole number, e.g. 500, 64k or 2M", text));
    }
    return static_cast<std::uint64_t>(*value);
}

bool is_plain_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
}

std::vector<double> parse_ladder(std::string_view text, Rungs rungs) {
    std::vector<double> ladder;
    for (const auto item : split(text, ',')) append_range(parse_range(item, text, rungs), text, ladder);
    std::ranges::sort(ladder);
    ladder.erase(std::unique(ladder.begin(), ladder.end()), ladder.end());
    return ladder;
}

double Spec::number(const std::string& key) const {
    const auto field = fields.find(key);
    if (field == fields.end()) throw UsageError(fmt::format("'{}' needs {}=NUMBER", name, key));
    const auto value = scaled_number(field->second);
    if (!value) throw UsageError(fmt::format("'{}': {}={} is not a number", name, key, field->second));
    return *value;
}

double Spec::number_or(const std::string& key, double otherwise) const {
    return fields.contains(key) ? number(key) : otherwise;
}

std::string Spec::text_or(const std::string& key, std::string_view otherwise) const {
    const auto field = fields.find(key);
    return field == fields.end() ? std::string(otherwise) : field->second;
}

void Spec::expect_only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : fields) {
        if (std::ranges::find(keys, key) != keys.end()) continue;
        if (keys.size() == 0)
            throw UsageError(fmt::format("'{}' takes no fields, and was given {}", name, key));
        throw UsageError(
            fmt::format("'{}' has no field '{}'; it knows {}", name, key, fmt::join(keys, ", ")));
    }
}

Spec parse_spec(std::string_view text) {
    const auto colon = text.find(':');
    Spec spec{std::string(text.substr(0, colon)), {}};
    if (spec.name.empty()) {
        throw UsageError(fmt::format("'{}' names nothing; expected NAME or NAME:KEY=VALUE,KEY=VALUE", text));
    }
    if (colon == std::string_view::npos) return spec;
    for (const auto field : split(text.substr(colon + 1), ',')) {
        const auto equals = field.find('=');
        if (equals == 0 || equals == std::string_view::npos) {
            throw UsageError(
                fmt::format("'{}': '{}' is not KEY=VALUE; expected NAME:KEY=VALUE,KEY=VALUE", text, field));
        }
        const auto [at, is_new] =
            spec.fields.emplace(std::string(field.substr(0, equals)), std::string(field.substr(equals + 1)));
        if (!is_new) throw UsageError(fmt::format("'{}' gives {} twice", text, at->first));
    }
    return spec;
}

std::string text_of(const Spec& spec) {
    std::string text = spec.name;
    char separator = ':';
    for (const auto& [key, value] : spec.fields) {
        text += fmt::format("{}{}={}", separator, key, value);
        separator = ',';
    }
    return text;
}

}  // namespace paretoken
