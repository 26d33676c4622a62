#include "experiments/sizing.h"

#include <algorithm>

#include "experiments/session.h"
#include "experiments/sweep/answer.h"
#include "experiments/sweep/cells.h"
#include "experiments/sweep/slo_search.h"
#include "experiments/watcher.h"
#include "reports/files/file_io.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

constexpr std::uint64_t kSearchRuns = 24;
constexpr std::uint64_t kLongestStep = 2;  // longer runs would only show at 99 % what the others found
constexpr double kLeastE2eTimes = 40;      // at the highest load a request takes up to 20 times as long
constexpr double kSearchPrecision = 1.05;
constexpr std::uint64_t kRequestsOfCheck = 4000;

SweepPlan search_plan(const LoadPlan& asked, Axis axis, double most) {
    SweepPlan plan{.asked = asked, .axis = axis};
    plan.levels = {1, most};
    plan.asked = with_common_dataset(plan.asked, plan.cells);
    return plan;
}

std::unique_ptr<Target> target_of(const SweepPlan& plan, Watcher& watcher, const std::stop_token& stop) {
    return open_target(at_level(plan.asked, plan.axis, 1), {}, watcher, stop);
}

/// The last run at a load, which is the longest.
const reports::SweepPoint* point_at(const reports::SweepFile& file, double load) {
    const reports::SweepPoint* last = nullptr;
    for (const reports::SweepPoint& point : file.points)
        if (point.load == load && point.state == reports::PointState::done &&
            (last == nullptr || point.requests >= last->requests))
            last = &point;
    return last;
}

reports::PlannedSpeed speed_of(const RunResult& result, double load) {
    const reports::SweepPoint point = reports::sweep_point_of(result, {.load = load});
    const MetricSummary* const e2e = result.metric("e2e_s");
    return {.load = load,
            .requests_per_s = point.requests_per_s.value_or(0),
            .output_tokens_per_s = point.output_tokens_per_s.value_or(0),
            .ttft_p50_s = point.ttft_p50_s,
            .ttft_p99_s = point.ttft_p99_s,
            .tpot_p50_s = point.tpot_p50_s,
            .itl_p50_s = point.itl_p50_s,
            .itl_p99_s = point.itl_p99_s,
            .e2e_mean_s = e2e == nullptr ? std::nullopt : e2e->mean,
            .goodput_per_s = point.goodput_per_s,
            .goodput_ratio = point.goodput_ratio,
            .interactivity_tok_per_s = point.interactivity_tok_per_s};
}

}  // namespace

FoundLoad highest_simulated_load(const LoadPlan& asked, Axis axis, double most,
                                 const std::filesystem::path& directory, const Invocation& invocation,
                                 const std::stop_token& stop) {
    Watcher silent;
    SloSearchPlan search{.sweep = search_plan(asked, axis, most),
                         .precision = kSearchPrecision,
                         .max_runs = kSearchRuns,
                         .longest = kLongestStep,
                         .least_e2e_times = kLeastE2eTimes};
    SweepPlan listed = search.sweep;
    listed.levels.clear();  // the search chooses its levels
    reports::ensure_directory(directory);
    reports::SweepFile file = fresh_sweep(listed, invocation);
    const auto target = target_of(search.sweep, silent, stop);
    search_levels(*target, search, file, directory, {invocation, silent, {stop, stop}});
    const auto best = file.search->within ? file.search->within : file.search->pass;
    const reports::SweepPoint* const point = best ? point_at(file, *best) : nullptr;
    if (point == nullptr) return {.why_none = file.search->binding};
    FoundLoad found{.speed =
                        speed_of(reports::read_run_directory(directory / point->directory), point->load)};
    found.speed->shown = file.search->pass == point->load;
    found.speed->binding = file.search->binding;
    found.speed->runs = file.search->runs;
    return found;
}

std::optional<reports::PlannedSpeed> speed_within_limits(const LoadPlan& asked, Axis axis, double load,
                                                         const std::filesystem::path& directory,
                                                         const Invocation& invocation,
                                                         const std::stop_token& stop) {
    Watcher silent;
    const SweepPlan plan = search_plan(asked, axis, load);
    const auto target = target_of(plan, silent, stop);
    LoadPlan at = at_level(plan.asked, axis, load);
    at.stop.requests = std::max(usual_requests(at), kRequestsOfCheck);
    const Measured run = measure(*target, at, directory, {invocation, silent, {stop, stop}});
    require_whole(run, *target, "nothing was planned");
    const SloVerdict verdict = verdict_on_all(run.result, parse_slos(at.slos));
    if (verdict == SloVerdict::missed) return {};
    reports::PlannedSpeed speed = speed_of(run.result, load);
    speed.shown = verdict == SloVerdict::met;
    return speed;
}

}  // namespace paretoken::experiments
