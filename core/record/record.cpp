#include "core/record/record.h"

#include <algorithm>
#include <array>

namespace paretoken {
namespace {

constexpr std::array<std::string_view, 13> kNames = {
    "ok",           "cancelled", "connect_failed", "tls_failed", "timed_out", "disconnected", "http_error",
    "stream_error", "truncated", "empty",          "too_short",  "malformed", "abandoned"};
static_assert(kNames.size() == static_cast<std::size_t>(Outcome::abandoned) + 1);

constexpr std::array<std::string_view, 6> kTokenSources = {"chunk_usage",   "token_ids",     "one_per_event",
                                                           "usage_by_text", "one_per_chunk", "disputed"};
static_assert(kTokenSources.size() == static_cast<std::size_t>(TokenSource::disputed) + 1);

template <typename Enum, std::size_t N>
std::optional<Enum> value_named(const std::array<std::string_view, N>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name_of(Outcome outcome) {
    return kNames.at(static_cast<std::size_t>(outcome));
}

std::optional<Outcome> outcome_named(std::string_view name) {
    return value_named<Outcome>(kNames, name);
}

std::string_view name_of(TokenSource source) {
    return kTokenSources.at(static_cast<std::size_t>(source));
}

std::optional<TokenSource> token_source_named(std::string_view name) {
    return value_named<TokenSource>(kTokenSources, name);
}

std::optional<Duration> loop_lag_of(const RequestRecord& record) {
    if (!record.sent) return std::nullopt;
    const Duration lag = *record.sent - record.scheduled - record.slot_wait - (record.ready - record.started);
    return std::max(Duration{}, lag);
}

bool is_opening(const RequestRecord& record) {
    if (record.job) return record.job->first == record.index;
    return !record.turn || record.turn->number == 0;
}

std::int64_t output_tokens_of(const RequestRecord& record) {
    return record.usage.completion.value_or(record.streamed_tokens);
}

}  // namespace paretoken
