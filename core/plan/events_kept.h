#pragma once
// Which requests keep the times and tokens of their events in a run directory: all of them, one in N, or
// none. What an option says as text.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken {

struct EventsKept {
    std::uint64_t one_in = 1;  ///< one request in so many; 0: none

    bool operator==(const EventsKept&) const = default;

    /// Whether this request's events are kept. Which requests a sample holds depends on their index alone.
    bool keeps(std::uint64_t index) const;
};

/// "all", "none" or "sample=N" with N above 0. Throws UsageError naming these.
EventsKept parse_events_kept(std::string_view text);

/// The text form that parse_events_kept reads.
std::string text_of(const EventsKept& kept);

}  // namespace paretoken
