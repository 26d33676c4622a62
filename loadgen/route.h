#pragma once
// Chooses the server that a request is sent to, if the load has several servers. The functions are pure.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/record/request.h"

namespace paretoken::loadgen {

enum class Route : std::uint8_t {
    round_robin,      ///< each server in turn, by the number of requests started before
    least_in_flight,  ///< server on which this worker has the fewest requests; ties as in round_robin
    prefix,           ///< same server for prompts with the same beginning
    session,          ///< same server for the requests of a conversation, which in a job is an agent
};
std::optional<Route> route_named(std::string_view name);

/// The part of a prompt that Route::prefix compares: its first bytes, in a conversation up to the end of the
/// user's first message, so that all turns go to the same server.
inline constexpr std::size_t kRoutedBytes = 512;  ///< bytes of a text
inline constexpr std::size_t kRoutedIds = 128;    ///< token ids

/// Returns the index of the server to choose in `in_flight`, this worker's requests for each (not empty).
/// `turn` counts this worker's choices; for Route::session it is the number of the conversation.
std::size_t target_for(Route route, std::uint64_t turn, const Prompt& prompt,
                       std::span<const std::size_t> in_flight);

}  // namespace paretoken::loadgen
