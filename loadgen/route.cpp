#include "loadgen/route.h"

#include <algorithm>
#include <string>

#include "core/random.h"

namespace paretoken::loadgen {
namespace {

std::string beginning_of(const Prompt& prompt) {
    if (const auto* text = std::get_if<std::string>(&prompt)) return text->substr(0, kRoutedBytes);
    if (const auto* ids = std::get_if<TokenIds>(&prompt)) {
        const std::size_t count = std::min(ids->size(), kRoutedIds);
        return {reinterpret_cast<const char*>(ids->data()), count * sizeof(TokenIds::value_type)};
    }
    std::string beginning;
    for (const Message& message : std::get<Messages>(prompt)) {
        beginning += message.content;
        // Later turns of a conversation have more messages, but the same first one of the user.
        if (message.role == "user" || beginning.size() >= kRoutedBytes) break;
    }
    return beginning.substr(0, kRoutedBytes);
}

}  // namespace

std::optional<Route> route_named(std::string_view name) {
    if (name == "round-robin") return Route::round_robin;
    if (name == "least-in-flight") return Route::least_in_flight;
    if (name == "prefix") return Route::prefix;
    if (name == "session") return Route::session;
    return std::nullopt;
}

std::size_t target_for(Route route, std::uint64_t turn, const Prompt& prompt,
                       std::span<const std::size_t> in_flight) {
    const std::size_t next = turn % in_flight.size();
    switch (route) {
        case Route::round_robin:
            return next;
        case Route::prefix:
            return derived_seed(0, beginning_of(prompt)) % in_flight.size();
        case Route::session:
            return derived_seed(turn, "session") % in_flight.size();
        case Route::least_in_flight:
            break;
    }
    std::size_t least = next;
    for (std::size_t i = 1; i < in_flight.size(); ++i) {
        const std::size_t target = (next + i) % in_flight.size();
        if (in_flight[target] < in_flight[least]) least = target;
    }
    return least;
}

}  // namespace paretoken::loadgen
