#pragma once
// The highest load that meets SLOs, measured: a sweep whose levels a KneeSearch chooses. Every run is a point
// of sweep.json; what an earlier search into the same directory has measured is not measured again.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "experiments/sweep/knee_search.h"
#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

struct SloSearchPlan {
    SweepPlan sweep;  ///< levels: the first, and the last that may be asked for
    std::vector<Slo> slos = {};
    std::vector<std::string> slo_texts = {};  ///< as given
    double precision = 1.1;
    std::uint64_t max_runs = 12;
    std::optional<Duration> max_time = {};  ///< no run begins that would probably end later
    std::optional<double> at = {};          ///< a load whose share of saturation is wanted
};

/// Searches, and writes sweep.json with every step and what was found. Throws RuntimeError when a level
/// cannot be measured or `stop` is requested, and Error with ExitCode::measurement_invalid when a run is
/// invalid for another reason than the server's failures; `file` says what was measured until then.
void search_knee(const Target& target, const SloSearchPlan& plan, reports::SweepFile& file,
                 const std::filesystem::path& directory, const Invocation& invocation, Watcher& watcher,
                 const loadgen::Interruption& interruption);

/// The verdict of a run on all SLOs together: fail when one is certainly missed or the server does not keep
/// up, pass when all are certainly met.
SloVerdict verdict_on_all(const RunResult& result, const std::vector<Slo>& slos);

/// The command that goes on with the search and narrows its bracket: more runs, and a finer precision where
/// the bracket has reached the one that was asked for. Empty when nothing lies between the two loads.
std::string narrowing_command(const SloSearchPlan& plan, const reports::SweepSearch& search,
                              const std::filesystem::path& directory, const Invocation& invocation);

/// Throws what the search deserves: Error with ExitCode::gate_failed when no level meets the SLOs, with
/// ExitCode::gate_inconclusive when none could be shown to.
void require_found(const reports::SweepSearch& search);

}  // namespace paretoken::experiments
