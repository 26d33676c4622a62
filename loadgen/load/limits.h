#pragma once
// The table of stop rules, and the limits of a load. The first that is met ends the starting of requests.
// After the limit `requests`, further turns of opened conversations are still started.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/record/record.h"
#include "core/units.h"

namespace paretoken::loadgen {

struct Limits {
    // With conversations of several turns, these two limits count conversations instead of requests.
    std::uint64_t warmups = 0;  ///< warm-up requests, which the measured ones follow without a pause
    std::optional<std::uint64_t> requests = {};  ///< measured requests
    /// The time from the first measured request. In an open loop it is counted from its arrival; in a closed
    /// loop each worker counts it for each class from the first measured request that it has started itself.
    std::optional<Duration> duration = {};
    /// The time from the beginning of the load in which requests are warm-ups: those that arrive in it (open
    /// loop) or start in it (closed loop). If it is given, `warmups` has no effect.
    std::optional<Duration> warmup_duration = {};
};

enum class StopKind : std::uint8_t { requests, duration, tokens, errors, precision, slo, diverging };

/// A stop rule that the user gave, read and checked.
struct StopRule {
    StopKind kind = StopKind::requests;
    std::string text;       ///< "precision:ttft_p99=10%"
    double limit = 0;       ///< limit: a count, seconds, a share, or in the metric's unit
    std::string metric;     ///< name of the metric of precision and slo: "ttft"; otherwise empty
    double percentile = 0;  ///< level of the percentile of precision and slo: .99
    bool off = false;       ///< whether it is "diverging=off"

    bool operator==(const StopRule&) const = default;
};

struct StopRow {
    std::string_view name;
    std::string_view form;  ///< form shown by --help: "precision:METRIC_pNN=SHARE"
    std::string_view title;
    StopKind kind;
};
std::span<const StopRow> stop_table();
std::string_view name_of(StopKind kind);

/// Reads a rule. Throws UsageError naming the known rules or the mistake in the text.
StopRule parse_stop_rule(std::string_view text);

}  // namespace paretoken::loadgen
