#include "experiments/sweep/slo_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/result/figures.h"
#include "core/result/validity.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::PointState;
using reports::SweepFile;
using reports::SweepPoint;

constexpr std::uint64_t kLongest = 8;             // times the requests of a first run
constexpr std::uint64_t kLongestInBudget = 1024;  // where a time limit bounds the search

/// The time that a search may still take.
class TimeBudget {
  public:
    explicit TimeBudget(std::optional<Duration> all) : left_(all) {}

    /// Takes the time of a run that was `longer` times as long as a first run.
    void spend(Duration time, std::uint64_t longer) {
        longest_ = std::max(longest_, time / static_cast<std::int64_t>(longer));
        if (left_) *left_ -= time;
    }

    /// Returns how many times as long as a first run the next one may be; 0 if none fits.
    std::uint64_t fitting() const {
        if (!left_) return kLongest;
        if (longest_ <= Duration{}) return kLongestInBudget;
        return static_cast<std::uint64_t>(std::max<std::int64_t>(*left_ / longest_, 0));
    }

  private:
    std::optional<Duration> left_;
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

/// Returns the plan of a step. A longer step has more requests, or more time.
LoadPlan asked_for(const SloSearchPlan& plan, const SearchStep& step, const SweepPoint& point) {
    constexpr std::uint64_t kRequests = 100;
    constexpr std::uint64_t kPerSlot = 20;  // whole rounds, which show at least what a limit is within
    LoadPlan asked = plan_at(plan.sweep, point);
    if (!asked.stop.requests && !asked.stop.duration) {
        asked.stop.requests = kRequests;
        for (const RequestClass& of : asked.classes)
            asked.stop.requests = std::max(*asked.stop.requests, kPerSlot * of.concurrency.value_or(0));
    }
    if (asked.stop.requests) *asked.stop.requests *= step.longer;
    if (asked.stop.duration) *asked.stop.duration *= static_cast<std::int64_t>(step.longer);
    return asked;
}

/// Returns whether a run is invalid only because the server failed, which is a result of the search.
bool only_failed(const RunResult& result) {
    const auto& reasons = result.validity.reasons;
    return std::all_of(reasons.begin(), reasons.end(), [](const Reason& reason) {
        return reason.severity != Verdict::invalid || reason.check == "errors";
    });
}

/// Returns the factor of the run's requests that would probably decide every SLO; 2 if unknown.
double times_enough_for_all(const RunResult& result, const std::vector<Slo>& slos) {
    double most = 1;
    for (const Slo& slo : slos)
        if (!finding_on(result, slo).shown) most = std::max(most, times_enough(result, slo).value_or(2));
    return most > 1 ? most : 2;
}

/// Returns the result of an earlier search at this point.
std::optional<RunResult> measured_before(const SweepFile& file, const SweepPoint& point,
                                         const fs::path& directory) {
    const auto old = std::find_if(file.points.begin(), file.points.end(), [&](const SweepPoint& p) {
        return p.directory == point.directory && p.state == PointState::done;
    });
    if (old == file.points.end() || !reports::has_result(directory / point.directory)) return std::nullopt;
    RunResult result = reports::read_run_directory(directory / point.directory);
    if (result.partial) return std::nullopt;
    return result;
}

SweepPoint& place_for(SweepFile& file, const SweepPoint& point) {
    const auto old = std::find_if(file.points.begin(), file.points.end(),
                                  [&](const SweepPoint& p) { return p.directory == point.directory; });
    if (old != file.points.end()) return *old;
    return file.points.emplace_back(point);
}

RunResult measured_now(const Target& target, const LoadPlan& asked, SweepFile& file,
                       const SweepPoint& planned, const fs::path& directory, const Invocation& invocation,
                       Watcher& watcher, const loadgen::Interruption& interruption) {
    place_for(file, planned).state = PointState::running;
    reports::write_sweep(directory, file);
    Measured measured =
        measure(target, asked, directory / planned.directory, invocation, watcher, interruption);
    SweepPoint& point = place_for(file, planned);
    point = reports::sweep_point_of(measured.result, planned);
    point.load_label = planned.load_label;
    if (measured.result.partial) point.state = PointState::pending;
    reports::write_sweep(directory, file);
    if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
    if (!measured.result.partial) watcher.point_ends(point, directory / point.directory);
    if (measured.result.partial)
        throw RuntimeError(fmt::format("interrupted; the same command goes on from {}", directory.string()));
    return std::move(measured.result);
}

/// Returns the highest level below `fail` whose confirming run, of this search or of an earlier one that it
/// continues, met all SLOs.
std::optional<double> confirmed_in(const SweepFile& file, const SloSearchPlan& plan,
                                   const fs::path& directory, std::optional<double> fail) {
    std::optional<double> highest;
    for (const SweepPoint& point : file.points) {
        if (point.repeat != 2 || (fail && point.load >= *fail) || (highest && point.load <= *highest))
            continue;
        const auto result = measured_before(file, point, directory);
        if (result && verdict_on_all(*result, plan.slos) == SloVerdict::met) highest = point.load;
    }
    return highest;
}

/// The highest level that was measured within all SLOs.
struct Within {
    double level = 0;
    std::string text;
};

/// Returns a clause on the distance of a run from each limit, and how much longer a run would show it.
std::string distance_text(const RunResult& result) {
    constexpr double kPercent = 100;
    std::string text;
    double times = 1;
    for (const SloResult& slo : result.slo) {
        text +=
            fmt::format("{}{} is {:.0f} % of its limit, {} of {} requests miss it", text.empty() ? "" : "; ",
                        slo.key, slo.value.value_or(0) / slo.limit * kPercent, slo.over, slo.n);
        times = std::max(times, slo.times_enough.value_or(1));
    }
    if (times > 1)
        text +=
            fmt::format("; a run of about {:.2g} minutes would show it", times * result.window.run_s / 60);
    return text;
}

/// Returns the highest level below `fail` whose latest run met all SLOs or was within them, of this search or
/// of an earlier one that it continues.
std::optional<Within> within_in(const SweepFile& file, const SloSearchPlan& plan, const fs::path& directory,
                                std::optional<double> fail) {
    std::optional<Within> highest;
    for (const SweepPoint& point : file.points) {
        if ((fail && point.load >= *fail) || (highest && point.load < highest->level)) continue;
        const auto result = measured_before(file, point, directory);
        if (!result) continue;
        const SloVerdict verdict = verdict_on_all(*result, plan.slos);
        if (verdict == SloVerdict::met || verdict == SloVerdict::within)
            highest = Within{point.load, distance_text(*result)};
    }
    return highest;
}

}  // namespace

