#include "cli/options/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/spec.h"
#include "core/text/byte_order_mark.h"
#include "core/text/utc.h"

namespace paretoken::cli {

double requests_per_s_in(std::string text, std::string_view other) {
    const std::string given = text;
    for (const std::string_view unit : {"rps", "req/s", "/s"})
        if (text.ends_with(unit)) {
            text.resize(text.size() - unit.size());
            break;
        }
    const double rate = [&] {
        try {
            return parse_number(text);
        } catch (const UsageError&) {
            throw UsageError(fmt::format("--demand {}: expected a rate, such as 50rps{}", given, other));
        }
    }();
    if (!(rate > 0))
        throw UsageError(fmt::format("--demand {}: expected a rate above 0, such as 50rps", given));
    return rate;
}

namespace {

constexpr std::string_view kColumns = "hour,requests_per_s";

/// The number of an hour: a count, or a time in UTC.
std::int64_t hour_in(const std::string& text) {
    constexpr std::int64_t kSecondsOfHour = 3600;
    if (const auto time = epoch_of_utc(text)) return *time / kSecondsOfHour;
    return static_cast<std::int64_t>(parse_count(text));
}

}  // namespace

std::vector<double> hourly_requests_per_s(const std::string& path) {
    std::ifstream file(path);
    std::vector<double> hours;
    std::optional<std::int64_t> before;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        const std::string place = fmt::format("--demand {}:{}", path, number);
        if (line.ends_with('\r')) line.pop_back();
        if (number == 1) {
            line = std::string(without_byte_order_mark(line));
            std::erase_if(line, [](char c) { return c == ' ' || c == '\t'; });
            if (line == kColumns) continue;
            throw UsageError(fmt::format("{}: expected the columns {} in the first line", place, kColumns));
        }
        if (line.empty()) continue;
        const std::size_t comma = line.find(',');
        if (comma == std::string::npos) throw UsageError(fmt::format("{}: expected {}", place, kColumns));
        const std::int64_t hour = naming(place, [&] { return hour_in(line.substr(0, comma)); });
        const double rate = naming(place, [&] { return parse_number(line.substr(comma + 1)); });
        if (rate < 0) throw UsageError(fmt::format("{}: {} requests per second are below 0", place, rate));
        if (before && hour != *before + 1)
            throw UsageError(
                fmt::format("{}: the hour {} does not follow the one before it; every hour needs "
                            "a line, with 0 if it has no requests",
                            place, line.substr(0, comma)));
        before = hour;
        hours.push_back(rate);
    }
    if (hours.empty() || *std::ranges::max_element(hours) <= 0)
        throw UsageError(fmt::format("--demand {}: expected at least one hour with requests", path));
    return hours;
}

double share_to_use(double share) {
    if (share > 0 && share <= 1) return share;
    throw UsageError(fmt::format("--target-utilization {}: expected a share above 0 and at most 1", share));
}

}  // namespace paretoken::cli
