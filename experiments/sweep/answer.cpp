#include "experiments/sweep/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/evidence/evidence.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_fields.h"
#include "core/result/metrics.h"
#include "core/result/overload.h"
#include "core/validity/validity.h"
#include "reports/analysis/sweep/longer_run.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::PointState;
using reports::SweepFile;
using reports::SweepPoint;
using reports::SweepSearch;

/// A run that counts, and its point.
struct Counted {
    SweepPoint point;
    RunResult result;
};

/// Returns the runs of a cell that count, ordered by load and repeat.
std::vector<Counted> runs_in(const SweepFile& file, const Cell& cell, const fs::path& directory) {
    std::map<std::pair<double, std::uint64_t>, Counted> longest;
    for (const SweepPoint& point : file.points) {
        if (point.cell != cell || point.state != PointState::done) continue;
        auto result = finished_run(directory / point.directory);
        if (!result || (result->validity.verdict == Verdict::invalid && !only_failed(*result))) continue;
        Counted& held = longest[{point.load, point.repeat}];
        if (held.result.counts.requests <= result->counts.requests) held = {point, *std::move(result)};
    }
    std::vector<Counted> runs;
    for (auto& [level, run] : longest) runs.push_back(std::move(run));
    return runs;
}

/// Returns whether the repeats of a level show at 99 % together that they meet a limit: the percentile lies
/// below the limit by as many independent requests as all of them have. Each must be steady, and within the
/// limit.
bool is_met_together(std::span<const Counted> repeats, std::size_t limit) {
    constexpr double kConfidence = 0.98;  // on one side 99 %
    double independent = 0;
    double over = 0;
    double requests = 0;
    double p = 0;
    for (const Counted& run : repeats) {
        const RunResult& result = run.result;
        if (!result.window.steady || result.slo.size() <= limit) return false;
        const SloResult& slo = result.slo[limit];
        const bool is_kept = slo.verdict == SloVerdict::met || slo.verdict == SloVerdict::within;
        if (!is_kept || !slo.n_effective || slo.n == 0) return false;
        independent += *slo.n_effective;
        over += static_cast<double>(slo.over);
        requests += static_cast<double>(slo.n);
        p = std::max(slo.p, 1 - slo.p);
    }
    const auto levels = percentile_levels(p, independent, kConfidence);
    return levels && 1 - over / requests >= levels->high;
}

/// Adds the run that may show that the SLOs are met at the level of `run`, which was only within them.
void add_certifying_run(SweepSearch& answer, const SweepPlan& plan, const Counted& run, double times) {
    constexpr double kMinute = 60;
    SweepPoint point = run.point;
    ++point.repeat;  // the same requests would show less, because the level was chosen for them
    LoadPlan at = plan_at(plan, point);
    at.stop = with_load(at).stop;  // without rules on requests and time
    for (const char* name : {"num_prompts", "duration"})
        if (const auto own = run.result.plan.find(name); own != run.result.plan.end())
            plan_field_named(name)->value.set(at, 0, {own->second});
    if (at.stop.requests && at.stop.duration && !plan.asked.stop.duration) {  // the time limit of a search
        at.stop.duration.reset();
        at.stop.requests = std::min<std::uint64_t>(*at.stop.requests, run.result.counts.requests);
    }
    if (!at.stop.requests && !at.stop.duration) return;  // another rule ends it, or the rows of a trace
    if (at.stop.requests)
        at.stop.requests =
            static_cast<std::uint64_t>(std::ceil(times * static_cast<double>(*at.stop.requests)));
    if (at.stop.duration) at.stop.duration = from_seconds(std::ceil(times * seconds(*at.stop.duration)));
    at.require = "met";
    answer.certify = shell_line(run_words(plan, point, at));
    answer.certify_minutes = times * run.result.window.run_s / kMinute;
}

}  // namespace

std::optional<RunResult> finished_run(const fs::path& directory) {
    if (!reports::has_result(directory)) return std::nullopt;
    RunResult result = reports::read_run_directory(directory);
    if (result.partial) return std::nullopt;
    return result;
}

bool only_failed(const RunResult& result) {
    const auto& reasons = result.validity.reasons;
    return std::ranges::all_of(reasons, [](const Reason& reason) {
        return reason.severity != Verdict::invalid || reason.check == "errors";
    });
}

SloVerdict verdict_on_all(const RunResult& result, const std::vector<Slo>& slos) {
    if (!kept_up(result)) return SloVerdict::missed;
    SloVerdict all = SloVerdict::met;
    for (const Slo& slo : slos) all = worst_of(all, finding_on(result, slo).verdict);
    const bool is_shown = all == SloVerdict::met || all == SloVerdict::missed;
    if (!is_shown && result.validity.verdict == Verdict::invalid && only_failed(result))
        return SloVerdict::missed;
    return all;
}

bool is_within_although_spoiled(const RunResult& result, const std::vector<Slo>& slos) {
    const SloVerdict verdict = verdict_on_all(result, slos);
    return spoiled_by_instrument(result) && (verdict == SloVerdict::met || verdict == SloVerdict::within);
}

bool says_something(const RunResult& result, const std::vector<Slo>& slos) {
    return result.validity.verdict != Verdict::invalid || only_failed(result) ||
           is_within_although_spoiled(result, slos);
}

