#pragma once
// The levels of `--request-rate auto`: from one request at a time to saturation, found by short closed loops
// beforehand.
#include <cstddef>
#include <filesystem>
#include <vector>

#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

inline constexpr std::size_t kUsualRates = 8;

/// Rates from `lowest` to `highest`, each the same multiple of the one before, to three significant digits;
/// ascending, no repeats. Pure.
std::vector<double> spread_rates(double lowest, double highest, std::size_t count);

/// Measures 1, 2, 4, … requests in flight below `directory`/pilot until two doublings in a row gave less than
/// 5 % more requests per second, and spreads `count` rates over what was found. What an earlier call has
/// measured there is not measured again. Throws RuntimeError when no request succeeds or the measurement is
/// interrupted.
std::vector<double> rates_to_saturation(const Target& target, const SweepPlan& plan, std::size_t count,
                                        const std::filesystem::path& directory, const Invocation& invocation,
                                        Watcher& watcher, const loadgen::Interruption& interruption);

}  // namespace paretoken::experiments
