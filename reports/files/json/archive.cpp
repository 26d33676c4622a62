#include "reports/files/json/archive.h"

#include "core/text/json_nesting.h"

namespace paretoken::reports {

std::string percentile_label(double p) {
    std::string digits = fmt::format("{:.6f}", p).substr(2);
    while (digits.size() > 2 && digits.back() == '0') digits.pop_back();
    return "p" + digits;
}

std::optional<double> percentile_labelled(std::string_view label) {
    if (label.size() < 3 || label[0] != 'p') return std::nullopt;
    double value = 0;
    double scale = 1;
    for (const char c : label.substr(1)) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + (c - '0');
        scale *= 10;
    }
    return value / scale;
}

std::string text_of(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json parsed(std::string_view text, const std::string& where) {
    if (nests_deeper_than(kDeepestJson, text)) {
        throw UsageError(fmt::format("{}: nested deeper than {} levels; {}", where, kDeepestJson, kForeign));
    }
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        throw UsageError(
            fmt::format("{}: invalid JSON at byte {}; the file is cut off, or was not written by paretoken",
                        where, error.byte));
    } catch (const Json::out_of_range&) {
        throw UsageError(fmt::format("{}: a number is beyond what a double holds; {}", where, kForeign));
    }
}

void expect(const Json& json, const char* key, std::string_view expected, const std::string& where) {
    std::string found = "missing";
    if (json.is_object() && json.contains(key))
        found = json.at(key).dump(-1, ' ', true, Json::error_handler_t::replace);
    if (found != fmt::format("\"{}\"", expected))
        throw UsageError(
            fmt::format("{}: key \"{}\" is {}, and this version of paretoken reads \"{}\"; use the version "
                        "that wrote the file, or measure again",
                        where, key, found, expected));
}

}  // namespace paretoken::reports
