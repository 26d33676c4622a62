#pragma once
// The text that /metrics gives (Prometheus exposition format 0.0.4, and OpenMetrics as far as it is the same)
// as samples. No I/O. A line that is none is skipped and counted: a scrape is worth more than its worst line.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paretoken::scrape {

using Labels = std::vector<std::pair<std::string, std::string>>;  ///< in the order they were written

struct Sample {
    std::string name;
    Labels labels;
    double value = 0;  ///< may be NaN or infinite

    bool operator==(const Sample&) const = default;
    std::string_view label(std::string_view key) const;  ///< empty when it has none
};

struct Scrape {
    std::vector<Sample> samples;
    std::uint64_t bad_lines = 0;
};
Scrape parse_prometheus(std::string_view text);

/// The sum over all samples of that name (engines, models) whose labels include `where`; nothing when there
/// are none.
std::optional<double> sum_of(std::span<const Sample> samples, std::string_view name,
                             const Labels& where = {});

/// The first of `names` that the scrape has (servers and versions spell a thing differently), also with
/// "_total" added or taken away; as it is written there.
std::optional<std::string> name_among(std::span<const Sample> samples,
                                      std::span<const std::string_view> names);

/// A histogram: cumulative counts at ascending upper edges (the last is +infinity), samples of several
/// engines added.
struct Buckets {
    std::vector<std::pair<double, double>> cumulative;
    double sum = 0;
    double count = 0;

    bool operator==(const Buckets&) const = default;
};
/// `name` without "_bucket"; nothing when there is no such histogram.
std::optional<Buckets> buckets_of(std::span<const Sample> samples, std::string_view name,
                                  const Labels& where = {});

/// What was added between two scrapes of one histogram; nothing when it was reset in between or has other
/// edges.
std::optional<Buckets> difference(const Buckets& later, const Buckets& earlier);

/// Linear within the bucket, as PromQL's histogram_quantile; p in [0, 1]. Nothing for no samples or
/// for edges and counts that no histogram has; the largest finite edge when the percentile lies above it.
std::optional<double> percentile(const Buckets& buckets, double p);

}  // namespace paretoken::scrape
