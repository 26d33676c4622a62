#pragma once
// The times of the conversation between shards, and how a time is written in it.
#include <charconv>
#include <string>

#include "core/units.h"

namespace paretoken::experiments {

inline constexpr Duration kAliveEvery = std::chrono::seconds(1);
/// A process that says nothing for this time is gone.
inline constexpr Duration kSilence = std::chrono::seconds(30);

/// Returns a time on the sender's clock as nanoseconds.
inline std::string text_of_time(TimePoint at) {
    return std::to_string(nanoseconds_since_boot(at));
}

/// Reads the text of text_of_time(); TimePoint{} if it is none.
inline TimePoint parse_time(const std::string& text) {
    std::int64_t nanoseconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), nanoseconds);
    return TimePoint(Duration(nanoseconds));
}

}  // namespace paretoken::experiments
