#pragma once
// Which of several servers a request goes to. Pure.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/record/request.h"

namespace paretoken::loadgen {

enum class Route : std::uint8_t {
    round_robin,      ///< one after the other, by the request's index
    least_in_flight,  ///< the one that the worker has the fewest requests on; of equal ones as round_robin
    prefix,           ///< requests whose prompts begin alike go to the same one
};
std::optional<Route> route_named(std::string_view name);

/// The number of leading bytes of a prompt that Route::prefix looks at.
inline constexpr std::size_t kRoutedBytes = 512;
inline constexpr std::size_t kRoutedIds = 128;

/// The place in `in_flight`, which holds the worker's requests on each server and is not empty.
std::size_t target_for(Route route, std::uint64_t index, const Prompt& prompt,
                       std::span<const std::size_t> in_flight);

}  // namespace paretoken::loadgen
