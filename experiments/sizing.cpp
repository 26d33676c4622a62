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

constexpr std::uint64_t kSearchRuns = 16;
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

std::optional<double> e2e_mean_of(const std::filesystem::path& run) {
    const RunResult result = reports::read_run_directory(run);
    const MetricSummary* const e2e = result.metric("e2e_s");
    return e2e == nullptr ? std::nullopt : e2e->mean;
}

reports::PlannedSpeed speed_of(const reports::SweepFile& file, const reports::SweepPoint& point,
                               const std::filesystem::path& directory) {
    return {.load = point.load,
            .requests_per_s = point.requests_per_s.value_or(0),
            .output_tokens_per_s = point.output_tokens_per_s.value_or(0),
            .ttft_p50_s = point.ttft_p50_s,
            .ttft_p99_s = point.ttft_p99_s,
            .tpot_p50_s = point.tpot_p50_s,
            .e2e_mean_s = e2e_mean_of(directory / point.directory),
            .interactivity_tok_per_s = point.interactivity_tok_per_s,
            .shown = file.search->pass == point.load,
            .binding = file.search->binding,
            .runs = file.search->runs};
}

}  // namespace

FoundLoad highest_simulated_load(const LoadPlan& asked, Axis axis, double most,
                                 const std::filesystem::path& directory, const Invocation& invocation,
                                 const std::stop_token& stop) {
    Watcher silent;
    SloSearchPlan search{
        .sweep = search_plan(asked, axis, most), .precision = kSearchPrecision, .max_runs = kSearchRuns};
    SweepPlan listed = search.sweep;
    listed.levels.clear();  // the search chooses its levels
    reports::ensure_directory(directory);
    reports::SweepFile file = fresh_sweep(listed, invocation);
    const auto target = target_of(search.sweep, silent, stop);
    search_levels(*target, search, file, directory, {invocation, silent, {stop, stop}});
    const auto best = file.search->within ? file.search->within : file.search->pass;
    const reports::SweepPoint* const point = best ? point_at(file, *best) : nullptr;
    if (point != nullptr) return {.speed = speed_of(file, *point, directory)};
    return {.why_none = file.search->binding};
}

bool is_within_limits(const LoadPlan& asked, Axis axis, double load, const std::filesystem::path& directory,
                      const Invocation& invocation, const std::stop_token& stop) {
    Watcher silent;
    const SweepPlan plan = search_plan(asked, axis, load);
    const auto target = target_of(plan, silent, stop);
    LoadPlan at = at_level(plan.asked, axis, load);
    at.stop.requests = std::max(usual_requests(at), kRequestsOfCheck);
    const Measured run = measure(*target, at, directory, {invocation, silent, {stop, stop}});
    require_whole(run, *target, "nothing was planned");
    return verdict_on_all(run.result, parse_slos(at.slos)) != SloVerdict::missed;
}

}  // namespace paretoken::experiments
