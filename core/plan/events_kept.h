#pragma once
// The choice of requests whose events (times and tokens) a run directory keeps: all, one in N, or none.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken {

struct EventsKept {
    std::uint64_t one_in = 1;  ///< of every N requests, one is kept; this is N; 0 means none

    bool operator==(const EventsKept&) const = default;

    /// Returns whether this request's events are kept, which depends on its index only.
    bool keeps(std::uint64_t index) const;
};

/// Reads "all", "none" or "sample=N" with N above 0. Throws UsageError naming these.
EventsKept parse_events_kept(std::string_view text);

/// Returns a text that parse_events_kept() reads.
std::string text_of(const EventsKept& kept);

}  // namespace paretoken
