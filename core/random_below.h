#pragma once
// Draws many whole numbers below a bound, without a division for each.
#include <cstdint>
#include <span>

#include "core/random.h"

namespace paretoken {

/// Fills `out` with `low` + random.below(bound), in order: the numbers are those of Random::below()
/// (core/random.h). `bound` must be above 1. Defined in core/random.cpp.
void fill_below(Random& random, std::uint64_t bound, std::int32_t low, std::span<std::int32_t> out);

}  // namespace paretoken
