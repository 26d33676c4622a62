#pragma once
// Measures the highest load that meets SLOs, by a sweep whose levels a KneeSearch or a LadderSearch chooses.
// Every run is a point of sweep.json; runs of an earlier search in the directory are used.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "experiments/sweep/level_search.h"
#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

struct Session;

inline constexpr std::uint64_t kNoLimitOnRuns = std::numeric_limits<std::uint64_t>::max();

struct SloSearchPlan {
    SweepPlan sweep;              ///< its `levels` hold the first and the highest level, its `asked` the SLOs
    bool ladder = false;          ///< whether all levels of `sweep` are measured first, and no others
    double precision = 1.1;       ///< KneeSearchOptions::precision
    std::uint64_t max_runs = 12;  ///< may be kNoLimitOnRuns
    std::uint64_t longest = 8;    ///< times the requests of a first run, if `max_time` does not decide
    /// At a rate, arrivals last at least so many times as long as the median request at the lowest level. The
    /// number in flight grows for as long as the first requests last, which looks like a queue.
    double least_e2e_times = 0;
    /// Time limit, in virtual time for runs in virtual time: no run begins that would probably exceed it, and
    /// a run is as long as a decision needs.
    std::optional<Duration> max_time = {};
    Duration spent_before = {};     ///< part of `max_time` that other runs took before the search
    std::optional<double> at = {};  ///< load whose share of saturation is reported
};

/// Returns the plan of the run for a step at `point`. A longer step has more requests, or more time; a first
/// run of open length has usual_requests(), on a ladder up to twice as many. With a time limit of the search
/// it also ends after a part of that, which depends on the highest rate that was measured, if any.
LoadPlan plan_of_step(const SloSearchPlan& plan, const SearchStep& step, const reports::SweepPoint& point,
                      std::optional<double> requests_per_s = {});

/// Searches, and writes sweep.json with every step and the result; `file` holds both, also if it throws.
/// Throws RuntimeError when a level cannot be measured or a stop is requested, Error with
/// ExitCode::measurement_invalid when a run is invalid for another reason than the server's failures.
void search_levels(const Target& target, const SloSearchPlan& plan, reports::SweepFile& file,
                   const std::filesystem::path& directory, const Session& session);

/// A step that was measured, with what the search was told of its run, and the time of the run.
struct KnownStep {
    StepResult result;
    double run_s = 0;
};
/// Returns what is known of a step; nothing if it was not measured.
using KnownSteps = std::function<std::optional<KnownStep>(const SearchStep&)>;

struct SearchedSoFar {
    const std::filesystem::path& directory;
    const Invocation& invocation;
    KnownSteps known;
    double longest_run_s = 0;  ///< time of the longest step so far at the level with the longest runs
};

/// Returns the shell line that continues the search with at least one run that is not known. An unfinished
/// search gets 8 more runs or twice the time, or else a time limit in which runs may be longer; a finished
/// one a finer precision, or higher loads if none missed the limits. Empty if none of these makes a run, or
/// nothing lies between pass and fail.
std::string narrowing_command(const SloSearchPlan& plan, const reports::SweepSearch& search,
                              const SearchedSoFar& so_far);

}  // namespace paretoken::experiments
