#pragma once
// Answers from the runs of a sweep with limits (--slo): the highest load shown to meet them, or within them.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result/slo.h"
#include "experiments/sweep/sweep.h"

namespace paretoken::experiments {

/// Returns the result of the run in `directory`; nothing if there is none, or if it was interrupted.
std::optional<RunResult> finished_run(const std::filesystem::path& directory);

/// Returns whether a run is invalid only because the server failed, which is a result of a sweep.
bool only_failed(const RunResult& result);

/// Returns the verdict of a run on all SLOs together (worst_of()). It is missed if the server did not keep
/// up, and for a run that is invalid because requests failed, unless it is shown to meet all.
SloVerdict verdict_on_all(const RunResult& result, const std::vector<Slo>& slos);

/// Returns whether a run keeps all SLOs although the client's host spoiled it. The delays of the client only
/// make times longer and rates lower, so that a search may go on from there.
bool is_within_although_spoiled(const RunResult& result, const std::vector<Slo>& slos);

/// Returns whether a search learns from a run: it is not invalid, or only the server failed, or
/// is_within_although_spoiled().
bool says_something(const RunResult& result, const std::vector<Slo>& slos);

/// Returns whether the run misses limits, none of which is shown to be missed, and a check says that the
/// client's host may have made its times longer.
bool may_miss_by_host(const RunResult& result, const std::vector<Slo>& slos);

/// Returns why the verdict on a run is missed: the server does not keep up, else the first SLO of `asked`
/// that is missed, else too many requests fail.
std::string binding_of(const RunResult& result, const LoadPlan& asked);

/// Returns the factor of requests that would show a run's verdict: 1 if shown, 2 if unknown.
double times_enough_for_all(const RunResult& result, const std::vector<Slo>& slos);

/// The repeats of a level that can show that it meets the SLOs.
enum class Shown : std::uint8_t {
    by_all,           ///< all repeats must show it
    by_second_repeat  ///< the run that a search makes of the level that it found
};

/// Returns what the runs of a cell say about the SLOs of the plan; the fields of a search itself, such as the
/// number of runs, have their defaults. If a level was measured again with more requests, only its longest
/// run counts. Invalid runs do not count, except if they are invalid because the server failed.
reports::SweepSearch answer_in(const SweepPlan& plan, const reports::SweepFile& file, const Cell& cell,
                               const std::filesystem::path& directory, Shown shown = Shown::by_all);

/// Throws unless `answer` has a load that was shown to meet the SLOs, and none within them that is more than
/// `precision` times as high (or the next whole number in flight): Error with ExitCode::gate_failed if a
/// level failed and no lower one was within the SLOs or insufficient, else gate_inconclusive.
void require_shown(const reports::SweepFile& file, const Cell& cell, const reports::SweepSearch& answer,
                   double precision);

}  // namespace paretoken::experiments
