#pragma once
// A gate: a candidate compared with a baseline. It measures pairs of runs itself, interleaved (ABBA) and with
// the same seeds on both sides, until a look decides or the most pairs are measured; or it judges runs that
// were measured before. gate.json is written after every pair, so that an interrupted gate can be gone on
// with.
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/text/secrets.h"
#include "experiments/target/provenance.h"
#include "experiments/target/target.h"
#include "experiments/watcher.h"
#include "reports/files/gate_file.h"
#include "reports/gate/decision.h"

namespace paretoken::experiments {

/// A server that is there, or a command that starts one for each run.
struct GateSide {
    std::string url = {};
    std::string command = {};

    bool operator==(const GateSide&) const = default;
    /// Without secrets.
    std::string shown() const;
};

struct GatePlan {
    LoadPlan asked;  ///< without a target; has passed through with_dataset()
    GateSide baseline;
    GateSide candidate;
    reports::GatePolicy policy = reports::default_policy();
    std::set<reports::Across> across = {};
    std::optional<Duration> max_time = {};  ///< no pair begins that would probably end later
    bool checklist = false;                 ///< the report says what should be known before a rollout
};

/// The secrets of the load and of the sides' URLs. A key that a server's command names is hidden where it is
/// the client's too.
Secrets gate_secrets(const GatePlan& plan, const Access& access);

/// Which side is measured first in a pair: baseline, candidate, candidate, baseline, and so on.
bool candidate_is_first(std::uint64_t pair);

/// The plan of one run of pair `pair`: the seed counts pairs, so that both sides do the same work.
LoadPlan asked_of(const GatePlan& plan, const GateSide& side, const std::string& url, std::uint64_t pair);

/// Receives the verdict so far after each pair.
using TellReport = std::function<void(const reports::GateReport&)>;

/// Goes on with the pairs that `directory` holds of the same gate. Throws UsageError where that was asked for
/// otherwise, or the sides do not do the same work; RuntimeError when a side cannot be reached, nothing can
/// be written, or `stop` is requested; Error with ExitCode::measurement_invalid when a run is invalid twice.
reports::GateReport measure_gate(const GatePlan& plan, const Access& access,
                                 const std::filesystem::path& directory, const Invocation& invocation,
                                 Watcher& watcher, const std::stop_token& stop, const TellReport& tell);

/// A finished run with what a gate needs of its records. Throws UsageError when it cannot be read.
reports::GateRun gate_run_in(const std::filesystem::path& directory);

struct GateDirectories {
    std::vector<std::filesystem::path> baseline;
    std::vector<std::filesystem::path> candidate;
    /// Earlier baselines: their spread between days widens the intervals, their trends are told. Runs that
    /// did other work are left out.
    std::vector<std::filesystem::path> history = {};
};

/// Judges runs that were measured before; each directory holds one or several. They count as pairs where the
/// sides alternated in time. Throws as above.
reports::GateReport judge_gate(const reports::GatePolicy& policy, const GateDirectories& directories,
                               const std::set<reports::Across>& across, bool within_run,
                               bool checklist = false);

/// Whether the runs of both sides were measured in turn: in the order of their starts every two consist of
/// one of each side. Orders both by their starts. Runs in virtual time, which no drift touches, are pairs as
/// they stand.
bool are_interleaved(std::vector<reports::GateRun>& baseline, std::vector<reports::GateRun>& candidate);

}  // namespace paretoken::experiments
