#pragma once
// Reads the text of /metrics (Prometheus exposition format 0.0.4, and OpenMetrics as far as it is the same)
// as samples. No I/O. An invalid line is skipped and counted, and the other lines are used.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paretoken::scrape {

using Labels = std::vector<std::pair<std::string, std::string>>;  ///< labels in the order of the text

struct Sample {
    std::string name;
    Labels labels;
    double value = 0;  ///< value; may be NaN or infinite

    bool operator==(const Sample&) const = default;
    std::string_view label(std::string_view key) const;  ///< value of a label; empty if there is none
};

struct Scrape {
    std::vector<Sample> samples;
    std::uint64_t bad_lines = 0;
};
Scrape parse_prometheus(std::string_view text);

/// Returns the sum over all samples of that name with the labels `where`; nothing without any.
std::optional<double> sum_of(std::span<const Sample> samples, std::string_view name,
                             const Labels& where = {});

/// Returns the first of `names`, with or without "_total", as the scrape spells it; nothing if none.
std::optional<std::string> name_among(std::span<const Sample> samples,
                                      std::span<const std::string_view> names);

}  // namespace paretoken::scrape
