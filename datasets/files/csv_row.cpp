#include "datasets/files/csv_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

namespace paretoken::datasets {
namespace {

/// Returns the character between the fields of a table: a comma, or what its header has instead; NUL if the
/// header has one field.
char separator_of(std::string_view header) {
    for (const char separator : kCsvSeparators)
        if (header.find(separator) != std::string_view::npos) return separator;
    return '\0';
}

/// Removes the first field from `line` and returns it as it stands there; a quoted field may hold separators,
/// and quotes that are doubled.
std::string_view take_quoted(std::string_view& line, char separator) {
    std::size_t end = 0;
    if (line.starts_with('"')) {
        end = line.find('"', 1);
        while (end != std::string_view::npos && line.substr(end + 1).starts_with('"'))
            end = line.find('"', end + 2);
        end = end == std::string_view::npos ? line.size() : end + 1;
    }
    end = std::min(line.find(separator, end), line.size());
    std::string_view field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
    return field;
}

std::string_view unquoted(std::string_view field) {
    const bool is_quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
    return is_quoted ? field.substr(1, field.size() - 2) : field;
}

std::string_view take_field(std::string_view& line, char separator = ',') {
    return unquoted(take_quoted(line, separator));
}

/// Removes a whole number of exactly `digits` digits from `text` and returns it, and removes the next
/// character if it is one of `separators`.
std::optional<int> take_number(std::string_view& text, std::size_t digits, std::string_view separators) {
    int value = 0;
    if (text.size() < digits || text.front() == '-') return std::nullopt;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + digits, value);
    if (error != std::errc{} || stop != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    if (separators.empty()) return value;
    if (text.empty() || separators.find(text.front()) == std::string_view::npos) return std::nullopt;
    text.remove_prefix(1);
    return value;
}

/// Returns the offset from UTC in seconds of "", "Z", " UTC", "+01:00" or "+0100".
std::optional<int> offset_of(std::string_view text) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty() || text == "Z" || text == "UTC" || text == "GMT") return 0;
    const bool before = text.front() == '-';
    if (!before && text.front() != '+') return std::nullopt;
    text.remove_prefix(1);
    const auto hours = take_number(text, 2, text.size() == 4 ? "" : ":");
    const auto minutes = hours ? take_number(text, 2, "") : std::nullopt;
    if (!minutes || !text.empty()) return std::nullopt;
    return (before ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

namespace {

/// Returns the field of `row` in `column` with its quotes.
std::string_view quoted_field(std::string_view row, std::string_view header, std::string_view column,
                              const RowPlace& place) {
    const char separator = separator_of(header);
    const bool last_is_empty = row.ends_with(separator);
    while (!header.empty()) {
        const bool found = take_field(header, separator) == column;
        if (row.empty() && found && !(header.empty() && last_is_empty))
            place.refuse(fmt::format("the row has no field under '{}'", column));
        const std::string_view field = take_quoted(row, separator);
        if (found) return field;
    }
    place.refuse(fmt::format("the header has no column '{}'", column));
}

}  // namespace

void refuse_more_fields(std::string_view row, std::string_view header, const RowPlace& place) {
    const char separator = separator_of(header);
    while (!header.empty()) {
        take_quoted(header, separator);
        take_quoted(row, separator);
    }
    if (!row.empty())
        place.refuse("the row has more fields than the header; a value with a separator needs quotes");
}

std::string_view csv_field(std::string_view row, std::string_view header, std::string_view column,
                           const RowPlace& place) {
    return unquoted(quoted_field(row, header, column, place));
}

std::string csv_text(std::string_view row, std::string_view header, std::string_view column,
                     const RowPlace& place) {
    const std::string_view field = quoted_field(row, header, column, place);
    std::string text(unquoted(field));
    if (!field.starts_with('"')) return text;
    if (text.size() == field.size()) place.refuse("a quoted value has no end, or text follows its end");
    for (std::size_t at = 0; (at = text.find("\"\"", at)) != std::string::npos; ++at) text.erase(at, 1);
    return text;
}

std::int64_t csv_tokens(std::string_view row, std::string_view header, std::string_view column,
                        const RowPlace& place, std::int64_t least) {
    const std::string_view field = csv_field(row, header, column, place);
    if (field.empty() && least == 0) return 0;
    double tokens = 0;  // some programs write "374.0"
    const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), tokens);
    if (error != std::errc{} || stop != field.data() + field.size() ||
        !(tokens >= static_cast<double>(least)) || tokens > 1e9 || tokens != std::floor(tokens))
        place.refuse(
            fmt::format("'{}' under '{}' is not a whole number from {} to 1e9", field, column, least));
    return static_cast<std::int64_t>(tokens);
}

std::vector<std::string_view> csv_columns(std::string_view header) {
    std::vector<std::string_view> names;
    const char separator = separator_of(header);
    while (!header.empty()) names.push_back(take_field(header, separator));
    return names;
}

std::vector<std::string_view> csv_fields(std::string_view row, std::string_view header) {
    std::vector<std::string_view> fields;
    const char separator = separator_of(header);
    for (; !header.empty(); take_field(header, separator)) fields.push_back(take_field(row, separator));
    return fields;
}

std::string csv_numbers(std::string_view row) {
    std::string numbers;
    for (int column = 1; !row.empty(); ++column) {
        take_field(row);
        numbers += fmt::format("{}{}", column == 1 ? "" : ",", column);
    }
    return numbers;
}

bool is_length(std::string_view field) {
    return !field.empty() && field.find_first_not_of("0123456789.") == std::string_view::npos;
}

double seconds_of_number(double time) {
    for (const auto& [least, per_s] : {std::pair{1e17, 1e9}, {1e14, 1e6}, {1e11, 1e3}})
        if (time >= least) return time / per_s;
    return time;
}

double seconds_of_milliseconds(double time) {
    constexpr double kSince1970 = 1e9;
    return time >= kSince1970 ? seconds_of_number(time) : time / 1e3;
}

std::optional<double> seconds_of_time(std::string_view text) {
    double number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && stop == text.data() + text.size())
        return number >= 0 && std::isfinite(number) ? std::optional(seconds_of_number(number)) : std::nullopt;

    const auto year = take_number(text, 4, "-/");
    const auto month = year ? take_number(text, 2, "-/") : std::nullopt;
    const auto day = month ? take_number(text, 2, " T") : std::nullopt;
    const auto hour = day ? take_number(text, 2, ":") : std::nullopt;
    const auto minute = hour ? take_number(text, 2, ":") : std::nullopt;
    const auto second = minute ? take_number(text, 2, "") : std::nullopt;
    if (!second) return std::nullopt;
    double fraction = 0;
    if (text.starts_with('.')) {
        const auto digits = std::min(text.find_first_not_of("0123456789", 1), text.size());
        const auto parsed = std::from_chars(text.data(), text.data() + digits, fraction);
        if (parsed.ec != std::errc{}) return std::nullopt;
        text.remove_prefix(digits);
    }
    const auto offset = offset_of(text);
    const std::chrono::year_month_day date{std::chrono::year(*year),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!offset || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
    return days * 86400 + *hour * 3600 + *minute * 60 + *second + fraction - *offset;
}

}  // namespace paretoken::datasets
