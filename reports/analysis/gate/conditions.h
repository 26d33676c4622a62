#pragma once
// The conditions under which the runs of a gate were measured: host, versions, clock, server, and the
// client's own error. Those that differ between the sides may explain a shift. The functions are pure.
#include <span>
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_run.h"

namespace paretoken::reports {

struct Condition {
    std::string name;
    std::string baseline;  ///< its values in the runs of the baseline, separated by ", "
    std::string candidate;
    bool differs = false;  ///< whether a run of the candidate has a value that no run of the baseline has

    bool operator==(const Condition&) const = default;
};

/// The conditions that a run of either side names, and every key of --metadata by which the sides differ.
std::vector<Condition> conditions_of(std::span<const GateRun> baseline, std::span<const GateRun> candidate);

/// The session of a run: "2026-11-22 on HOST". Runs of different sessions also differ by the day and the
/// host. Runs in virtual time are all of one session.
std::string session_of(const RunResult& run);

}  // namespace paretoken::reports
