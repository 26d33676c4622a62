#pragma once
// Measures the highest load that meets SLOs, by a sweep whose levels a KneeSearch chooses. Every run is a
// point of sweep.json; runs of an earlier search in the same directory are not measured again.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "experiments/sweep/knee_search.h"
#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

struct SloSearchPlan {
    SweepPlan sweep;  ///< sweep; its levels are the first one and the highest one allowed
    std::vector<Slo> slos = {};
    std::vector<std::string> slo_texts = {};  ///< the SLOs as the user wrote them
    double precision = 1.1;
    std::uint64_t max_runs = 12;
    std::optional<Duration> max_time = {};  ///< time limit: no run begins that would probably exceed it
    std::optional<double> at = {};          ///< load whose share of saturation is reported
};

/// Searches, and writes sweep.json with every step and the result. Throws RuntimeError when a level
/// cannot be measured or a stop is requested, and Error with ExitCode::measurement_invalid when a run is
/// invalid for another reason than the server's failures; `file` then holds the runs measured so far.
void search_knee(const Target& target, const SloSearchPlan& plan, reports::SweepFile& file,
                 const std::filesystem::path& directory, const Invocation& invocation, Watcher& watcher,
                 const loadgen::Interruption& interruption);

/// Returns the verdict of a run on all SLOs together: fail when one is certainly missed or the server does
/// not keep up, pass when all are certainly met.
SloVerdict verdict_on_all(const RunResult& result, const std::vector<Slo>& slos);

/// Returns the command that continues the search and narrows its bracket: with more runs, and a finer
/// precision if the bracket has reached the one asked for. Empty when no load lies between the two loads.
std::string narrowing_command(const SloSearchPlan& plan, const reports::SweepSearch& search,
                              const std::filesystem::path& directory, const Invocation& invocation);

/// Throws Error with ExitCode::gate_failed when no level meets the SLOs, with ExitCode::gate_inconclusive
/// when the evidence shows it for no level.
void require_found(const reports::SweepSearch& search);

}  // namespace paretoken::experiments
