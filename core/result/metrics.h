#pragma once
// THE table of metrics. Every output, SLO, comparison and help text iterates it; a new metric is a new row.
// Definitions are versioned: a number whose meaning changes gets a new kDefinitions.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"

namespace paretoken {

inline constexpr std::string_view kDefinitions = "paretoken/1";

enum class Better { lower, higher, neither };

/// One value of a pooled metric: `weight` equal values, credited to the moment their later event arrived.
struct PooledValue {
    TimePoint at;
    double value = 0;
    std::uint32_t weight = 1;

    bool operator==(const PooledValue&) const = default;
};

struct Metric {
    std::string_view tag;    ///< "ttft"
    std::string_view unit;   ///< "s", "tok_per_s", "ratio": the JSON key is tag_unit
    std::string_view title;  ///< "Time to first token"
    Better better = Better::lower;
    std::string_view definition;  ///< one sentence, shown by --help and on hover

    // Exactly one of these three is set.
    std::optional<double> (*of_request)(const RequestRecord&) = nullptr;  ///< nothing: undefined
    void (*pool)(const RequestRecord&, std::vector<PooledValue>&) = nullptr;
    std::string_view inverse_of = {};  ///< percentiles of that metric are taken first and inverted after

    bool known_at_first_token = false;  ///< a request that is abandoned after it has the value for good
};

std::span<const Metric> metrics();

/// Nothing when there is no such tag.
const Metric* metric_named(std::string_view tag);

/// "ttft_s"
std::string key_of(const Metric& metric);

/// The one rule for the intended start. In an open loop users wait from the moment they meant to start, so
/// what was asked of "ttft" or "e2e" is answered by "ttft_intended" or "e2e_intended"; every other metric,
/// and every metric of a closed loop, answers for itself. Null when there is no such tag.
const Metric* headline_metric(std::string_view tag, bool open_loop);

/// The key of headline_metric. `tag` must be in the table.
std::string headline_key(std::string_view tag, bool open_loop);

}  // namespace paretoken
