#pragma once
// Access to the JSON of foreign files, with errors that name the file and the key.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace paretoken::reports {

/// Parses JSON as Python writes it, with NaN and Infinity as null. Throws a UsageError that names `where`.
nlohmann::json foreign_json(std::string text, const std::string& where);

/// The value under `keys`, one inside the other; null if one of them is missing.
inline const nlohmann::json& at_path(const nlohmann::json& json, std::initializer_list<const char*> keys) {
    static const nlohmann::json kNone;
    const nlohmann::json* found = &json;
    for (const char* const key : keys) {
        if (!found->is_object()) return kNone;
        const auto next = found->find(key);
        if (next == found->end()) return kNone;
        found = &*next;
    }
    return *found;
}

/// A number; nothing if it is missing, null, or no number.
inline std::optional<double> number_in(const nlohmann::json& json) {
    if (!json.is_number()) return std::nullopt;
    const double value = json.get<double>();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}
inline std::optional<double> number_in(const nlohmann::json& json, std::initializer_list<const char*> keys) {
    return number_in(at_path(json, keys));
}

/// A count of at most 2^31 − 1; nothing if it is missing or no number in this range.
inline std::optional<std::int64_t> count_in(const nlohmann::json& json,
                                            std::initializer_list<const char*> keys = {}) {
    const auto value = number_in(json, keys);
    if (!value || *value < 0 || *value > 2147483647.0) return std::nullopt;
    return static_cast<std::int64_t>(*value);
}

/// A text; empty if it is missing or no text.
inline std::string text_in(const nlohmann::json& json, std::initializer_list<const char*> keys = {}) {
    const nlohmann::json& found = at_path(json, keys);
    return found.is_string() ? found.get<std::string>() : std::string();
}

/// Refuses a file. `what` continues a sentence that begins with the file's name.
[[noreturn]] inline void refuse_foreign(const std::string& where, std::string_view what) {
    throw UsageError(fmt::format("{}: {}", where, what));
}

/// A time in seconds that must be there and lie within a century of zero. `name` is its key, for the error.
inline double required_time(const nlohmann::json& json, std::string_view name, const std::string& where) {
    constexpr double kCentury = 4e9;  // epoch seconds until 2096
    const auto value = number_in(json);
    if (!value || std::abs(*value) > kCentury)
        refuse_foreign(where, fmt::format("\"{}\" is not a time in seconds", name));
    return *value;
}
/// The same for the value under `keys`, of which there is at least one.
inline double required_time(const nlohmann::json& json, std::initializer_list<const char*> keys,
                            const std::string& where) {
    return required_time(at_path(json, keys), std::data(keys)[keys.size() - 1], where);
}

/// Adds the times of chunks with these gaps between them, behind the first one. Refuses a negative gap.
inline void add_gaps(std::vector<double>& chunks_s, const nlohmann::json& gaps, const std::string& where,
                     double unit_s = 1) {
    if (!gaps.is_array()) return;
    for (const nlohmann::json& gap : gaps) {
        const double between = number_in(gap).value_or(0) * unit_s;
        if (between < 0)
            refuse_foreign(where,
                           fmt::format("a time between two chunks is {} s; the file is damaged", between));
        chunks_s.push_back(chunks_s.back() + between);
    }
}

/// The count that a list has for a request; nothing if it has none. Refuses what is no count.
inline std::optional<std::int64_t> listed_count(const nlohmann::json& value, std::string_view name,
                                                const std::string& where) {
    const auto count = count_in(value);
    if (!count && !value.is_null())
        refuse_foreign(where,
                       fmt::format("\"{}\" holds {}, which is no number of tokens", name, value.dump()));
    return count;
}

}  // namespace paretoken::reports
