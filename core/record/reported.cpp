#include "core/record/reported.h"

#include <fmt/format.h>

#include <array>

namespace paretoken {
namespace {

struct UnitOfKeys {
    std::string_view ending;
    std::string_view unit;
    std::string_view dropped;  ///< part of the ending that is no part of a title
    std::optional<bool> higher_is_better;
};

/// The first row whose ending a key has names its unit.
constexpr std::array kUnits = {
    UnitOfKeys{"requests_per_s", "req/s", "", true},
    UnitOfKeys{"tokens_per_s_per_gpu", "tok/s per GPU", "", true},
    UnitOfKeys{"tokens_per_s", "tok/s", "", true},
    UnitOfKeys{"_tok_per_s", "tok/s", "_tok_per_s", true},
    UnitOfKeys{"_tokens", "tokens", "_tokens", std::nullopt},
    UnitOfKeys{"duration_s", "s", "_s", std::nullopt},
    UnitOfKeys{"_s", "s", "_s", false},
};

bool is_spread(std::string_view title) {
    return title.ends_with("_std") || title.ends_with("_min") || title.ends_with("_max");
}

}  // namespace

std::optional<double> Reported::at(std::string_view key) const {
    const auto found = figures.find(std::string(key));
    return found == figures.end() ? std::nullopt : std::optional(found->second);
}

ReportedKey reported_key(std::string_view key) {
    for (const UnitOfKeys& row : kUnits) {
        if (!key.ends_with(row.ending)) continue;
        const std::string title(key.substr(0, key.size() - row.dropped.size()));
        return {title, row.unit, is_spread(title) ? std::nullopt : row.higher_is_better};
    }
    return {std::string(key), ""};
}

std::string reported_title(std::string_view key, std::string_view by) {
    return fmt::format("{} as {} defines it", reported_key(key).title, by);
}

}  // namespace paretoken
