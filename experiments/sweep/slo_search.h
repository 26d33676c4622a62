#pragma once
// Measures the highest load that meets SLOs, by a sweep whose levels a KneeSearch or a LadderSearch chooses.
// Every run is a point of sweep.json; runs of an earlier search in the directory are used.
#include <filesystem>
#include <optional>
#include <string>

#include "experiments/sweep/level_search.h"
#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

struct Session;

struct SloSearchPlan {
    SweepPlan sweep;         ///< its `levels` hold the first and the highest level, its `asked` the SLOs
    bool ladder = false;     ///< whether all levels of `sweep` are measured first, and no others
    double precision = 1.1;  ///< KneeSearchOptions::precision
    std::uint64_t max_runs = 12;
    std::uint64_t longest = 8;  ///< times the requests of a first run, if `max_time` does not decide
    /// At a rate, arrivals last at least so many times as long as the median request at the lowest level. The
    /// number in flight grows for as long as the first requests last, which looks like a queue.
    double least_e2e_times = 0;
    /// Time limit, in virtual time for runs in virtual time: no run begins that would probably exceed it, and
    /// a run is as long as a decision needs.
    std::optional<Duration> max_time = {};
    std::optional<double> at = {};  ///< load whose share of saturation is reported
};

/// Returns the plan of the run for a step at `point`. A longer step has more requests, or more time; a first
/// run of open length has usual_requests(), on a ladder up to twice as many.
LoadPlan plan_of_step(const SloSearchPlan& plan, const SearchStep& step, const reports::SweepPoint& point);

/// Searches, and writes sweep.json with every step and the result; `file` holds both, also if it throws.
/// Throws RuntimeError when a level cannot be measured or a stop is requested, Error with
/// ExitCode::measurement_invalid when a run is invalid for another reason than the server's failures.
void search_levels(const Target& target, const SloSearchPlan& plan, reports::SweepFile& file,
                   const std::filesystem::path& directory, const Session& session);

/// Returns the shell line that continues the search in `directory` with 8 more runs, and a finer precision if
/// the bracket is as narrow as asked for. Empty if nothing lies between passing and failing load.
std::string narrowing_command(const SloSearchPlan& plan, const reports::SweepSearch& search,
                              const std::filesystem::path& directory, const Invocation& invocation);

}  // namespace paretoken::experiments
