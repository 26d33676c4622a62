#include "experiments/sweep/slo_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <tuple>

#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/result/overload.h"
#include "core/stable_sort.h"
#include "core/statistics.h"
#include "experiments/session.h"
#include "experiments/sweep/answer.h"
#include "experiments/sweep/knee_search.h"
#include "experiments/sweep/ladder_search.h"
#include "experiments/watcher.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::PointState;
using reports::SweepFile;
using reports::SweepPoint;

constexpr std::uint64_t kLongestInBudget = 1024;  // times the requests of a first run

/// The time that a search may still take.
class TimeBudget {
  public:
    TimeBudget(std::optional<Duration> all, std::uint64_t longest) : left_(all), without_limit_(longest) {}

    /// Takes the time of a run that was `longer` times as long as a first run.
    void spend(Duration time, std::uint64_t longer) {
        longest_ = std::max(longest_, time / static_cast<std::int64_t>(longer));
        if (left_) *left_ -= time;
    }

    /// Returns how many times as long as a first run the next one may be; 0 if none fits.
    std::uint64_t fitting() const {
        if (!left_) return without_limit_;
        if (longest_ <= Duration{}) return kLongestInBudget;
        return static_cast<std::uint64_t>(std::max<std::int64_t>(*left_ / longest_, 0));
    }

  private:
    std::optional<Duration> left_;
    std::uint64_t without_limit_;
    Duration longest_{};  ///< longest time of a first run so far
};

SweepPoint point_of(const SloSearchPlan& plan, const SearchStep& step) {
    SweepPoint point =
        pending_point(plan.sweep.axis, step.level, plan.sweep.cells.front(), step.confirms ? 2 : 1);
    if (step.longer > 1) {
        point.directory += fmt::format("-x{}", step.longer);
        point.load_label += fmt::format(" ×{}", step.longer);
    }
    return point;
}

/// Returns the rounds of a first run on a ladder: as few as show that a run is within the SLOs, but so many
/// that 2, 4, 8 … times as many show that it meets them if no request misses them.
std::uint64_t first_rounds(const std::vector<Slo>& slos) {
    constexpr double kMargin = 1.3;  // for the start of the run, which does not count
    double most = 0;
    for (const Slo& slo : slos) {
        const double p = slo.p.value_or(kSloPercentile);
        most = std::max(most, kMargin * static_cast<double>(samples_to_certify(std::max(p, 1 - p))));
    }
    while (most >= 2 * kUsualRounds) most /= 2;
    return std::max(kUsualRounds, static_cast<std::uint64_t>(std::ceil(most)));
}

std::unique_ptr<LevelSearch> search_of(const SloSearchPlan& plan) {
    const std::uint64_t longest = plan.max_time ? kLongestInBudget : plan.longest;
    const std::vector<double>& levels = plan.sweep.levels;
    if (plan.ladder) return std::make_unique<LadderSearch>(levels, longest);
    return std::make_unique<KneeSearch>(KneeSearchOptions{.from = levels.front(),
                                                          .most = levels.back(),
                                                          .whole = plan.sweep.axis == Axis::concurrency,
                                                          .precision = plan.precision,
                                                          .max_runs = plan.max_runs,
                                                          .longest = longest});
}

/// Returns the result of an earlier search at this point.
std::optional<RunResult> measured_before(const SweepFile& file, const SweepPoint& point,
                                         const fs::path& directory) {
    const auto old = std::ranges::find_if(file.points, [&](const SweepPoint& p) {
        return p.directory == point.directory && p.state == PointState::done;
    });
    if (old == file.points.end()) return std::nullopt;
    return finished_run(directory / point.directory);
}

}  // namespace

LoadPlan plan_of_step(const SloSearchPlan& plan, const SearchStep& step, const SweepPoint& point) {
    LoadPlan asked = plan_at(plan.sweep, point);
    if (!asked.stop.requests && !asked.stop.duration)
        asked.stop.requests =
            usual_requests(asked, plan.ladder ? first_rounds(parse_slos(asked.slos)) : kUsualRounds);
    if (asked.stop.requests) *asked.stop.requests *= step.longer;
    if (asked.stop.duration) *asked.stop.duration *= static_cast<std::int64_t>(step.longer);
    if (plan.max_time)  // a run that is shown to miss a limit need not go on
        for (const std::string& text : asked.slos)
            if (!metric_named(parse_slo(text).tag)->of_jobs)
                asked.stop.rules.push_back(fmt::format("slo:{}>{}", name_of(parse_slo(text)),
                                                       std::string_view(text).substr(text.find(':') + 1)));
    return asked;
}

