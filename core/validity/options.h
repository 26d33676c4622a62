#pragma once
// What a run is judged by besides its result.
#include <string>
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

}  // namespace paretoken
