#include "core/plan/events_kept.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/random.h"

namespace paretoken {

bool EventsKept::keeps(std::uint64_t index) const {
    if (one_in <= 1) return one_in == 1;
    return derived_seed(0, "events", index) % one_in ==
           0;  // random, because every Nth index could match a pattern of the load
}

EventsKept parse_events_kept(std::string_view text) {
    constexpr std::string_view kSample = "sample=";
    if (text == "all") return {1};
    if (text == "none") return {0};
    std::uint64_t one_in = 0;
    if (text.starts_with(kSample)) {
        const std::string_view number = text.substr(kSample.size());
        const auto end = number.data() + number.size();
        const auto [rest, error] = std::from_chars(number.data(), end, one_in);
        if (error == std::errc{} && rest == end && one_in > 0) return {one_in};
    }
    throw UsageError(fmt::format("'{}': expected all, none or sample=N (one request in N, N above 0)", text));
}

std::string text_of(const EventsKept& kept) {
    if (kept.one_in <= 1) return kept.one_in == 1 ? "all" : "none";
    return fmt::format("sample={}", kept.one_in);
}

}  // namespace paretoken
