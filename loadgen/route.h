#pragma once
// Chooses the server of a request, if there are several. Pure.
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

/// The length of the beginning of a prompt that decides for Route::prefix. The beginning of a conversation
/// ends with the first message of the user, so that all turns go to one server.
inline constexpr std::size_t kRoutedBytes = 512;  ///< bytes of a text
inline constexpr std::size_t kRoutedIds = 128;    ///< token ids

/// Returns the server as a position in `in_flight`, which holds the worker's requests on each server and is
/// not empty. `turn` is the number of requests that this worker has started before, plus the worker's own
/// number, so that workers do not all begin with the same server.
std::size_t target_for(Route route, std::uint64_t turn, const Prompt& prompt,
                       std::span<const std::size_t> in_flight);

}  // namespace paretoken::loadgen
