#pragma once
// The requests of a run that succeeded, as other load generators count them: statistics over these alone.
#include <cstdint>
#include <optional>
#include <vector>

#include "reports/files/interop/run_export.h"

namespace paretoken::reports {

/// Values of the requests that succeeded, without warm-ups, in the order in which they were sent. Seconds and
/// tokens.
struct Successes {
    std::vector<double> ttft;
    std::vector<double> tpot;  ///< (last − first output) ÷ (tokens − 1), of answers with more than one token
    std::vector<double> itl;  ///< gaps between events, of all requests
    std::vector<double> e2e;
    std::vector<double> input_tokens;
    std::vector<double> output_tokens;
    std::uint64_t failed = 0;
    double duration_s = 0;  ///< from the first sending to the last end of an answer
};
Successes successes_of(const ExportedRun& run);

/// Mean, deviation (n in the divisor), extremes and percentiles by linear interpolation.
struct Spread {
    double mean = 0;
    double deviation = 0;
    double least = 0;
    double most = 0;
    std::vector<double> sorted = {};

    double at(double p) const;
};
/// Nothing if there is no value.
std::optional<Spread> spread_of(std::vector<double> values);

}  // namespace paretoken::reports
