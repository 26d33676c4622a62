#pragma once
// When a run stops starting requests: THE table of stop rules, and the limits that every run has. Whichever
// comes first ends it; what is in flight is followed to its end.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"
#include "core/units.h"

namespace paretoken::loadgen {

struct Limits {
    std::uint64_t warmups = 0;  ///< requests before the first measured one; they hand over without a pause
    std::optional<std::uint64_t> requests = {};    ///< measured ones
    std::optional<Duration> duration = {};         ///< from the first measured request's start
    std::optional<Duration> warmup_duration = {};  ///< requests that start within it are warm-ups
};

enum class StopKind : std::uint8_t { requests, duration, tokens, errors, precision, slo, diverging };

/// A rule as given, checked.
struct StopRule {
    StopKind kind = StopKind::requests;
    std::string text;       ///< "precision:ttft_p99=10%"
    double limit = 0;       ///< a count, seconds, a share, or in the metric's unit
    std::string metric;     ///< precision and slo: its tag
    double percentile = 0;  ///< precision and slo
    bool off = false;       ///< "diverging=off"

    bool operator==(const StopRule&) const = default;
};

struct StopRow {
    std::string_view name;
    std::string_view form;  ///< for --help: "precision:METRIC_pNN=SHARE"
    std::string_view title;
    StopKind kind;
};
std::span<const StopRow> stop_table();
std::string_view name_of(StopKind kind);

/// Throws UsageError naming the known rules or what is wrong with the text.
StopRule parse_stop_rule(std::string_view text);

}  // namespace paretoken::loadgen
