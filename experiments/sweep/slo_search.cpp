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
#include "core/validity/validity.h"
#include "experiments/session.h"
#include "experiments/sweep/answer.h"
#include "experiments/sweep/knee_search.h"
#include "experiments/sweep/ladder_search.h"
#include "experiments/watcher.h"
#include "loadgen/load/limits.h"
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
        learn(time, longer);
        if (left_) *left_ -= time;
    }
    /// Learns the same from a run of an earlier search, whose time does not count.
    void learn(Duration time, std::uint64_t longer) {
        longest_ = std::max(longest_, time / static_cast<std::int64_t>(longer));
    }

    /// Returns how many times as long as a first run the next one may be; 0 if none fits.
    std::uint64_t fitting() const {
        if (!left_) return without_limit_;
        if (*left_ <= Duration{}) return 0;
        if (longest_ <= Duration{}) return kLongestInBudget;
        return static_cast<std::uint64_t>(*left_ / longest_);
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

/// Returns the length of a first run. Where the search chooses the levels, one request per slot and round is
/// enough at the lowest ones: most of them only have to show that the load may be higher.
UsualLength first_length(const SloSearchPlan& plan) {
    if (plan.ladder) return {.rounds = first_rounds(parse_slos(plan.sweep.asked.slos))};
    if (plan.sweep.axis != Axis::concurrency) return {};
    return {.fewest = 30, .fewest_slots = 1};
}

/// Returns the time after which a first run ends with fewer requests, so that it leaves time for the others:
/// an eighth of --max-time, or as long as the fewest requests that tell something take at `requests_per_s`,
/// but at most a third. The first run of all, at no known rate, may take the third.
Duration first_duration(const SloSearchPlan& plan, std::optional<double> requests_per_s) {
    constexpr double kTelling = 25;  // requests, of which the first do not count
    constexpr double kUsualPart = 1.0 / 8;
    constexpr double kMostPart = 1.0 / 3;
    const double all = seconds(*plan.max_time);
    const double of_level = all / static_cast<double>(std::max<std::size_t>(8, 2 * plan.sweep.levels.size()));
    const double telling = requests_per_s ? kTelling / *requests_per_s : all;
    const double found = std::clamp(telling, kUsualPart * all, kMostPart * all);
    return std::max<Duration>(from_seconds(plan.ladder ? of_level : found), std::chrono::seconds(1));
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

/// The steps of a search, which are as long as its time allows.
class TimedSearch {
  public:
    explicit TimedSearch(const SloSearchPlan& plan)
        : search_(search_of(plan)), budget_(left_in(plan), plan.longest) {}

    /// Returns the next step; nothing if the search is over, or the time.
    std::optional<SearchStep> next() {
        const std::uint64_t fitting = budget_.fitting();
        is_out_of_time_ = search_->next().has_value() && fitting == 0;
        if (is_out_of_time_) return std::nullopt;
        search_->limit(fitting);
        return search_->next();
    }

    void tell(const SearchStep& step, const StepResult& result, Duration time, bool is_earlier) {
        if (is_earlier)
            budget_.learn(time, step.longer);
        else
            budget_.spend(time, step.longer);
        search_->tell(result);
    }

    std::uint64_t runs() const { return search_->runs(); }
    std::string ended() const {
        return is_out_of_time_ ? "--max-time allows no further run" : search_->ended();
    }

  private:
    static std::optional<Duration> left_in(const SloSearchPlan& plan) {
        if (!plan.max_time) return std::nullopt;
        return *plan.max_time - plan.spent_before;
    }

    std::unique_ptr<LevelSearch> search_;
    TimeBudget budget_;
    bool is_out_of_time_ = false;
};

/// Returns whether a search with this plan makes a run that is not among `known`.
bool makes_a_run(const SloSearchPlan& plan, const KnownSteps& known) {
    TimedSearch search(plan);
    for (auto step = search.next(); step; step = search.next()) {
        const auto before = known(*step);
        if (!before) return true;
        search.tell(*step, before->result, from_seconds(before->run_s), true);
    }
    return false;
}

StepResult told_of(const RunResult& result, const std::vector<Slo>& slos) {
    const bool is_spoiled = is_within_although_spoiled(result, slos);
    return {is_spoiled ? SloVerdict::within : verdict_on_all(result, slos),
            result.throughput.at(figure::kRequests).value_or(0), times_enough_for_all(result, slos),
            result.stop && result.stop->rule == loadgen::name_of(loadgen::StopKind::duration)};
}

/// Returns whether words have an option, so that with_option() replaces its value.
bool has_option(const std::vector<std::string>& words, const std::string& option) {
    return std::ranges::any_of(
        words, [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
}

/// A way to continue a search: the plan that the words of a command line say.
struct Continuation {
    SloSearchPlan plan;
    std::vector<std::string> words;

    Continuation with_runs(std::uint64_t runs) const {
        Continuation next{plan, with_option(words, "--max-runs", fmt::format("{}", runs))};
        next.plan.max_runs = runs;
        return next;
    }
    Continuation with_time(Duration time) const {
        constexpr auto kMinute = std::chrono::minutes(1);
        const bool in_minutes = time >= 2 * kMinute && time % kMinute == Duration{};
        const std::string text = in_minutes ? fmt::format("{}m", time / kMinute) : paretoken::text_of(time);
        Continuation next{plan, with_option(words, "--max-time", text)};
        next.plan.max_time = time;
        return next;
    }
    Continuation with_precision(double precision) const {
        Continuation next{plan, with_option(words, "--precision", fmt::format("{:g}", precision))};
        next.plan.precision = precision;
        return next;
    }
    Continuation with_levels(const std::string& option, double first, double last) const {
        Continuation next{plan, with_option(words, option, fmt::format("{:g}..{:g}", first, last))};
        next.plan.sweep.levels = {first, last};
        return next;
    }
};

/// Returns a continuation with each time limit from `least` on: twice as much, and so on, up to a day.
std::vector<Continuation> with_times(const Continuation& next, Duration least) {
    constexpr Duration kMost = std::chrono::hours(24);
    std::vector<Continuation> all;
    for (Duration time = least; time <= kMost; time *= 2) all.push_back(next.with_time(time));
    return all;
}

/// Returns a time limit in which a run may be at least twice as long as the longest one so far.
Duration time_for_longer_runs(double longest_run_s) {
    constexpr double kTimes = 4;
    constexpr double kMinute = 60;
    const double minutes = std::clamp(std::ceil(kTimes * longest_run_s / kMinute), 1.0, 1e6);
    return std::chrono::minutes(static_cast<std::int64_t>(minutes));
}

/// Returns whether a search has found what it was asked for, so that only another question needs more runs.
bool is_finished(const SloSearchPlan& plan, const reports::SweepSearch& search) {
    if (!search.pass || search.within != search.pass) return false;
    return search.fail ? *search.fail <= *search.pass * plan.precision
                       : *search.pass >= plan.sweep.levels.back();
}

/// Returns the ways to continue a search, in the order in which they are to be tried: more runs or time, a
/// time limit, in which runs may be longer, a finer precision, and higher loads if none missed the limits.
std::vector<Continuation> continuations_of(const SloSearchPlan& plan, const reports::SweepSearch& search,
                                           const SearchedSoFar& so_far) {
    constexpr std::uint64_t kMoreRuns = 8;
    constexpr double kNarrower = 4;  // divides the allowed gap between the loads
    constexpr double kHigher = 8;    // times the highest load
    if (plan.ladder && !plan.max_time) return {};
    Continuation same{plan, words_to_continue(so_far.invocation, so_far.directory)};
    same.plan.spent_before = {};
    if (plan.ladder) return with_times(same, 2 * *plan.max_time);
    const Continuation more = plan.max_runs < kNoLimitOnRuns ? same.with_runs(search.runs + kMoreRuns) : same;
    const Continuation base = plan.max_time ? more.with_time(2 * *plan.max_time) : more;
    std::vector<Continuation> all;
    if (!is_finished(plan, search))
        all = plan.max_time ? with_times(more, 2 * *plan.max_time) : std::vector<Continuation>{more};
    const bool lacks_evidence = !search.pass || search.within != search.pass;
    if (!plan.max_time && lacks_evidence) {
        Continuation longer = more;
        if (!has_option(same.words, "--max-runs")) {
            longer = same;
            longer.plan.max_runs = kNoLimitOnRuns;
        }
        const auto timed = with_times(longer, time_for_longer_runs(so_far.longest_run_s));
        all.insert(all.end(), timed.begin(), timed.end());
    }
    if (search.pass && search.fail)
        all.push_back(base.with_precision(
            1 + std::min((plan.precision - 1) / kNarrower, (*search.fail / *search.pass - 1) / 2)));
    const std::string levels = option_of(*plan_field_named(name_of(plan.sweep.axis)));
    if (!search.fail && has_option(same.words, levels)) {
        double last = plan.sweep.levels.front();
        while (last < kHigher * plan.sweep.levels.back()) last *= 2;
        all.push_back(base.with_levels(levels, plan.sweep.levels.front(), last));
    }
    return all;
}

/// Throws Error if a run of a search says nothing about the server.
void require_something(const RunResult& result, const std::vector<Slo>& slos, const SweepPoint& point,
                       const fs::path& directory) {
    if (says_something(result, slos)) return;
    throw Error(
        ExitCode::measurement_invalid,
        fmt::format("the search ended because the run at {} is invalid; its reasons are in run.json in {}{}",
                    point.load_label, (directory / point.directory).string(),
                    spoiled_by_instrument(result)
                        ? "; with --host-noise accept the same command goes on, and takes "
                          "what a busy host of the client measures as it is"
                        : ""));
}

/// Measures the run of a step, and once more if it does not keep the limits and the client's host spoiled it,
/// or may be why a limit is missed. Throws RuntimeError if it is interrupted.
RunResult measured_step(const Target& target, const LoadPlan& asked, SweepFile& file, const SweepPoint& point,
                        const fs::path& directory, const Session& session) {
    const std::vector<Slo> slos = parse_slos(asked.slos);
    const auto measured = [&] {
        RunResult result = measure_point(target, asked, file, point, directory, session);
        if (result.partial)
            throw RuntimeError(fmt::format("interrupted; this command continues the search: {}",
                                           shell_line(words_to_continue(session.invocation, directory))));
        return result;
    };
    RunResult result = measured();
    const bool is_spoiled = !says_something(result, slos) && spoiled_by_instrument(result);
    if (!is_spoiled && !may_miss_by_host(result, slos)) return result;
    session.watcher.warn(fmt::format("{} is measured again, because the client's host {}", point.load_label,
                                     is_spoiled ? "spoiled the run" : "may be why a limit is missed"));
    return measured();
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

LoadPlan plan_of_step(const SloSearchPlan& plan, const SearchStep& step, const SweepPoint& point,
                      std::optional<double> requests_per_s) {
    LoadPlan asked = plan_at(plan.sweep, point);
    if (!asked.stop.requests && !asked.stop.duration) {
        asked.stop.requests = usual_requests(asked, first_length(plan));
        if (plan.max_time && plan.least_e2e_times == 0)
            asked.stop.duration = first_duration(plan, requests_per_s);
    }
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
    TimedSearch search(plan);
    const std::vector<Slo> slos = parse_slos(plan.sweep.asked.slos);
    std::optional<double> most_requests_per_s;
    Rates rates;  // those of the last run of each load
    std::optional<double> not_kept_up;
    double lowest = 0;
    std::optional<double> shortest_e2e_s;
    double first_run_s = 0;
    std::uint64_t longest = 1;
    for (auto step = search.next(); step; step = search.next()) {
        const SweepPoint point = point_of(plan, *step);
        auto result = measured_before(file, point, directory);
        if (result && !says_something(*result, slos)) result.reset();
        const bool is_earlier = result.has_value();
        session.watcher.point_begins(search.runs() + 1, plan.max_time ? 0 : plan.max_runs, point.load_label,
                                     is_earlier);
        const TimePoint began = Clock::now();
        if (!result) {
            LoadPlan asked = plan_of_step(plan, *step, point, most_requests_per_s);
            if (plan.sweep.axis == Axis::request_rate && asked.stop.requests)
                asked.stop.requests =
                    std::max(*asked.stop.requests,
                             step->longer * static_cast<std::uint64_t>(plan.least_e2e_times * step->level *
                                                                       shortest_e2e_s.value_or(0)));
            result = measured_step(target, asked, file, point, directory, session);
        }
        require_something(*result, slos, point, directory);
        const StepResult told = told_of(*result, slos);
        const double rate = told.requests_per_s;
        most_requests_per_s = std::max(most_requests_per_s.value_or(0), rate);
        if (rate > 0) rates[step->level] = rate;
        if (!kept_up(*result)) not_kept_up = std::min(not_kept_up.value_or(step->level), step->level);
        if (lowest == 0 || step->level < lowest) {
            lowest = step->level;
            shortest_e2e_s = result->percentile("e2e_s", 0.5);
        }
        search.tell(*step, told,
                    is_earlier ? from_seconds(result->window.run_s) : time_of_run(target, *result, began),
                    is_earlier);
        first_run_s = std::max(first_run_s, result->window.run_s / static_cast<double>(step->longer));
        longest = std::max(longest, step->longer);
    }
    reports::SweepSearch found = answer_in(plan.sweep, file, plan.sweep.cells.front(), directory,
                                           plan.ladder ? Shown::by_all : Shown::by_second_repeat);
    found.most_requests_per_s = most_requests_per_s;
    found.runs = search.runs();
    found.ended = search.ended();
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
    const KnownSteps known = [&](const SearchStep& step) -> std::optional<KnownStep> {
        const auto result = measured_before(file, point_of(plan, step), directory);
        if (!result) return std::nullopt;
        return KnownStep{told_of(*result, slos), result->window.run_s};
    };
    found.narrow = narrowing_command(
        plan, found, {directory, session.invocation, known, first_run_s * static_cast<double>(longest)});
    file.search = std::move(found);
    reports::write_sweep(directory, file);
}

std::string narrowing_command(const SloSearchPlan& plan, const reports::SweepSearch& search,
                              const SearchedSoFar& so_far) {
    if (std::ranges::find(so_far.invocation.argv, "sweep") == so_far.invocation.argv.end())
        return {};  // the search of another command, which has no such options
    const bool is_whole = plan.sweep.axis == Axis::concurrency;
    if (is_whole && search.pass && search.fail && *search.fail - *search.pass <= 1) return {};
    for (const Continuation& next : continuations_of(plan, search, so_far))
        if (makes_a_run(next.plan, so_far.known)) return shell_line(next.words);
    return {};
}

}  // namespace paretoken::experiments
