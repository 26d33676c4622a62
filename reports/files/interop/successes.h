#pragma once
// The requests of a run as other load generators count them.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/record/record.h"

namespace paretoken::reports {

struct StoredRun;

/// A request that was sent, or failed before; no warm-up.
struct SentRequest {
    RequestRecord record;
    std::vector<double> gaps_s = {};         ///< times between its events, in seconds
    std::vector<std::uint32_t> tokens = {};  ///< tokens of each event
};
std::vector<SentRequest> sent_requests(const StoredRun& run);

/// Values of the requests that succeeded, as far as they are known. Seconds and tokens.
struct Successes {
    std::uint64_t completed = 0;
    bool knows_input = true;   ///< whether the length of every prompt is known
    bool knows_output = true;  ///< whether the lengths of answers are known
    std::vector<double> ttft;  ///< of answers that were streamed
    std::vector<double> tpot;  ///< (last − first output) ÷ (tokens − 1), of answers with more than one token
    std::vector<double> itl;  ///< gaps between events, of all requests
    std::vector<double> e2e;
    std::vector<double> input_tokens;
    std::vector<double> output_tokens;
    std::uint64_t failed = 0;
    double duration_s = 0;  ///< from the first sending to the last end of an answer

    /// The duration to divide by; 1 for a run without one.
    double per_s() const { return duration_s > 0 ? duration_s : 1; }
};
/// `requests`: of the run `of`, which says what its source does not know.
Successes successes_of(const std::vector<SentRequest>& requests, const StoredRun& of);

/// The sum of values, such as all output tokens.
double sum_of(const std::vector<double>& values);

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
