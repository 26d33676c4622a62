#pragma once
// The table of metrics. Every output, SLO, comparison and help text iterates over it, so that a new metric is
// a new row. Definitions are versioned: if the meaning of a number changes, kDefinitions changes.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/fact.h"
#include "core/record/record.h"

namespace paretoken {

inline constexpr std::string_view kDefinitions = "paretoken/1";

enum class Better { lower, higher, neither };

/// `weight` equal values of a pooled metric: a read that brings 4 tokens after 80 ms gives "itl" the value
/// 0.02 with weight 4. They belong to the window if `at`, the time of the read, does.
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
    Facts needs = {};             ///< facts without which it is absent

    // Exactly one of these four is set.
    /// Returns the value of a request, or nothing if the request has no such value.
    std::optional<double> (*of_request)(const RequestRecord&) = nullptr;
    void (*pool)(const RequestRecord&, std::vector<PooledValue>&) = nullptr;  ///< appends the values
    std::string_view inverse_of = {};  ///< tag of the metric whose percentiles are inverted
    /// Whether it is a value of each job of agents (core/run/job_results.h); only whole runs have it.
    bool of_jobs = false;

    bool known_at_first_token = false;  ///< whether the first token decides the value finally
    /// Whether it describes decoding, of which a stream that arrives in one piece shows nothing.
    bool of_decoding = false;
    /// Whether it is a time that goes on from the start of a request, so that of a request on which the user
    /// hung up it is known that it would have been longer than the user waited.
    bool elapsed = false;
};

std::span<const Metric> metrics();

/// Returns null when there is no such tag.
const Metric* metric_named(std::string_view tag);

/// Returns "ttft_s".
std::string key_of(const Metric& metric);

/// In an open loop users wait from the time they meant to start, so that "ttft" and "e2e" become
/// "ttft_intended" and "e2e_intended". Every other metric is returned itself. Null for an unknown tag.
const Metric* headline_metric(std::string_view tag, bool open_loop);

/// Returns the key of headline_metric(). `tag` must be in the table.
std::string headline_key(std::string_view tag, bool open_loop);

}  // namespace paretoken
