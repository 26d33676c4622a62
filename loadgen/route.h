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
};
std::optional<Route> route_named(std::string_view name);

/// The largest length of the part of a prompt that Route::prefix compares; the part starts at the beginning
/// of the prompt. In a conversation the part also ends with the first message of the user, so that all turns
/// of the conversation go to the same server.
inline constexpr std::size_t kRoutedBytes = 512;  ///< bytes of a text
inline constexpr std::size_t kRoutedIds = 128;    ///< token ids

/// Returns the index of the chosen server in `in_flight`. `in_flight` has the number of this worker's
/// requests in flight for each server, and is not empty. `turn` is the number of requests for which this
/// worker has chosen a server before, plus the worker's own number, so that workers do not all begin with the
/// same server.
std::size_t target_for(Route route, std::uint64_t turn, const Prompt& prompt,
                       std::span<const std::size_t> in_flight);

}  // namespace paretoken::loadgen
