#pragma once
// Changes the speeds of a profile, to fit it to a measured server. The functions are pure.
#include <optional>

#include "simulator/engine/profile.h"

namespace paretoken::sim {

/// Factors of the speeds of a profile for batching.
struct SpeedFactors {
    double memory = 1;                  ///< of reading weights and the KV cache
    double arithmetic = 1;              ///< of linear layers, experts, attention and the output head
    std::optional<double> step_s = {};  ///< replaces Profile::step_s

    bool operator==(const SpeedFactors&) const = default;
};

Profile with_speeds(Profile profile, const SpeedFactors& factors);

}  // namespace paretoken::sim
