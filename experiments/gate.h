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
#include "experiments/server/target.h"
#include "reports/analysis/gate/decision/decision.h"

namespace paretoken::experiments {

struct Session;

/// One side: a server that runs already, a command that starts one for each run, or a stored baseline.
struct GateSide {
    std::string url = {};
    std::string command = {};
    std::string stored = {};  ///< name of the stored baseline; GatePlan::stored_runs has its runs

    bool operator==(const GateSide&) const = default;
    /// Returns "baseline NAME", the command (secrets are not hidden), or the URL with its secrets hidden.
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
    /// The seeds of the runs in turn, as those of stored runs; empty: `asked.seed` and the next ones.
    std::vector<std::uint64_t> seeds = {};
    bool checklist = false;  ///< whether the report has the checklist for a rollout
    bool whole = false;      ///< whether all pairs of the policy are measured, and judged once at the end
};

/// Returns the secrets of the load (secrets_of() in experiments/server/redaction.h) and of the sides' URLs
/// and commands (core/text/command_secrets.h).
Secrets gate_secrets(const GatePlan& plan, const Access& access);

/// Returns whether a pair begins with the candidate: baseline, candidate, candidate, baseline, and so on.
bool candidate_is_first(std::uint64_t pair);

/// Returns the seeds of stored runs, each once, so that a candidate can repeat their requests; none if a run
/// does not have a known one.
std::vector<std::uint64_t> seeds_of(const std::vector<reports::GateRun>& stored_runs);

/// Returns a LoadPlan::server_number that servers of stored runs, at least one, hardly have. It is the same
/// for the same runs in virtual time.
std::uint64_t number_of_server(const std::vector<reports::GateRun>& stored_runs);

/// Returns the plan of a run of pair `pair`, counted from 0, at `url`. The seed depends on the pair only;
/// simulated sides, and stored runs, have random numbers of their own. Only the first pair asks the questions
/// of --probe.
LoadPlan asked_of(const GatePlan& plan, const GateSide& side, const std::string& url, std::uint64_t pair);

/// Receives the verdict so far after each look, which is a number of pairs after which a decision is allowed.
using TellReport = std::function<void(const reports::GateReport&)>;

/// Measures a gate in `directory`, beside a stored baseline only the candidate, and keeps what an earlier
/// call measured unless the plan says to overwrite. `tell` may be empty. Throws UsageError when options or
/// work differ; RuntimeError for an unreachable side or a `stop`; Error with ExitCode::measurement_invalid
/// when a run is invalid twice because of the server; and as measure() does.
reports::GateReport measure_gate(const GatePlan& plan, const Access& access,
                                 const std::filesystem::path& directory, const Session& session,
                                 const TellReport& tell);

/// Measures `runs` runs of the candidate for a new baseline in `directory`, whose earlier runs are kept, and
/// returns their directories. Throws as measure_gate() does.
std::vector<std::filesystem::path> measure_baseline(const GatePlan& plan, const Access& access,
                                                    const std::filesystem::path& directory,
                                                    const Session& session, std::uint64_t runs);

/// Reads the runs in and below the directories. Throws UsageError for one without readable runs.
std::vector<reports::GateRun> runs_below(const std::vector<std::filesystem::path>& directories);

struct GateDirectories {
    std::vector<std::filesystem::path> baseline;
    std::vector<std::filesystem::path> candidate;
    /// Earlier baselines. The report shows their trends; their spread between days widens the intervals if
    /// the sides count as two separate sets. Runs that are invalid or did other work are left out.
    std::vector<std::filesystem::path> history = {};
};

/// Judges the runs in these directories: as pairs if there are at least 3 per side and are_interleaved(), a
/// single run per side by its own intervals if `within_run`, otherwise as two sets. Throws UsageError for a
/// directory without readable runs, or different work that `across` does not allow; Error with
/// ExitCode::measurement_invalid for an interrupted or invalid run.
reports::GateReport judge_gate(const reports::GatePolicy& policy, const GateDirectories& directories,
                               const std::set<reports::Across>& across, bool within_run,
                               bool checklist = false);

/// Sorts both sides by their starts, and returns whether they were measured in turn: each two successive runs
/// are one of each side. Runs in virtual time count as in turn; sides of different size do not.
bool are_interleaved(std::vector<reports::GateRun>& baseline, std::vector<reports::GateRun>& candidate);

}  // namespace paretoken::experiments
