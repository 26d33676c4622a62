#pragma once
// Finds the levels of `--request-rate auto`, from one request at a time to saturation.
#include <cstddef>
#include <filesystem>
#include <vector>

#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

struct Session;

/// The number of rates if the user gives none.
inline constexpr std::size_t kUsualRates = 8;

/// Returns `count` rates from `lowest` to `highest` with a constant ratio and three significant digits,
/// ascending without repeats; `highest` for a `count` of 1.
std::vector<double> spread_rates(double lowest, double highest, std::size_t count);

struct RatesToSaturation {
    std::vector<double> rates;
    Duration spent{};  ///< time of the pilot runs that were made for it, virtual for a target in virtual time
};

/// Returns at most `count` rates of arrivals per second, from that of one request at a time to the highest of
/// pilot runs in `directory`/pilot, of which finished ones are used. Throws RuntimeError when no request
/// succeeds, a result cannot be written or on an interruption, and as measure() does.
RatesToSaturation rates_to_saturation(const Target& target, const SweepPlan& plan, std::size_t count,
                                      const std::filesystem::path& directory, const Session& session);

}  // namespace paretoken::experiments
