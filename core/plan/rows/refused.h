#pragma once
// Checks of values that several rows share. Each throws UsageError if the value is refused.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/plan/random_duration.h"
#include "core/spec.h"

namespace paretoken::rows {

template <const Interval& range>
void within(double value) {
    if (value >= range.low && value <= range.high) return;
    throw UsageError(fmt::format("{} is not between {} and {}", value, range.low, range.high));
}

template <const Interval& range>
void within_if_given(const std::optional<double>& value) {
    if (value) within<range>(*value);
}

inline void above_zero(const std::optional<Duration>& duration) {
    if (duration && *duration <= Duration{}) throw UsageError("must be above 0");
}

inline void random_duration(const std::string& text) {
    (void)RandomDuration(text);
}

inline void at_least_one(const std::optional<std::uint64_t>& count) {
    if (count == 0U) throw UsageError("0: expected a number above 0");
}

}  // namespace paretoken::rows