void search_levels(const Target& target, const SloSearchPlan& plan, SweepFile& file,
                   const fs::path& directory, const Session& session) {
    const std::unique_ptr<LevelSearch> search = search_of(plan);
    const std::vector<Slo> slos = parse_slos(plan.sweep.asked.slos);
    std::optional<double> most_requests_per_s;
    Rates rates;  // those of the last run of each load
    std::optional<double> not_kept_up;
    double lowest = 0;
    std::optional<double> shortest_e2e_s;
    TimeBudget budget(plan.max_time, plan.longest);
    bool out_of_time = false;
    while (search->next()) {
        const std::uint64_t fitting = budget.fitting();
        if (fitting == 0) {
            out_of_time = true;
            break;
        }
        search->limit(fitting);
        const auto step = search->next();
        if (!step) break;
        const SweepPoint point = point_of(plan, *step);
        auto result = measured_before(file, point, directory);
        session.watcher.point_begins(search->runs() + 1, plan.max_time ? 0 : plan.max_runs, point.load_label,
                                     result.has_value());
        if (!result) {
            const TimePoint began = Clock::now();
            LoadPlan asked = plan_of_step(plan, *step, point);
            if (plan.sweep.axis == Axis::request_rate && asked.stop.requests)
                asked.stop.requests =
                    std::max(*asked.stop.requests,
                             step->longer * static_cast<std::uint64_t>(plan.least_e2e_times * step->level *
                                                                       shortest_e2e_s.value_or(0)));
            result = measure_point(target, asked, file, point, directory, session);
            if (result->partial)
                throw RuntimeError(fmt::format("interrupted; this command continues the search: {}",
                                               shell_line(words_to_continue(session.invocation, directory))));
            budget.spend(target.in_virtual_time() ? from_seconds(result->window.run_s) : Clock::now() - began,
                         step->longer);
        }
        if (result->validity.verdict == Verdict::invalid && !only_failed(*result))
            throw Error(
                ExitCode::measurement_invalid,
                fmt::format(
                    "the search ended because the run at {} is invalid; its reasons are in run.json in {}",
                    point.load_label, (directory / point.directory).string()));
        const double rate = result->throughput.at(figure::kRequests).value_or(0);
        most_requests_per_s = std::max(most_requests_per_s.value_or(0), rate);
        if (rate > 0) rates[step->level] = rate;
        if (!kept_up(*result)) not_kept_up = std::min(not_kept_up.value_or(step->level), step->level);
        if (lowest == 0 || step->level < lowest) {
            lowest = step->level;
            shortest_e2e_s = result->percentile("e2e_s", 0.5);
        }
        search->tell({verdict_on_all(*result, slos), rate, times_enough_for_all(*result, slos)});
    }
    reports::SweepSearch found = answer_in(plan.sweep, file, plan.sweep.cells.front(), directory,
                                           plan.ladder ? Shown::by_all : Shown::by_second_repeat);
    found.most_requests_per_s = most_requests_per_s;
    found.runs = search->runs();
    found.ended = out_of_time ? "--max-time allows no further run" : search->ended();
    const bool by_rate = plan.sweep.axis == Axis::request_rate;
    found.elasticity = elasticity_of(rates);
    found.saturated_from = by_rate ? not_kept_up : saturated_from(rates);
    if (shortest_e2e_s && found.most_requests_per_s && !plan.ladder)
        found.saturation = *found.most_requests_per_s * *shortest_e2e_s;
    found.at = plan.at;
    if (const auto& full = by_rate ? found.most_requests_per_s : found.saturation;
        plan.at && full && *full > 0)
        found.of_saturation = *plan.at / *full;
    sort_stably(file.points, [](const SweepPoint& a, const SweepPoint& b) {
        return std::tie(a.load, a.repeat, a.directory) < std::tie(b.load, b.repeat, b.directory);
    });
    if (search->is_open()) found.narrow = narrowing_command(plan, found, directory, session.invocation);
    file.search = std::move(found);
    reports::write_sweep(directory, file);
}

std::string narrowing_command(const SloSearchPlan& plan, const reports::SweepSearch& search,
                              const fs::path& directory, const Invocation& invocation) {
    constexpr std::uint64_t kMoreRuns = 8;
    constexpr double kNarrower = 4;  // divides the allowed gap between the loads
    const bool is_bracket = search.pass && search.fail;
    const bool whole = plan.sweep.axis == Axis::concurrency;
    if (is_bracket && whole && *search.fail - *search.pass <= 1) return {};
    auto words = words_to_continue(invocation, directory);
    words = plan.max_time
                ? with_option(std::move(words), "--max-time", paretoken::text_of(*plan.max_time * 2))
                : with_option(std::move(words), "--max-runs", fmt::format("{}", search.runs + kMoreRuns));
    if (is_bracket && !plan.ladder && *search.fail <= *search.pass * plan.precision)
        words = with_option(std::move(words), "--precision",
                            fmt::format("{:g}", 1 + (plan.precision - 1) / kNarrower));
    return shell_line(words);
}

}  // namespace paretoken::experiments
