#include "reports/analysis/gate/decision/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/evidence/unpaired.h"
#include "core/run/distinct_runs.h"
#include "core/units.h"
#include "core/validity/validity.h"
#include "reports/analysis/gate/decision/findings.h"
#include "reports/analysis/gate/decision/limits.h"
#include "reports/analysis/gate/decision/run_values.h"
#include "reports/analysis/gate/notes.h"
#include "reports/analysis/gate/reported_policy.h"
#include "reports/analysis/gate/why.h"

namespace paretoken::reports {
namespace {

bool is_known(const std::vector<GateValue>& values) {
    return std::ranges::any_of(values, [](const GateValue& v) { return v.value || v.among_failures; });
}

/// The limit as a shift: the tolerance, or the floor if that is larger.
double shift_limit(const GateMetric& metric, const GateQuantity& quantity,
                   const std::optional<double>& baseline) {
    const double tolerance = shift_of_share(metric.tolerance, quantity.better);
    if (metric.floor <= 0 || !baseline) return tolerance;
    return std::max(tolerance, shift_of_share(metric.floor / *baseline, quantity.better));
}

void require_class(const GateMetric& metric, const GateQuantity& quantity, const GateInput& input) {
    if (quantity.request_class.empty()) return;
    for (const auto* const side : {&input.baseline, &input.candidate})
        for (const GateRun& run : *side)
            if (scope_of(quantity, run.result) != nullptr) return;
    throw UsageError(fmt::format("the policy judges {}, and no run has requests of the class '{}'",
                                 metric.name, quantity.request_class));
}

/// Whether there are counts to compare. Most shares need counts on both sides; quality also needs equal
/// questions.
bool has_counts(const GateQuantity& quantity, const GateInput& input, std::vector<std::string>& notes) {
    const bool before = counted(input.baseline, quantity).requests > 0;
    const bool after = counted(input.candidate, quantity).requests > 0;
    if (quantity.kind == GateKind::failures || quantity.kind == GateKind::finish_reasons)
        return before || after;
    if (!before || !after) {
        constexpr std::string_view kKept =
            ": the baseline's runs have no texts (`paretoken run --keep-answers` keeps them)";
        const bool of_texts =
            quantity.kind == GateKind::empty_answers || quantity.kind == GateKind::repeated_answers;
        const bool is_told = std::ranges::any_of(
            notes, [&](const std::string& note) { return note.find(kKept) != std::string::npos; });
        if (before || after)
            notes.push_back(fmt::format("\"{}\" was measured for the {} only and is not judged{}.",
                                        quantity.title, before ? "baseline" : "candidate",
                                        of_texts && after && !is_told ? kKept : ""));
        return false;
    }
    if (quantity.kind != GateKind::quality) return true;
    const std::string& then = probed(input.baseline)->result.quality->probe;
    const std::string& now = probed(input.candidate)->result.quality->probe;
    if (then == now) return true;
    notes.push_back(fmt::format(
        "The sides were asked different questions ({} and {}), and quality is left out.", then, now));
    return false;
}

/// The metrics of the policy that at least one side has measured.
std::vector<JudgedMetric> judged_of(const GatePolicy& policy, const GateInput& input,
                                    std::vector<std::string>& notes) {
    std::vector<JudgedMetric> judged;
    std::vector<std::string> unmeasured;
    for (const GateMetric& metric : policy.metrics) {
        JudgedMetric one{.metric = metric,
                         .quantity = quantity_named(metric.name),
                         .between = spread_of(input, metric.name, policy.day_spread)};
        require_class(metric, one.quantity, input);
        GateRow& row = one.row;
        row.metric = metric.name;
        row.title = one.quantity.title;
        row.unit = one.quantity.unit;
        if (one.quantity.kind == GateKind::reported)
            row.title = reported_title(one.quantity.key, input.baseline.front().result.reported->by);
        row.tolerance = metric.tolerance;
        row.floor = metric.floor;
        row.may_stay_undecided = metric.may_stay_undecided;
        if (is_share(one.quantity.kind)) {
            const std::size_t known = notes.size();
            if (!has_counts(one.quantity, input, notes)) {
                if (notes.size() == known) unmeasured.push_back(metric.name);
                continue;
            }
            row.points = true;
            row.limit = metric.tolerance;
        } else {
            one.values = side_values(one.quantity, input);
            if (!is_known(one.values.baseline) && !is_known(one.values.candidate)) {
                unmeasured.push_back(metric.name);
                continue;
            }
            row.limit = shift_limit(metric, one.quantity, typical_value(one.values.baseline));
        }
        judged.push_back(std::move(one));
    }
    if (!unmeasured.empty())
        notes.push_back(
            fmt::format("{} of the {} metrics of the policy are judged. Not measured on either "
                        "side: {}.",
                        judged.size(), policy.metrics.size(), fmt::join(unmeasured, ", ")));
    return judged;
}

/// The data of a look, from which the number of pairs (or of runs of the candidate beside a stored baseline)
/// follows that would decide a metric.
struct Measured {
    const GatePolicy& policy;
    const GateInput& input;
    Look look;
    std::size_t metrics = 1;  ///< number of metrics that share the error of a fail
};

Errors errors_of(const Look& look, std::size_t metrics) {
    return {.fail = look.alpha / static_cast<double>(metrics), .pass = look.beta};
}

/// The first number above those measured that decides: a look of this gate, or the largest number of a gate
/// that is allowed more, which divides its errors among more looks. Nothing if not even many more suffice.
template <class Decides>
std::optional<std::uint64_t> first_that_decides(const Measured& measured, const Decides& decides) {
    constexpr std::uint64_t kMost = 1000;
    const std::vector<Look>& looks = measured.input.looks;
    const auto decides_at = [&](const Look& look) {
        return look.pairs > measured.look.pairs && decides(look.pairs, errors_of(look, measured.metrics));
    };
    if (const auto look = std::ranges::find_if(looks, decides_at); look != looks.end()) return look->pairs;
    const bool has_plan = looks == looks_of(measured.policy);
    for (std::uint64_t n = looks.back().pairs + 1; n <= kMost; n += std::max<std::uint64_t>(1, n / 8)) {
        const auto later = has_plan ? planned_looks(n, measured.policy.alpha, measured.policy.beta)
                                    : one_look(measured.policy, n);
        // The last look may be close to the one before, which then has most of the errors.
        if (std::ranges::any_of(std::span(later).last(std::min<std::size_t>(2, later.size())), decides_at))
            return n;
    }
    return std::nullopt;
}

/// The number of pairs that would decide, if the shift and the spread stay the same.
std::optional<std::uint64_t> pairs_to_decide(const MetricFinding& found, const Measured& measured,
                                             double limit) {
    const auto pairs = static_cast<double>(measured.look.pairs);
    return first_that_decides(measured, [&](std::uint64_t n, const Errors& errors) {
        Shift then = *found.shift;
        then.standard_error *= std::sqrt(pairs / static_cast<double>(n));
        then.degrees_of_freedom += static_cast<double>(n) - pairs;
        return p_above(then, limit) <= errors.fail || p_below(then, limit) <= errors.pass;
    });
}

/// The number of runs of the candidate that would decide beside the stored baseline, if the shift and the
/// spread stay the same.
std::optional<std::uint64_t> runs_to_decide(const MetricFinding& found, const SessionSpread& between,
                                            const Measured& measured, double limit) {
    if (!found.sets) return std::nullopt;
    return first_that_decides(measured, [&](std::uint64_t n, const Errors& errors) {
        const Shift shift = shift_of(*found.sets, between.measured, n);
        const Shift cautious = cautious_shift(*found.sets, between.measured, between.assumed, n);
        return p_above(cautious, limit) <= errors.fail || p_below(shift, limit) <= errors.pass;
    });
}

/// The number of stored runs that would decide together with the largest number of runs of the candidate. The
/// variance of the baseline's mean is taken to be inverse to their number.
std::optional<std::uint64_t> stored_to_decide(const MetricFinding& found, const SessionSpread& between,
                                              const Measured& measured, double limit) {
    constexpr std::uint64_t kMost = 200;
    const std::uint64_t stored = measured.input.baseline.size();
    const Look& last = measured.input.looks.back();
    const Errors errors = errors_of(last, measured.metrics);
    if (!found.sets) return std::nullopt;
    for (std::uint64_t n = stored + 1; n <= kMost; ++n) {
        SetDifference sets = *found.sets;
        sets.baseline.value *= static_cast<double>(stored) / static_cast<double>(n);
        sets.baseline.degrees_of_freedom += static_cast<double>(n - stored);
        const Shift cautious = cautious_shift(sets, between.measured, between.assumed, last.pairs);
        if (p_above(cautious, limit) <= errors.fail ||
            p_below(shift_of(sets, between.measured, last.pairs), limit) <= errors.pass)
            return n;
    }
    return std::nullopt;
}

/// The number that would decide a share if both shares stay the same.
std::optional<std::uint64_t> pairs_to_decide_share(const MetricFinding& found, const Measured& measured,
                                                   double tolerance) {
    const GateInput& input = measured.input;
    const std::uint64_t pairs = measured.look.pairs;
    if (!found.counts || input.design == GateDesign::within_runs || pairs == 0) return std::nullopt;
    const auto after_pairs = [&](const Failures& of, std::uint64_t n) {
        const double times = static_cast<double>(n) / static_cast<double>(pairs);
        return Failures{
            .failed = static_cast<std::uint64_t>(std::lround(static_cast<double>(of.failed) * times)),
            .requests = static_cast<std::uint64_t>(std::lround(static_cast<double>(of.requests) * times))};
    };
    return first_that_decides(measured, [&](std::uint64_t n, const Errors& errors) {
        const Failures after = after_pairs(found.counts->second, n);
        const Failures before =
            input.design == GateDesign::stored ? found.counts->first : after_pairs(found.counts->first, n);
        return after.share() - before.share() > tolerance
                   ? p_fails_more(before, after) <= errors.fail
                   : share_passes(before, after, tolerance, errors.pass);
    });
}

/// Fills the row with the results of a look.
void describe(JudgedMetric& judged, const MetricFinding& found, const Measured& measured) {
    GateRow& row = judged.row;
    const GateInput& input = measured.input;
    const std::uint64_t pairs = measured.look.pairs;
    row.p_fail = found.p_fail;
    row.reason = found.reason;
    if (is_share(judged.quantity.kind)) {
        const Failures after = counted(candidate_part(input, input.candidate, pairs), judged.quantity);
        row.baseline = counted(baseline_part(input, input.baseline, pairs), judged.quantity).share();
        row.samples = after.requests;
        row.candidate = after.share();
        row.shift = *row.candidate - *row.baseline;
        if (judged.quantity.better == Better::higher) row.shift = -*row.shift;
        row.pairs_to_decide.reset();
        if (row.verdict == GateVerdict::inconclusive)
            row.pairs_to_decide = pairs_to_decide_share(found, measured, row.limit);
        return;
    }
    row.baseline = typical_value(baseline_part(input, judged.values.baseline, pairs));
    row.candidate = typical_value(candidate_part(input, judged.values.candidate, pairs));
    row.shift.reset();
    row.ci95.reset();
    if (!found.shift) row.at_most.reset();
    row.detectable.reset();
    row.pairs_to_decide.reset();
    row.stored_to_decide.reset();
    if (!found.shift) return;
    row.shift = found.shift->mean;
    row.ci95 = interval_of(*found.shift);
    if (found.at_most) row.at_most = std::min(row.at_most.value_or(kInfinity), *found.at_most);
    row.detectable = detectable_shift(found.cautious.value_or(*found.shift), row.limit,
                                      errors_of(measured.look, measured.metrics));
    if (row.verdict != GateVerdict::inconclusive || input.design == GateDesign::within_runs) return;
    row.pairs_to_decide = input.design == GateDesign::stored
                              ? runs_to_decide(found, judged.between, measured, row.limit)
                              : pairs_to_decide(found, measured, row.limit);
    if (input.design == GateDesign::stored && !row.pairs_to_decide)
        row.stored_to_decide = stored_to_decide(found, judged.between, measured, row.limit);
}

/// Takes a look. Returns whether a row failed, or one passed and no row keeps the gate open.
bool take(const GatePolicy& policy, const Look& look, const GateInput& input,
          std::vector<JudgedMetric>& judged) {
    std::vector<MetricFinding> findings;
    std::vector<double> p_values;
    for (const JudgedMetric& one : judged) {
        findings.push_back(found_at(one, input, look));
        p_values.push_back(findings.back().p_fail);
    }
    const std::vector<bool> rejected = rejected_by_holm(p_values, look.alpha);
    const Measured measured{.policy = policy, .input = input, .look = look, .metrics = judged.size()};
    bool open = false;
    bool failed = false;
    bool passed = false;
    for (std::size_t i = 0; i < judged.size(); ++i) {
        GateRow& row = judged[i].row;
        if (rejected[i]) {
            row.verdict = GateVerdict::fail;
            row.decided_at = look.pairs;
        } else if (row.verdict == GateVerdict::inconclusive && findings[i].passes) {
            row.verdict = GateVerdict::pass;
            row.decided_at = look.pairs;
        } else if (row.verdict == GateVerdict::pass && row.points && !findings[i].passes) {
            // A share that has not grown passes with few requests, which says nothing about later ones.
            row.verdict = GateVerdict::inconclusive;
            row.decided_at = 0;
        }
        describe(judged[i], findings[i], measured);
        failed = failed || row.verdict == GateVerdict::fail;
        passed = passed || row.verdict == GateVerdict::pass;
        open = open || row.keeps_open();
    }
    return failed || (!open && (passed || judged.empty()));
}

GateVerdict overall(std::span<const GateRow> rows) {
    const auto any = [&](GateVerdict verdict) {
        return std::ranges::any_of(rows, [verdict](const GateRow& row) { return row.verdict == verdict; });
    };
    if (any(GateVerdict::fail)) return GateVerdict::fail;
    if (std::ranges::any_of(rows, &GateRow::keeps_open)) return GateVerdict::inconclusive;
    return any(GateVerdict::pass) ? GateVerdict::pass : GateVerdict::inconclusive;
}

constexpr std::string_view kWord = "INCONCLUSIVE:";

std::string invalid_reasons(const RunResult& run, bool is_candidate) {
    std::string reasons;
    for (const Reason& reason : run.validity.reasons) {
        if (reason.severity != Verdict::invalid) continue;
        if (is_candidate && (reason.check == "errors" || reason.check == "all_failed")) continue;
        reasons += (reasons.empty() ? "" : "; ") + reason.text;
    }
    return reasons;
}

void require_usable(std::span<const GateRun> runs, bool is_candidate) {
    for (const GateRun& run : runs)
        if (const std::string why = why_unusable(run.result, is_candidate); !why.empty())
            throw Error(ExitCode::measurement_invalid,
                        fmt::format("{} cannot be used: {}; measure it again", run.directory, why));
}

}  // namespace

std::vector<Look> looks_of(const GatePolicy& policy) {
    return planned_looks(policy.max_pairs, policy.alpha, policy.beta);
}

std::vector<Look> one_look(const GatePolicy& policy, std::uint64_t pairs) {
    return {{.pairs = pairs, .alpha = policy.alpha, .beta = policy.beta}};
}

std::string why_unusable(const RunResult& run, bool is_candidate) {
    if (run.partial) return "it was interrupted";
    if (run.validity.verdict != Verdict::invalid) return "";
    return invalid_reasons(run, is_candidate);
}

GateReport ended_by_time(GateReport report) {
    const std::string few = too_few_text(report);
    if (few.empty() && report.verdict == GateVerdict::inconclusive)
        report.headline +=
            fmt::format(" --max-time ended the gate after {} of at most {} {}.", runs_of_candidate(report),
                        report.looks.empty() ? report.pairs : report.looks.back().pairs,
                        report.design == GateDesign::stored ? "runs of the candidate" : "pairs");
    if (few.empty()) return report;
    const std::string now = fmt::format("{}: allow more time (--max-time) or use shorter runs",
                                        too_few_text(report, " within --max-time"));
    for (GateRow& row : report.rows)
        if (row.reason == few) row.reason = now;
    if (report.verdict == GateVerdict::inconclusive) report.headline = fmt::format("{} {}.", kWord, now);
    return report;
}

GateReport ended_by_instrument(GateReport report, const std::string& what) {
    if (report.verdict != GateVerdict::inconclusive) return report;
    std::string rest = report.headline;
    if (rest.starts_with(kWord)) rest.erase(0, kWord.size());
    report.headline = fmt::format(
        "{} the load generator's host spoiled a run twice: {}. Use a quieter host, or --host-noise accept "
        "to take its figures as they are. Without this run:{}",
        kWord, what, rest);
    return report;
}

void require_comparable(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                        const std::set<Across>& across) {
    DistinctRuns distinct;
    for (const auto& side : {baseline, candidate})
        for (const GateRun& run : side) distinct.add(run.result, run.directory);
    const GateRun& first = baseline.front();
    for (const auto& side : {baseline, candidate})
        for (const GateRun& run : side) {
            const auto found = difference_of_work(first.result, run.result, across);
            if (found)
                throw UsageError(
                    fmt::format("{} and {} did not do the same work: {}; a gate compares runs "
                                "that differ in nothing but what is judged",
                                first.directory, run.directory, *found));
        }
    require_usable(baseline, false);
    require_usable(candidate, true);
}

GateReport decided(const GatePolicy& policy, const GateInput& input) {
    GateReport report{.design = input.design, .looks = input.looks, .policy = policy};
    const GatePolicy by = policy_of_summaries(policy, input.baseline, input.candidate, report.notes);
    std::vector<JudgedMetric> judged = judged_of(by, input, report.notes);
    const std::uint64_t runs = input.design == GateDesign::stored
                                   ? input.candidate.size()
                                   : std::min(input.baseline.size(), input.candidate.size());
    for (const Look& look : input.looks) {
        if (look.pairs > runs) break;
        report.pairs = look.pairs;
        if (take(policy, look, input, judged)) break;
    }
    if (report.pairs == 0 && runs > 0)
        for (JudgedMetric& one : judged)
            describe(one, {}, {.policy = policy, .input = input, .look = {.pairs = runs}});
    for (JudgedMetric& one : judged) report.rows.push_back(std::move(one.row));
    report.runs = run_notes_of(input.baseline, input.candidate, report.rows);
    if (const std::string few = too_few_text(report); !few.empty())
        for (GateRow& row : report.rows) row.reason = few;
    for (const GateLimit& limit : policy.limits) report.rows.push_back(row_of_limit(limit, input));
    report.verdict = overall(report.rows);
    if (report.verdict == GateVerdict::pass && !keeps_up(input.candidate))
        report.verdict = GateVerdict::inconclusive;
    report.conditions = conditions_of(input.baseline, input.candidate);
    const std::vector<std::string> notes = notes_on(input, policy.day_spread);
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
    if (auto note = note_on_evidence(report.rows, policy.alpha, judged.size())) report.notes.push_back(*note);
    if (!input.baseline.empty()) report.fingerprint = input.baseline.front().result.workload.fingerprint;
    report.why = why_of(report.rows, input);
    report.headline = headline_of(report);
    return report;
}

}  // namespace paretoken::reports
