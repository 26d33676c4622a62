#pragma once
// What was observed of a run, without conclusions, as in a run directory. result_of() makes the result.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/event_source.h"
#include "core/result/result.h"
#include "core/run/begun.h"
#include "core/run/observations.h"

namespace paretoken {

struct ProbeOutcome {
    std::string probe;           ///< name of the questions, as ProbeScore::probe
    std::uint64_t asked = 0;     ///< number of questions
    std::uint64_t answered = 0;  ///< number of questions whose requests did not fail
    std::uint64_t right = 0;
    std::string failure = {};  ///< error of the first request that failed; empty if none did

    bool operator==(const ProbeOutcome&) const = default;
};

/// Everything that was observed of a run.
struct Recorded {
    Begun begun = {};
    Observations observed = {};
    std::shared_ptr<const EventSource> events = {};  ///< events of the requests; null: none were kept
    std::optional<ProbeOutcome> probe = {};
    std::string lost = {};                 ///< what is missing in the records, and why; empty if nothing is
    bool ended = true;                     ///< false: the run was killed, or is still going on
    std::vector<ShardResult> shards = {};  ///< parts of a joined load; empty for one that one process made
};

}  // namespace paretoken
