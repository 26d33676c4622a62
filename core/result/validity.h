#pragma once
// Decides whether a run proves anything about the server, by a table of checks with limits.
#include <string>
#include <string_view>
#include <vector>

#include "core/record/fact.h"
#include "core/result/result.h"

namespace paretoken {

/// The limits of a judgement, and the facts about a run that its result does not hold.
struct ValidityOptions {
    double max_failed = 0.10;  ///< a run of which a larger share of requests failed is invalid
    /// Whether delays of the client and its host only warn, because the user takes the figures as they are.
    bool accept_host_noise = false;
    bool ended = true;               ///< false: the run was killed, or is still going on
    std::string part = {};           ///< part of a divided load that the run is: "1/4"; empty: all of it
    std::string lost = {};           ///< what is missing in the records; empty if nothing is
    std::string unanswered = {};     ///< sentence on questions of the probe without an answer; empty if none
    bool ignores_end = false;        ///< whether answers continue after their end of text
    bool routes_to_experts = false;  ///< whether the model is known to be a mixture of experts
    std::vector<EarlierRun> earlier_runs = {};  ///< Begun::earlier_runs (core/run/begun.h)
    Facts unknown = {};                         ///< facts that the source of the records does not know
    Facts needs_of_slos = {};                   ///< facts that the limits on requests need
};

/// Judges a result by everything that it holds; its percentiles must still be there if the load diverged.
/// Figures that were not measured, or are too small to matter (delays below 0.1 to 0.2 ms, a single late
/// request, two busy intervals of 100 ms, a mean length off by a few tokens), pass their checks.
Validity validity_of(const RunResult& result, const ValidityOptions& options = {});

/// The beginning of ServerFigures::note if the server's counters began again within the run.
inline constexpr std::string_view kCountersRestarted = "the server's counters restarted during the run";

/// The share of a headline figure by which the client's own delays may have made it worse.
struct InstrumentPart {
    double part = 0;          ///< `instrument` ÷ the value; 0 if there is none that matters
    std::string figure = {};  ///< "p95 of ttft_s could truly be 3.1 % lower"
};

/// Returns the largest such share of throughput and of the medians and p95s of the headline times.
InstrumentPart largest_instrument_part(const RunResult& result);

/// Returns whether a check is about the client and its host, and says nothing against the server.
bool is_of_host(std::string_view check);

/// Returns the text of the first reason whose severity is the verdict; empty if there is none.
std::string gravest_reason(const Validity& validity);

/// Returns whether records are missing, such as those of a shard, although nothing was interrupted.
bool has_lost_records(const RunResult& result);

/// Returns whether the server answered requests that the result lacks, so that a cost would be too high.
bool lacks_requests(const RunResult& result);

/// Returns whether the queue of an open loop neither grew during the run nor ended it.
bool kept_up(const RunResult& result);

/// "served 13.1 of 20 req/s", of an open loop with a rate; empty of another run.
std::string served_text(const RunResult& result);

/// "the server does not keep up with the arrivals (served 13.1 of 20 req/s)"; empty if it kept up.
std::string overload_text(const RunResult& result);

}  // namespace paretoken
