#pragma once
// Measures the highest load that meets SLOs, by a sweep whose levels a KneeSearch
// (experiments/sweep/knee_search.h) chooses. Every run is a point of sweep.json; runs of an earlier search
// in the same directory are not measured again.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "experiments/sweep/knee_search.h"
#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

struct SloSearchPlan {
    SweepPlan sweep;  ///< its `levels` hold the first level and the highest level allowed
    std::vector<Slo> slos = {};
    std::vector<std::string> slo_texts = {};  ///< the SLOs as the user wrote them
    double precision = 1.1;                   ///< KneeSearchOptions::precision
    std::uint64_t max_runs = 12;
    /// Time limit, in virtual time for runs in virtual time: no run begins that would probably exceed it, and
    /// a run is as long as a decision needs.
    std::optional<Duration> max_time = {};
    std::optional<double> at = {};  ///< load whose share of saturation is reported
};

/// Searches, and writes sweep.json with every step and the result, which is also in `file.search`. Throws
/// RuntimeError when a level cannot be measured or a stop is requested, and Error with
/// ExitCode::measurement_invalid when a run is invalid for another reason than the server's failures. If it
/// throws, `file` holds the runs measured so far.
void search_knee(const Target& target, const SloSearchPlan& plan, reports::SweepFile& file,
                 const std::filesystem::path& directory, const Invocation& invocation, Watcher& watcher,
                 const loadgen::Interruption& interruption);

/// Returns the verdict of a run on all SLOs together (worst_of()). It is missed if the server did not keep
/// up, and for a run that is invalid because requests failed, unless it is shown to meet all.
SloVerdict verdict_on_all(const RunResult& result, const std::vector<Slo>& slos);

/// Returns the reason why the verdict on a run is missed (verdict_on_all()): a clause that says that the
/// server does not keep up, otherwise the text of the first SLO that is missed, otherwise a clause that says
/// that too many requests fail.
std::string binding_of(const RunResult& result, const SloSearchPlan& plan);

/// Returns the command, as one line for a shell, that continues the search in `directory` with 8 more runs.
/// The command also sets a finer precision if the highest passing and the lowest failing load are already
/// as near as asked for. Empty if these two loads are neighbouring whole numbers of concurrent requests,
/// because nothing lies between them.
std::string narrowing_command(const SloSearchPlan& plan, const reports::SweepSearch& search,
                              const std::filesystem::path& directory, const Invocation& invocation);

/// Does nothing if the search in `file`, which must have one, found a load (SweepSearch::pass), and none that
/// is more than `precision` (SloSearchPlan::precision) higher was measured within the SLOs. Otherwise it
/// throws Error: with ExitCode::gate_failed if a level failed and no lower level was within the SLOs or
/// insufficient; else with ExitCode::gate_inconclusive.
void require_found(const reports::SweepFile& file, double precision);

}  // namespace paretoken::experiments
