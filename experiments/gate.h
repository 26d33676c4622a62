#pragma once
// A gate measures interleaved pairs of runs (ABBA), with the same seeds on both sides, until the evidence
// decides at a look or the largest number is reached. It can also judge runs that were measured before.
// gate.json is written after every pair, so that an interrupted gate can continue.
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/text/secrets.h"
#include "experiments/server/provenance.h"
#include "experiments/server/target.h"
#include "experiments/watcher.h"
#include "reports/analysis/gate/decision.h"

namespace paretoken::experiments {

/// One side: a server that runs already, a command that starts one for each run, or a stored baseline.
struct GateSide {
    std::string url = {};
    std::string command = {};
    std::string stored = {};  ///< name of the stored baseline; GatePlan::stored_runs has its runs

    bool operator==(const GateSide&) const = default;
    /// Returns "baseline NAME", the command as it was given, or else the URL with its credentials and query
    /// values hidden. Secrets in a command are not hidden.
    std::string shown() const;
};

struct GatePlan {
    LoadPlan asked;  ///< plan without a target, after with_dataset()
    GateSide baseline;
    GateSide candidate;
    reports::GatePolicy policy = reports::default_policy();
    std::set<reports::Across> across = {};  ///< differences that are allowed between the sides
    std::optional<Duration> max_time = {};  ///< time limit; a further pair begins only if it should fit
    std::vector<reports::GateRun> stored_runs = {};  ///< runs of a stored baseline
    std::vector<reports::GateRun> history = {};      ///< runs of earlier baselines, beside a stored one
    bool checklist = false;                          ///< whether the report has the checklist for a rollout
    bool whole = false;  ///< whether all pairs of the policy are measured, and judged once at the end
};

/// Returns the secrets of the load (secrets_of() in experiments/server/redaction.h) and of the sides' URLs
/// and commands (core/text/command_secrets.h).
Secrets gate_secrets(const GatePlan& plan, const Access& access);

/// Returns whether a pair begins with the candidate: baseline, candidate, candidate, baseline, and so on.
bool candidate_is_first(std::uint64_t pair);

/// Returns the plan of one run against the server at `url`; pairs are counted from 0. The seed depends on the
/// pair only, so that both sides do the same work. `side` is one of the plan's two sides; if they are
/// simulated, each draws its own random numbers. The first pair always keeps the texts of answers, and only
/// it asks the questions of --probe.
LoadPlan asked_of(const GatePlan& plan, const GateSide& side, const std::string& url, std::uint64_t pair);

/// Receives the verdict so far after each look, which is a number of pairs after which a decision is allowed.
using TellReport = std::function<void(const reports::GateReport&)>;

/// Measures a gate in `directory`. If the baseline is stored, only the candidate is measured, in
/// candidate/01, candidate/02, …, and its runs count as pairs do. If pairs of an earlier gate are there, they
/// are kept and not measured again, unless the plan says to overwrite, which removes them. `tell` may be
/// empty. Throws UsageError when the earlier gate has other options, or when the sides do not do the same
/// work; RuntimeError when a side cannot be reached, a result cannot be written, or `stop` is requested;
/// Error with ExitCode::measurement_invalid when a run is invalid twice because of the server. A pair that
/// the client's host spoiled twice is left out; after more than 3 of them the gate ends and is inconclusive.
/// A candidate's run that is invalid only because requests failed is not repeated, because the gate judges
/// the failures. Throws also as measure() (experiments/run.h) does.
reports::GateReport measure_gate(const GatePlan& plan, const Access& access,
                                 const std::filesystem::path& directory, const Invocation& invocation,
                                 Watcher& watcher, const std::stop_token& stop, const TellReport& tell);

/// Measures `runs` runs of the candidate for a baseline that does not exist yet, in `directory`, and returns
/// their directories. The plan's baseline is a stored one without runs. Runs of an earlier call are kept.
/// Throws as measure_gate() does.
std::vector<std::filesystem::path> measure_baseline(const GatePlan& plan, const Access& access,
                                                    const std::filesystem::path& directory,
                                                    const Invocation& invocation, Watcher& watcher,
                                                    const std::stop_token& stop, std::uint64_t runs);

/// Reads the finished runs in and below the directories. Throws UsageError when a directory has no run or
/// one that cannot be read.
std::vector<reports::GateRun> runs_below(const std::vector<std::filesystem::path>& directories);

struct GateDirectories {
    std::vector<std::filesystem::path> baseline;
    std::vector<std::filesystem::path> candidate;
    /// Earlier baselines. The report shows their trends; their spread between days widens the intervals if
    /// the sides count as two separate sets. Runs that are invalid or did other work are left out.
    std::vector<std::filesystem::path> history = {};
};

/// Judges runs that were measured before; each directory holds one or several. They count as pairs if there
/// are at least 3 on each side and are_interleaved(). A single run per side is judged by its own intervals
/// if `within_run` is true. Otherwise the sides count as two separate sets. `across` are the differences
/// that are allowed between the sides; `checklist` adds the checklist for a rollout. Throws UsageError when
/// a directory has no run or one that cannot be read, or when the sides did not do the same work; Error
/// with ExitCode::measurement_invalid when a run was interrupted or is invalid, except for a run of the
/// candidate that is invalid only because requests failed.
reports::GateReport judge_gate(const reports::GatePolicy& policy, const GateDirectories& directories,
                               const std::set<reports::Across>& across, bool within_run,
                               bool checklist = false);

/// Returns whether the sides were measured in turn: if all runs are sorted by their starts, the first two,
/// the next two and so on are one run of each side. Returns false if the sides have different numbers of
/// runs. Runs in virtual time, which has no drift, count as measured in turn, in the order given. In all
/// other cases the function sorts both sides by their starts.
bool are_interleaved(std::vector<reports::GateRun>& baseline, std::vector<reports::GateRun>& candidate);

}  // namespace paretoken::experiments
