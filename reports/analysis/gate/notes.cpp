#include "reports/analysis/gate/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/stable_sort.h"
#include "core/statistics.h"
#include "core/text/number_text.h"
#include "reports/analysis/gate/decision/run_values.h"

namespace paretoken::reports {
namespace {

/// The prompts' tokens that the prefix cache served: the mean share over the runs that report it, and the
/// number of runs whose prompts had been sent to the server before.
struct Cached {
    std::optional<double> share = {};
    std::ptrdiff_t warm_runs = 0;
};

Cached cached_of(const std::vector<GateRun>& runs) {
    std::vector<double> shares;
    Cached cached;
    for (const GateRun& run : runs) {
        if (const auto share = run.result.throughput.at(figure::kCachedPromptRatio)) shares.push_back(*share);
        const auto& reasons = run.result.validity.reasons;
        cached.warm_runs +=
            std::ranges::any_of(reasons, [](const Reason& r) { return r.check == "warm_cache"; });
    }
    if (!shares.empty()) cached.share = moments_of(shares).mean;
    return cached;
}

/// Returns a note if the caches of the two sides were not equally warm from earlier runs.
std::optional<std::string> note_on_caches(const std::vector<GateRun>& baseline,
                                          const std::vector<GateRun>& candidate) {
    constexpr double kEqual = .02;
    const Cached before = cached_of(baseline);
    const Cached after = cached_of(candidate);
    if (before.warm_runs + after.warm_runs == 0) return std::nullopt;
    const bool differ = before.share && after.share ? std::abs(*before.share - *after.share) > kEqual
                                                    : before.warm_runs != after.warm_runs;
    if (!differ) return std::nullopt;
    const auto text_of = [](const Cached& side, std::size_t runs) {
        return fmt::format(
            "{} of {} runs{}", side.warm_runs, runs,
            side.share ? fmt::format(" ({} of the tokens cached)", percent_text(*side.share)) : "");
    };
    return fmt::format(
        "The prompts had been sent to their server before in {} of the baseline and {} of the candidate: the "
        "prefix caches were not equally warm. --reset-cache empties them before each run.",
        text_of(before, baseline.size()), text_of(after, candidate.size()));
}

/// A sentence about the variation between days and hosts, which the runs of one session do not show.
std::optional<std::string> note_on_sessions(const GateInput& input, double assumed) {
    std::set<std::string> sessions;
    for (const auto* const side : {&input.baseline, &input.candidate})
        for (const GateRun& run : *side) sessions.insert(session_of(run.result));
    if (sessions.size() < 2) return std::nullopt;
    if (!input.day_spread.empty())
        return fmt::format(
            "The intervals include the spread between {} days and hosts of the baseline and its history.",
            input.day_spread.begin()->second.days);
    return fmt::format(
        "The sides were measured on other days or hosts, and fewer than 3 of these are known of the "
        "baseline: what a day adds cannot be estimated. A spread of {} is assumed before a metric fails; a "
        "pass does not include it. `paretoken baseline update` after each pass adds days.",
        percent_text(assumed));
}

/// A sentence about the requests of both sides, which their seeds decide.
std::string_view note_on_requests(const GateInput& input) {
    if (input.candidate.empty() || !seed_of(input.candidate.front().result)) return "";
    return repeats_requests(input.baseline, input.candidate)
               ? " Runs with the same requests (seeds) are compared with each other."
               : " The requests differ (other seeds), which widens the intervals if lengths vary.";
}

void add_notes_on_design(const GateInput& input, double assumed, std::vector<std::string>& notes) {
    switch (input.design) {
        case GateDesign::pairs:
            break;
        case GateDesign::two_sets:
            notes.emplace_back(
                "The runs of the two sides were not interleaved: a drift of the machine between them looks "
                "like a difference. `gate` with two URLs or commands measures pairs.");
            break;
        case GateDesign::stored:
            notes.push_back(fmt::format(
                "The candidate was compared with {} stored runs, not in pairs: a change of the machine since "
                "then looks like a difference.{}",
                input.baseline.size(), note_on_requests(input)));
            break;
        case GateDesign::within_runs:
            notes.emplace_back(
                "One run per side, judged by its own intervals: the variation from run to run (warm-up, "
                "placement, clocks, the day) is not included.");
            break;
    }
    if (input.design != GateDesign::two_sets && input.design != GateDesign::stored) return;
    if (auto note = note_on_sessions(input, assumed)) notes.push_back(std::move(*note));
}

}  // namespace

std::string warnings_text(const std::vector<GateRun>& baseline, const std::vector<GateRun>& candidate) {
    constexpr std::size_t kMostNamed = 3;
    std::map<std::string, std::size_t> runs_with;
    std::size_t warned = 0;
    for (const auto* const side : {&baseline, &candidate})
        for (const GateRun& run : *side) {
            std::set<std::string> checks;
            for (const Reason& reason : run.result.validity.reasons)
                if (reason.severity != Verdict::valid) checks.insert(reason.check);
            for (const std::string& check : checks) ++runs_with[check];
            warned += run.result.validity.verdict == Verdict::valid ? 0 : 1;
        }
    if (warned == 0) return "";
    std::vector<std::pair<std::string, std::size_t>> sorted(runs_with.begin(), runs_with.end());
    sort_stably(sorted, std::greater{}, [](const auto& one) { return one.second; });
    std::string text =
        fmt::format("{} of {} runs carry warnings", warned, baseline.size() + candidate.size());
    for (std::size_t i = 0; i < std::min(kMostNamed, sorted.size()); ++i)
        text += fmt::format("{}{} ({} run{})", i == 0 ? ": " : ", ", sorted[i].first, sorted[i].second,
                            sorted[i].second == 1 ? "" : "s");
    if (sorted.size() > kMostNamed) text += fmt::format(" and {} more", sorted.size() - kMostNamed);
    if (sorted.empty()) return text + ".";
    return fmt::format("{}. `paretoken help {}` says what to do.", text, sorted.front().first);
}

std::vector<std::string> notes_on(const GateInput& input, double assumed_spread) {
    std::vector<std::string> notes;
    add_notes_on_design(input, assumed_spread, notes);
    if (input.baseline.empty() || input.candidate.empty()) return notes;
    for (const Condition& condition : conditions_of(input.baseline, input.candidate))
        if (condition.differs)
            notes.push_back(fmt::format("Not the same on both sides: {}: {} and {}.", condition.name,
                                        condition.baseline.empty() ? "not given" : condition.baseline,
                                        condition.candidate.empty() ? "not given" : condition.candidate));
    if (auto note = note_on_caches(input.baseline, input.candidate)) notes.push_back(std::move(*note));
    const auto unsteady = [](const std::vector<GateRun>& runs) {
        return std::ranges::count_if(runs, [](const GateRun& r) {
            return !r.result.window.steady && !r.result.reported;  // a summary tells of no window
        });
    };
    if (std::string text = warnings_text(input.baseline, input.candidate); !text.empty())
        notes.push_back(std::move(text));
    if (const auto runs = unsteady(input.candidate); runs > 0)
        notes.push_back(
            fmt::format("{} of {} runs of the candidate and {} of {} of the baseline found no steady state; "
                        "their figures are of the whole run.",
                        runs, input.candidate.size(), unsteady(input.baseline), input.baseline.size()));
    return notes;
}

std::optional<std::string> note_on_evidence(std::span<const GateRow> rows, double alpha,
                                            std::size_t metrics) {
    const auto is_named = [](const GateRow& row) {
        return row.verdict == GateVerdict::inconclusive && row.detectable;
    };
    if (metrics < 2 || std::ranges::none_of(rows, is_named)) return std::nullopt;
    return fmt::format(
        "A fail needs more evidence than a 95 % interval beyond the tolerance: {} metrics and all looks "
        "share its probability of error, {}.",
        metrics, percent_text(alpha));
}

}  // namespace paretoken::reports