bool may_miss_by_host(const RunResult& result, const std::vector<Slo>& slos) {
    bool is_missed = false;
    for (const Slo& slo : slos) {
        const SloFinding found = finding_on(result, slo);
        if (found.verdict != SloVerdict::missed) continue;
        if (found.shown) return false;
        is_missed = true;
    }
    return is_missed && std::ranges::any_of(result.validity.reasons,
                                            [](const Reason& reason) { return is_of_host(reason.check); });
}

std::string binding_of(const RunResult& result, const LoadPlan& asked) {
    if (!kept_up(result)) return overload_text(result);
    const std::string failing =
        result.counts.failed == 0
            ? std::string("too many requests fail")
            : fmt::format("{} of {} requests fail", result.counts.failed, result.counts.requests);
    for (const std::string& text : asked.slos) {
        const SloFinding finding = finding_on(result, parse_slo(text));
        if (finding.verdict == SloVerdict::missed) return finding.value ? text : failing;
    }
    return failing;
}

double times_enough_for_all(const RunResult& result, const std::vector<Slo>& slos) {
    if (!kept_up(result) || result.validity.verdict == Verdict::invalid) return 1;
    bool is_open = false;
    double most = 1;
    for (const Slo& slo : slos) {
        const SloFinding finding = finding_on(result, slo);
        if (finding.shown && finding.verdict == SloVerdict::missed) return 1;
        if (finding.shown) continue;
        is_open = true;
        most = std::max(most, times_enough(result, slo).value_or(2));
    }
    return is_open && most == 1 ? 2 : most;
}

SweepSearch answer_in(const SweepPlan& plan, const SweepFile& file, const Cell& cell,
                      const fs::path& directory, Shown shown) {
    const std::vector<Slo> slos = parse_slos(plan.asked.slos);
    const std::vector<Counted> runs = runs_in(file, cell, directory);
    SweepSearch answer{.slos = plan.asked.slos, .ended = "every level was measured"};
    const Counted* highest = nullptr;  // the last run of the highest level within the SLOs
    for (auto begin = runs.begin(); begin != runs.end();) {
        const double level = begin->point.load;
        const auto end =
            std::find_if(begin, runs.end(), [&](const Counted& run) { return run.point.load != level; });
        SloVerdict all = SloVerdict::met;
        bool is_shown = shown == Shown::by_all;
        for (auto run = begin; run != end; ++run) {
            const SloVerdict verdict = verdict_on_all(run->result, slos);
            if (verdict == SloVerdict::missed && !answer.fail) {
                answer.fail = level;
                answer.binding = binding_of(run->result, plan.asked);
            }
            if (shown == Shown::by_all) is_shown = is_shown && verdict == SloVerdict::met;
            if (shown == Shown::by_second_repeat && run->point.repeat == 2)
                is_shown = verdict == SloVerdict::met;
            all = worst_of(all, verdict);
        }
        if (answer.fail) break;
        const std::span<const Counted> repeats(begin, end);
        if (shown == Shown::by_all && !is_shown && repeats.size() > 1) {
            is_shown = true;
            for (std::size_t limit = 0; limit < slos.size(); ++limit)
                is_shown =
                    is_shown && !metric_named(slos[limit].tag)->of_jobs && is_met_together(repeats, limit);
        }
        if (is_shown) answer.pass = level;
        if (is_shown || all == SloVerdict::met || all == SloVerdict::within) highest = &*std::prev(end);
        begin = end;
    }
    if (highest == nullptr) return answer;
    answer.within = highest->point.load;
    for (const SloResult& slo : highest->result.slo)
        answer.within_text +=
            fmt::format("{}{}: {}", answer.within_text.empty() ? "" : "; ", slo.key, over_text(slo));
    if (answer.pass == answer.within) return answer;
    const auto times = reports::times_to_offer(highest->result, highest->result.slo);
    const double time_s = times.value_or(0) * highest->result.window.run_s;
    if (times && time_s <= reports::kLongestOfferedS)
        add_certifying_run(answer, plan, *highest, *times);
    else if (times)
        answer.within_text +=
            fmt::format("; to show that it meets them may take {}", reports::span_text(time_s));
    else
        answer.within_text +=
            fmt::format("; no steady state was found, which more requests may not change: {} has the reason",
                        shell_line({"paretoken", "show", (directory / highest->point.directory).string()}));
    return answer;
}

void require_shown(const SweepFile& file, const Cell& cell, const SweepSearch& answer, double precision) {
    const auto is_next_to = [&](double pass, double within) {
        return within <= pass * precision || (file.axis == name_of(Axis::concurrency) && within - pass <= 1);
    };
    if (answer.pass && (!answer.within || is_next_to(*answer.pass, *answer.within))) return;
    const std::string slos = fmt::format("{}", fmt::join(answer.slos, " "));
    if (answer.within)
        throw Error(ExitCode::gate_inconclusive,
                    fmt::format("{:g} is the highest load that was measured within {}, and {}: {}",
                                *answer.within, slos,
                                answer.pass ? fmt::format("only {:g} was shown to meet them", *answer.pass)
                                            : "no load was shown to meet them",
                                answer.ended));
    const bool insufficient_below =
        answer.fail && std::ranges::any_of(file.points, [&](const SweepPoint& point) {
            return point.cell == cell && point.load < *answer.fail && point.slo == SloVerdict::insufficient;
        });
    if (answer.fail && !insufficient_below)
        throw Error(ExitCode::gate_failed,
                    fmt::format("no load was found that meets {}: {}", slos, answer.ended));
    throw Error(ExitCode::gate_inconclusive,
                fmt::format("no load could be shown to meet {}: {}", slos, answer.ended));
}

}  // namespace paretoken::experiments
