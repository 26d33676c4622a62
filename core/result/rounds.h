#pragma once
// The rounds of a closed loop. In each the requests in flight are others, so that a closed loop has at least
// as much evidence as rounds (docs/statistics.md).
#include <cstdint>
#include <optional>
#include <vector>

#include "core/record/request_table.h"
#include "core/units.h"

namespace paretoken {

struct Rounds {
    /// The number of requests in a round: as many as are in flight or, if requests take very unequal times,
    /// as many as are sent in half the mean time of a request that is in flight at any moment.
    std::uint64_t requests = 1;
    /// The whole rounds of the window without those at its start, which may differ from the others: two
    /// rounds or, if this is more, a tenth. A remainder that is no whole round is left out at the start too.
    std::uint64_t count = 0;
    double share = 0;  ///< part of the window's requests that these rounds have
    /// The beginnings of groups of whole rounds, and the end of the last group. The groups are as equal as
    /// whole rounds allow; there is one per round, but there are at most kMostGroups.
    std::vector<TimePoint> edges = {};

    static constexpr std::uint64_t kMostGroups = 60;

    bool operator==(const Rounds&) const = default;
};

/// Divides the window's requests, in the order of their schedule, into rounds of a loop that keeps
/// `in_flight` (at least 1) requests in flight. There are none (count 0) if fewer than 10 would be left.
Rounds rounds_of(const RequestRows& measured, TimeSpan window, std::uint64_t in_flight);

/// Returns the smallest number of requests in the window of which rounds_of() makes rounds of this many
/// requests.
std::uint64_t requests_for_rounds(std::uint64_t requests);

/// From this value of in_step() on, fewer rounds than rounds_of() needs decide no limit (docs/statistics.md).
inline constexpr double kDependsOnRounds = 0.25;

/// Returns the number of independent samples that the rounds are worth. Rounds of fewer than 4 requests are
/// taken together, because a server with so few requests is influenced by earlier ones for longer.
double samples_of(const Rounds& rounds);

/// Returns how far the requests run in step: 1 if those of a round are sent at once, about 0 if
/// independently, or if a new request meets less than one without a first token on average. Nothing with
/// fewer than 4 in flight or fewer than 3 whole rounds.
std::optional<double> in_step(const RequestRows& measured, std::uint64_t in_flight);

}  // namespace paretoken