SloVerdict verdict_on_all(const RunResult& result, const std::vector<Slo>& slos) {
    if (!kept_up(result)) return SloVerdict::missed;
    SloVerdict all = SloVerdict::met;
    for (const Slo& slo : slos) all = worst_of(all, finding_on(result, slo).verdict);
    const bool is_shown = all == SloVerdict::met || all == SloVerdict::missed;
    if (!is_shown && result.validity.verdict == Verdict::invalid && only_failed(result))
        return SloVerdict::missed;
    return all;
}

std::string binding_of(const RunResult& result, const SloSearchPlan& plan) {
    if (!kept_up(result)) return "the server does not keep up with the arrivals";
    for (std::size_t i = 0; i < plan.slos.size(); ++i)
        if (finding_on(result, plan.slos[i]).verdict == SloVerdict::missed) return plan.slo_texts[i];
    return "too many requests fail";
}

void search_knee(const Target& target, const SloSearchPlan& plan, SweepFile& file, const fs::path& directory,
                 const Invocation& invocation, Watcher& watcher, const loadgen::Interruption& interruption) {
    const std::vector<double>& levels = plan.sweep.levels;
    KneeSearch search({.from = levels.front(),
                       .most = levels.back(),
                       .whole = plan.sweep.axis == Axis::concurrency,
                       .precision = plan.precision,
                       .max_runs = plan.max_runs,
                       .longest = plan.max_time ? kLongestInBudget : kLongest});
    reports::SweepSearch found{.slos = plan.slo_texts};
    double lowest = 0;
    std::optional<double> shortest_e2e_s;
    TimeBudget budget(plan.max_time);
    bool out_of_time = false;
    while (search.next()) {
        const std::uint64_t fitting = budget.fitting();
        if (fitting == 0) {
            out_of_time = true;
            break;
        }
        search.limit(fitting);
        const auto step = search.next();
        const SweepPoint point = point_of(plan, *step);
        auto result = measured_before(file, point, directory);
        watcher.point_begins(search.runs() + 1, plan.max_time ? 0 : plan.max_runs, point.load_label,
                             result.has_value());
        if (!result) {
            const TimePoint began = Clock::now();
            result = measured_now(target, asked_for(plan, *step, point), file, point, directory, invocation,
                                  watcher, interruption);
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
        found.most_requests_per_s = std::max(found.most_requests_per_s.value_or(0), rate);
        if (lowest == 0 || step->level < lowest) {
            lowest = step->level;
            shortest_e2e_s = result->percentile("e2e_s", 0.5);
        }
        const SloVerdict verdict = verdict_on_all(*result, plan.slos);
        if (verdict == SloVerdict::missed && (!search.fail() || step->level <= *search.fail()))
            found.binding = binding_of(*result, plan);
        search.tell(verdict, rate, times_enough_for_all(*result, plan.slos));
    }
    found.fail = search.fail();
    found.pass = confirmed_in(file, plan, directory, found.fail);
    if (auto within = within_in(file, plan, directory, found.fail)) {
        found.within = within->level;
        found.within_text = std::move(within->text);
    }
    found.runs = search.runs();
    found.ended = out_of_time ? "--max-time allows no further run" : search.ended();
    found.elasticity = search.elasticity();
    if (shortest_e2e_s && found.most_requests_per_s)
        found.saturation = *found.most_requests_per_s * *shortest_e2e_s;
    found.at = plan.at;
    const bool by_rate = plan.sweep.axis == Axis::request_rate;
    if (const auto& full = by_rate ? found.most_requests_per_s : found.saturation;
        plan.at && full && *full > 0)
        found.of_saturation = *plan.at / *full;
    std::stable_sort(file.points.begin(), file.points.end(), [](const SweepPoint& a, const SweepPoint& b) {
        return std::tie(a.load, a.repeat, a.directory) < std::tie(b.load, b.repeat, b.directory);
    });
    found.narrow = narrowing_command(plan, found, directory, invocation);
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
    auto words = with_option(invocation.argv, "--out", directory.string());
    words = plan.max_time
                ? with_option(std::move(words), "--max-time", paretoken::text_of(*plan.max_time * 2))
                : with_option(std::move(words), "--max-runs", fmt::format("{}", search.runs + kMoreRuns));
    if (is_bracket && *search.fail <= *search.pass * plan.precision)
        words = with_option(std::move(words), "--precision",
                            fmt::format("{:g}", 1 + (plan.precision - 1) / kNarrower));
    return shell_line(words);
}

void require_found(const reports::SweepFile& file, double precision) {
    const reports::SweepSearch& search = *file.search;
    const auto is_next_to = [&](double pass, double within) {
        return within <= pass * precision || (file.axis == name_of(Axis::concurrency) && within - pass <= 1);
    };
    if (search.pass && (!search.within || is_next_to(*search.pass, *search.within))) return;
    const std::string slos = fmt::format("{}", fmt::join(search.slos, " "));
    if (search.within)
        throw Error(ExitCode::gate_inconclusive,
                    fmt::format("{:g} is the highest load that was measured within {}, and {}: {}",
                                *search.within, slos,
                                search.pass ? fmt::format("only {:g} was shown to meet them", *search.pass)
                                            : "no load was shown to meet them",
                                search.ended));
    const bool insufficient_below =
        search.fail && std::any_of(file.points.begin(), file.points.end(), [&](const SweepPoint& point) {
            return point.load < *search.fail && point.slo == SloVerdict::insufficient;
        });
    if (search.fail && !insufficient_below)
        throw Error(ExitCode::gate_failed,
                    fmt::format("no load was found that meets {}: {}", slos, search.ended));
    throw Error(ExitCode::gate_inconclusive,
                fmt::format("no load could be shown to meet {}: {}", slos, search.ended));
}

}  // namespace paretoken::experiments
