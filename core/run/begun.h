#pragma once
// What is known of a run when it begins.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/shard.h"
#include "core/record/fact.h"
#include "core/record/provenance.h"
#include "core/record/reported.h"
#include "core/run/load_shape.h"

namespace paretoken {

struct Begun {
    Provenance provenance = {};  ///< without the clock, which is known at the end
    PlanEcho plan = {};          ///< resolved plan without the fields that judge results
    Workload workload = {};      ///< without the lengths that were achieved
    LoadShape shape = {};
    std::vector<EarlierRun> earlier_runs = {};  ///< runs that sent the same prompts to the same server
    std::map<std::string, std::string> server_config = {};  ///< settings that the server's API told
    /// Facts that the source does not know about any request. Empty for a run that was measured here.
    std::vector<Fact> unknown_facts = {};
    std::optional<Shard> shard = {};  ///< absent if it is the whole load
    /// The figures of another program whose file has no requests, and so no records.
    std::optional<Reported> reported = {};

    bool operator==(const Begun&) const = default;
};

}  // namespace paretoken
