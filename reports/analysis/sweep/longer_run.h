#pragma once
// How many times as many requests a run needs so that limits are decided that it left open, and how long that
// takes, as sentences and commands offer it.
#include <optional>
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// The time of the longest run that is offered. A lower load or another limit has an answer sooner.
inline constexpr double kLongestOfferedS = 4 * 3600.0;

/// Returns the largest factor for limits of a run: 1 if all are shown, 2 where nothing is known. Nothing if
/// one is not shown because the run found no steady state, which a longer run may not find either.
std::optional<double> times_to_offer(const RunResult& run, const std::vector<SloResult>& slos);

/// Returns "40 seconds", "3.5 minutes", "33 hours".
std::string span_text(double seconds);

}  // namespace paretoken::reports
