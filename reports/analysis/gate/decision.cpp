#include "reports/analysis/gate/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/evidence/unpaired.h"
#include "core/result/slo.h"
#include "core/result/validity.h"
#include "core/run/distinct_runs.h"
#include "core/statistics.h"
#include "core/text/number_text.h"
#include "core/text/printable.h"
#include "core/units.h"
#include "reports/analysis/gate/notes.h"
#include "reports/analysis/gate/reported_policy.h"
#include "reports/analysis/gate/run_values.h"
#include "reports/analysis/gate/why.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

// ---- what the runs say of one metric

/// The shift of one pair: infinite if only one side falls among failures, nothing if both do or a value is
/// missing.
std::optional<double> shift_of(const GateValue& baseline, const GateValue& candidate, Better better) {
    const auto bad = [](const GateValue& of) { return of.among_failures; };
    if (bad(baseline) || bad(candidate)) {
        if (bad(baseline) && bad(candidate)) return std::nullopt;
        return bad(candidate) ? kInfinity : -kInfinity;
    }
    if (!baseline.value || !candidate.value) return std::nullopt;
    const double a = *baseline.value;
    const double b = *candidate.value;
    if (a <= 0 && b <= 0) return 0;
    const double ratio = a <= 0 ? kInfinity : b <= 0 ? -kInfinity : std::log(b / a);
    return better == Better::higher ? -ratio : ratio;
}

struct Values {
    std::vector<GateValue> baseline;
    std::vector<GateValue> candidate;
};

Values values_of(const GateQuantity& quantity, const GateInput& input) {
    Values values;
    for (const GateRun& run : input.baseline) values.baseline.push_back(value_of(quantity, run.result));
    for (const GateRun& run : input.candidate) values.candidate.push_back(value_of(quantity, run.result));
    return values;
}

bool is_known(const std::vector<GateValue>& values) {
    return std::ranges::any_of(values, [](const GateValue& v) { return v.value || v.among_failures; });
}

/// The geometric mean of the values above 0.
std::optional<double> typical(std::span<const GateValue> values) {
    double sum = 0;
    std::size_t n = 0;
    for (const GateValue& v : values) {
        if (!v.value || !(*v.value > 0)) continue;
        sum += std::log(*v.value);
        ++n;
    }
    if (n == 0) return std::nullopt;
    return std::exp(sum / static_cast<double>(n));
}

std::vector<double> logarithms(std::span<const GateValue> values, Better better) {
    std::vector<double> logs;
    for (const GateValue& v : values)
        if (v.value && *v.value > 0)
            logs.push_back(better == Better::higher ? -std::log(*v.value) : std::log(*v.value));
    return logs;
}

/// The limit as a shift: the tolerance, or the floor if that is larger.
double limit_of(const GateMetric& metric, const GateQuantity& quantity,
                const std::optional<double>& baseline) {
    const double tolerance = shift_of_share(metric.tolerance, quantity.better);
    if (metric.floor <= 0 || !baseline) return tolerance;
    return std::max(tolerance, shift_of_share(metric.floor / *baseline, quantity.better));
}

// ---- one metric at one look

/// The result of one look at one metric, before all metrics are judged together.
struct Finding {
    std::optional<Shift> shift = {};
    /// The shift with the error that a fail must exceed, if it is larger than that of `shift`.
    std::optional<Shift> cautious = {};
    std::optional<SetDifference> sets = {};  ///< for sides that were measured separately
    double p_fail = 1;
    std::optional<double> at_most = {};  ///< one-sided upper bound of the shift at this look
    bool passes = false;
    std::string reason = {};
};

/// `cautious` is the shift with the error that a fail must exceed, and `shift` that which a pass must.
Finding found_of_shift(const Shift& shift, const Shift& cautious, double limit, Better better, double beta) {
    Finding found{.shift = shift, .cautious = cautious};
    if (better == Better::neither) {  // a change in either direction counts
        found.p_fail = std::min(1.0, 2 * std::min(p_above(cautious, limit), p_below(cautious, -limit)));
        found.passes = p_below(shift, limit) <= beta && p_above(shift, -limit) <= beta;
    } else {
        found.p_fail = p_above(cautious, limit);
        found.passes = p_below(shift, limit) <= beta;
        found.at_most = upper_bound(shift, beta);
    }
    return found;
}

Finding found_of_shift(const Shift& shift, double limit, Better better, double beta) {
    return found_of_shift(shift, shift, limit, better, beta);
}

/// The finding if the percentile of one side falls among failures in some pairs; nothing if there is no such
/// pair.
std::optional<Finding> found_among_failures(std::span<const double> shifts) {
    const auto count = [&](double value) {
        return static_cast<std::size_t>(std::ranges::count(shifts, value));
    };
    const std::size_t worse = count(kInfinity);
    const std::size_t better = count(-kInfinity);
    if (worse + better == 0) return std::nullopt;
    Finding found{.reason =
                      fmt::format("no value (among failures, or 0) in {} of {} pairs on the candidate's "
                                  "side, and in {} on the baseline's",
                                  worse, shifts.size(), better)};
    if (better == 0 && 2 * worse >= shifts.size()) found.p_fail = 0;
    found.passes = worse == 0 && 2 * better >= shifts.size();
    return found;
}

Finding found_in_pairs(const Values& values, std::uint64_t pairs, const GateQuantity& quantity, double limit,
                       double beta) {
    std::vector<double> shifts;
    for (std::size_t i = 0; i < pairs; ++i)
        if (const auto shift = shift_of(values.baseline[i], values.candidate[i], quantity.better))
            shifts.push_back(*shift);
    if (auto found = found_among_failures(shifts)) return *found;
    if (shifts.size() < 3)
        return {.reason =
                    fmt::format("both sides have a value in only {} of {} pairs", shifts.size(), pairs)};
    const Shift shift = paired_shift(shifts);
    Finding found = found_of_shift(shift, limit, quantity.better, beta);
    if (shift.correlation > 0)
        found.reason = fmt::format(
            "successive pairs are correlated by about {:.1f}, which widens the interval", shift.correlation);
    return found;
}

/// The variation between days and hosts: as measured, and the standard deviation that is assumed.
struct Spread {
    std::optional<Variance> measured = {};
    double assumed = 0;
};

std::optional<Variance> variance_of(const std::optional<DaySpread>& spread) {
    if (!spread || spread->days < 3) return std::nullopt;
    return Variance{spread->deviation * spread->deviation, static_cast<double>(spread->days - 1)};
}

/// The logarithms of the baseline's values by session.
std::vector<Session> sessions_of(const std::vector<GateRun>& runs, std::span<const GateValue> values,
                                 Better better) {
    std::map<std::string, Session> sessions;
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (const double value : logarithms(values.subspan(i, 1), better))
            sessions[session_of(runs[i].result)].push_back(value);
    std::vector<Session> found;
    for (auto& [name, session] : sessions) found.push_back(std::move(session));
    return found;
}

bool is_one_session(const GateInput& input) {
    const std::string first = session_of(input.baseline.front().result);
    const auto is_same = [&](const GateRun& run) { return session_of(run.result) == first; };
    return std::ranges::all_of(input.baseline, is_same) && std::ranges::all_of(input.candidate, is_same);
}

Finding found_in_sets(const GateInput& input, const Values& values, std::uint64_t runs,
                      const GateQuantity& quantity, double limit, const Look& look, const Spread& between) {
    const auto lost = [](std::span<const GateValue> side) {
        return std::ranges::count_if(side, &GateValue::among_failures);
    };
    const auto candidate = std::span(values.candidate).first(static_cast<std::size_t>(runs));
    if (const auto worse = lost(candidate), better = lost(values.baseline); worse + better > 0) {
        Finding found{.reason = fmt::format("falls among failures in {} of {} runs of the candidate, and in "
                                            "{} of {} of the baseline",
                                            worse, candidate.size(), better, values.baseline.size())};
        if (better == 0 && 2 * static_cast<std::size_t>(worse) >= candidate.size()) found.p_fail = 0;
        found.passes = worse == 0;
        return found;
    }
    const auto before = sessions_of(input.baseline, values.baseline, quantity.better);
    const auto after = logarithms(candidate, quantity.better);
    const auto known = std::accumulate(before.begin(), before.end(), std::size_t{0},
                                       [](std::size_t n, const Session& of) { return n + of.size(); });
    if (known < 3 || after.size() < 3)
        return {.reason =
                    fmt::format("the baseline has {} value{} and the candidate {}; 3 of each are needed",
                                known, known == 1 ? "" : "s", after.size())};
    const SetDifference sets = set_difference(before, after, is_one_session(input));
    const Shift shift = shift_of(sets, between.measured, after.size());
    Finding found =
        found_of_shift(shift, cautious_shift(sets, between.measured, between.assumed, after.size()), limit,
                       quantity.better, look.beta);
    found.sets = sets;
    return found;
}

/// The 95 % interval that a single run has for a quantity.
std::optional<Interval> own_interval(const GateQuantity& quantity, const RunResult& run) {
    const Scope* const scope = scope_of(quantity, run);
    if (scope == nullptr) return std::nullopt;
    if (quantity.kind == GateKind::figure) return scope->throughput.interval(quantity.key);
    const PercentileValue* const held = percentile_of(quantity, run);
    return held == nullptr ? std::nullopt : held->ci95;
}

/// The standard error of a value's logarithm, from its 95 % interval; nothing when the interval is unbounded.
std::optional<double> log_error(const std::optional<Interval>& interval) {
    constexpr double kNormal95 = 1.959964;
    if (!interval || !(interval->low > 0) || !std::isfinite(interval->high)) return std::nullopt;
    return std::log(interval->high / interval->low) / (2 * kNormal95);
}

Finding found_within_runs(const GateInput& input, const Values& values, const GateQuantity& quantity,
                          double limit, double beta) {
    constexpr double kDegrees = 18;  // two intervals of at least 10 blocks each
    const auto shift = shift_of(values.baseline.front(), values.candidate.front(), quantity.better);
    if (!shift) return {.reason = "one side has no value"};
    if (auto found = found_among_failures(std::span(&*shift, 1))) return *found;
    const auto before = log_error(own_interval(quantity, input.baseline.front().result));
    const auto after = log_error(own_interval(quantity, input.candidate.front().result));
    if (!before || !after) return {.reason = "a run is too short for an interval of its own"};
    return found_of_shift({*shift, std::hypot(*before, *after), kDegrees}, limit, quantity.better, beta);
}

// ---- counts

Finding found_in_failures(const Failures& before, const Failures& after, double tolerance, double beta,
                          std::string_view did = "failed") {
    const double difference = after.share() - before.share();
    Finding found{.reason = fmt::format("{} of {} {}, and {} of {} before", after.failed, after.requests, did,
                                        before.failed, before.requests)};
    if (difference > tolerance) found.p_fail = p_fails_more(before, after);
    found.passes = difference <= 0 || share_upper_bound(after, beta) <= before.share() + tolerance;
    return found;
}

Finding found_in_reasons(const Failures& before, const Failures& after, double tolerance) {
    const double difference = std::abs(after.share() - before.share());
    Finding found{.reason = fmt::format("{} of {} ended by themselves, and {} of {} before", after.failed,
                                        after.requests, before.failed, before.requests)};
    if (difference > tolerance)
        found.p_fail = std::min(1.0, 2 * std::min(p_fails_more(before, after), p_fails_more(after, before)));
    found.passes = difference <= tolerance;
    return found;
}

/// An example of an answer with a fault, from the first run that has one.
std::string example_of(std::span<const GateRun> runs, std::string AnswerFaults::*example) {
    for (const GateRun& run : runs)
        if (!(run.answers.*example).empty()) return "; for example " + run.answers.*example;
    return {};
}

Finding found_in_answers(std::span<const GateRun> before, std::span<const GateRun> after,
                         const GateQuantity& quantity, double tolerance, double beta) {
    const bool empty = quantity.kind == GateKind::empty_answers;
    Finding found = found_in_failures(counted(before, quantity), counted(after, quantity), tolerance, beta,
                                      empty ? "are empty" : "repeat a text");
    found.reason += example_of(after, empty ? &AnswerFaults::empty_example : &AnswerFaults::repeated_example);
    return found;
}

/// Compares the questions that were answered on both sides, and right on one side only (McNemar). A drop
/// within the tolerance passes; the number of questions determines how large a drop could have been found,
/// and the reason says it.
Finding found_in_quality(std::span<const GateRun> before, std::span<const GateRun> after,
                         const GateQuantity& quantity, double tolerance) {
    constexpr std::size_t kShownBytes = 60;
    const auto& then = probed(before)->probe;
    const auto& now = probed(after)->probe;
    std::uint64_t lost = 0;
    std::uint64_t gained = 0;
    const ProbeAnswer* example = nullptr;
    for (std::size_t i = 0; i < std::min(then.size(), now.size()); ++i) {
        if (then[i].failed || now[i].failed) continue;
        if (then[i].right && !now[i].right && lost++ == 0) example = &now[i];
        if (!then[i].right && now[i].right) ++gained;
    }
    const Failures had = counted(before, quantity);
    const Failures has = counted(after, quantity);
    Finding found{
        .reason = fmt::format("{} of {} answers are right, and {} of {} before: {} were lost and {} gained",
                              has.failed, has.requests, had.failed, had.requests, lost, gained)};
    if (example != nullptr)
        found.reason += fmt::format("; for example question {}, {}: \"{}\"", example->question,
                                    example->expected, printable_line(example->answer, kShownBytes));
    found.passes = had.share() - has.share() <= tolerance;
    // mcnemar_p_value is two-sided, but only one direction is worse.
    if (!found.passes && lost > gained) found.p_fail = mcnemar_p_value(gained, lost) / 2;
    return found;
}

// ---- a metric of the policy, and all of them

struct Judged {
    GateMetric metric;
    GateQuantity quantity;
    Values values = {};
    Spread between;
    GateRow row = {};
};

Spread spread_of(const GateInput& input, const std::string& metric, double assumed) {
    const auto found = input.day_spread.find(metric);
    return {.measured =
                variance_of(found == input.day_spread.end() ? std::nullopt : std::optional(found->second)),
            .assumed = assumed};
}

/// The baseline's and the candidate's part of a list that belongs to a look.
template <class T>
std::span<const T> baseline_part(const GateInput& input, const std::vector<T>& of, std::uint64_t pairs) {
    return std::span(of).first(input.design == GateDesign::pairs ? static_cast<std::size_t>(pairs)
                                                                 : of.size());
}
template <class T>
std::span<const T> candidate_part(const GateInput& input, const std::vector<T>& of, std::uint64_t pairs) {
    const bool grows = input.design == GateDesign::pairs || input.design == GateDesign::stored;
    return std::span(of).first(grows ? static_cast<std::size_t>(pairs) : of.size());
}

Finding found_at(const Judged& judged, const GateInput& input, const Look& look) {
    const std::uint64_t pairs = look.pairs;
    const double beta = look.beta;
    const auto before = baseline_part(input, input.baseline, pairs);
    const auto after = candidate_part(input, input.candidate, pairs);
    switch (judged.quantity.kind) {
        case GateKind::failures:
            return found_in_failures(counted(before, judged.quantity), counted(after, judged.quantity),
                                     judged.metric.tolerance, beta);
        case GateKind::finish_reasons:
            return found_in_reasons(counted(before, judged.quantity), counted(after, judged.quantity),
                                    judged.metric.tolerance);
        case GateKind::quality:
            return found_in_quality(before, after, judged.quantity, judged.metric.tolerance);
        case GateKind::empty_answers:
        case GateKind::repeated_answers:
            return found_in_answers(before, after, judged.quantity, judged.metric.tolerance, beta);
        case GateKind::figure:
        case GateKind::percentile:
        case GateKind::output_length:
        case GateKind::reported:
            break;
    }
    switch (input.design) {
        case GateDesign::pairs:
            return found_in_pairs(judged.values, pairs, judged.quantity, judged.row.limit, beta);
        case GateDesign::two_sets:
        case GateDesign::stored:
            return found_in_sets(input, judged.values, after.size(), judged.quantity, judged.row.limit, look,
                                 judged.between);
        case GateDesign::within_runs:
            if (judged.quantity.kind == GateKind::output_length)
                return {.passes = true, .reason = "a mean of one run per side has no interval"};
            return found_within_runs(input, judged.values, judged.quantity, judged.row.limit, beta);
    }
    return {};
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
        if (before || after)
            notes.push_back(fmt::format("\"{}\" was measured for the {} only and is not judged.",
                                        quantity.title, before ? "baseline" : "candidate"));
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
std::vector<Judged> judged_of(const GatePolicy& policy, const GateInput& input,
                              std::vector<std::string>& notes) {
    std::vector<Judged> judged;
    std::vector<std::string> unmeasured;
    for (const GateMetric& metric : policy.metrics) {
        Judged one{.metric = metric,
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
        if (is_share(one.quantity.kind)) {
            const std::size_t known = notes.size();
            if (!has_counts(one.quantity, input, notes)) {
                if (notes.size() == known) unmeasured.push_back(metric.name);
                continue;
            }
            row.points = true;
            row.limit = metric.tolerance;
        } else {
            one.values = values_of(one.quantity, input);
            if (!is_known(one.values.baseline) && !is_known(one.values.candidate)) {
                unmeasured.push_back(metric.name);
                continue;
            }
            row.limit = limit_of(metric, one.quantity, typical(one.values.baseline));
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

/// The number of runs of the candidate, above `runs`, that would decide beside the stored baseline, if the
/// shift and the spread stay the same; nothing if not even many more suffice.
std::optional<std::uint64_t> runs_to_decide(const Finding& found, const Spread& between, std::uint64_t runs,
                                            double limit, const Errors& errors) {
    constexpr std::uint64_t kMostRuns = 1000;
    if (!found.sets) return std::nullopt;
    const auto decides = [&](std::uint64_t n) {
        const Shift shift = shift_of(*found.sets, between.measured, n);
        const Shift cautious = cautious_shift(*found.sets, between.measured, between.assumed, n);
        return p_above(cautious, limit) <= errors.fail || p_below(shift, limit) <= errors.pass;
    };
    for (std::uint64_t n = runs + 1; n <= kMostRuns; n += std::max<std::uint64_t>(1, n / 16))
        if (decides(n)) return n;
    return std::nullopt;
}

/// Fills the row with the results of a look.
void describe(Judged& judged, const GateInput& input, const Finding& found, std::uint64_t pairs,
              const Errors& errors) {
    GateRow& row = judged.row;
    row.p_fail = found.p_fail;
    row.reason = found.reason;
    if (is_share(judged.quantity.kind)) {
        const Failures after = counted(candidate_part(input, input.candidate, pairs), judged.quantity);
        row.baseline = counted(baseline_part(input, input.baseline, pairs), judged.quantity).share();
        row.samples = after.requests;
        row.candidate = after.share();
        row.shift = *row.candidate - *row.baseline;
        if (judged.quantity.better == Better::higher) row.shift = -*row.shift;
        return;
    }
    row.baseline = typical(baseline_part(input, judged.values.baseline, pairs));
    row.candidate = typical(candidate_part(input, judged.values.candidate, pairs));
    row.shift.reset();
    row.ci95.reset();
    if (!found.shift) row.at_most.reset();
    row.detectable.reset();
    row.pairs_to_decide.reset();
    if (!found.shift) return;
    row.shift = found.shift->mean;
    row.ci95 = interval_of(*found.shift);
    if (found.at_most) row.at_most = std::min(row.at_most.value_or(kInfinity), *found.at_most);
    row.detectable = detectable_shift(found.cautious.value_or(*found.shift), row.limit, errors);
    if (row.verdict != GateVerdict::inconclusive || input.design == GateDesign::within_runs) return;
    if (input.design == GateDesign::stored) {
        row.pairs_to_decide = runs_to_decide(found, judged.between, pairs, row.limit, errors);
        return;
    }
    if (const auto enough = pairs_to_decide(*found.shift, pairs, row.limit, errors))
        row.pairs_to_decide = std::max(*enough, pairs + 1);
}

/// Takes a look. Returns whether every row is decided, or one failed.
bool take(const Look& look, const GateInput& input, std::vector<Judged>& judged) {
    std::vector<Finding> findings;
    std::vector<double> p_values;
    for (const Judged& one : judged) {
        findings.push_back(found_at(one, input, look));
        p_values.push_back(findings.back().p_fail);
    }
    const std::vector<bool> rejected = rejected_by_holm(p_values, look.alpha);
    // What could be detected, and the pairs that would decide, are those of the last look.
    const Look& last = input.looks.back();
    const Errors errors{.fail = last.alpha / static_cast<double>(judged.size()), .pass = last.beta};
    bool open = false;
    bool failed = false;
    for (std::size_t i = 0; i < judged.size(); ++i) {
        GateRow& row = judged[i].row;
        if (rejected[i]) {
            row.verdict = GateVerdict::fail;
            row.decided_at = look.pairs;
        } else if (row.verdict == GateVerdict::inconclusive && findings[i].passes) {
            row.verdict = GateVerdict::pass;
            row.decided_at = look.pairs;
        }
        describe(judged[i], input, findings[i], look.pairs, errors);
        failed = failed || row.verdict == GateVerdict::fail;
        open = open || row.verdict == GateVerdict::inconclusive;
    }
    return failed || !open;
}

// ---- limits on the candidate alone

/// Returns whether a run shows that the limit is met (true) or missed (false).
std::optional<bool> shown_in(const GateQuantity& quantity, const GateLimit& limit, const RunResult& run) {
    if (quantity.kind == GateKind::percentile) {
        if (!kept_up(run)) return false;
        const PercentileValue* const held = percentile_of(quantity, run);
        return held == nullptr ? std::nullopt : shown_on(*held, limit.limit, !limit.at_most);
    }
    const auto interval = own_interval(quantity, run);
    if (!interval) return std::nullopt;
    if (limit.at_most ? interval->high <= limit.limit : interval->low >= limit.limit) return true;
    if (limit.at_most ? interval->low > limit.limit : interval->high < limit.limit) return false;
    return std::nullopt;
}

/// The factor by which the requests of a run must probably grow until it certifies a limit: the median over
/// the runs that do not. Nothing if it is not known.
std::optional<double> times_enough(const GateQuantity& quantity, const GateLimit& limit,
                                   std::span<const GateRun> runs) {
    if (quantity.kind != GateKind::percentile || !quantity.request_class.empty()) return std::nullopt;
    std::vector<double> factors;
    for (const GateRun& run : runs) {
        if (shown_in(quantity, limit, run.result)) continue;
        if (const auto times = paretoken::times_enough(
                run.result, {.tag = quantity.key, .limit = limit.limit, .p = quantity.p}))
            factors.push_back(*times);
    }
    if (factors.empty()) return std::nullopt;
    std::ranges::sort(factors);
    const double median = percentile(factors, .5);
    return median > 1 ? std::optional(median) : std::nullopt;
}

/// A number of requests rounded up to two digits.
std::uint64_t rounded_up(double requests) {
    const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(requests)) - 1));
    return static_cast<std::uint64_t>(std::ceil(requests / unit) * unit);
}

/// The value of the row in words: "39.2 ms".
std::string amount_of(const GateRow& row, double value) {
    if (row.unit == "s") return number_text(value * 1e3) + " ms";
    if (row.unit == "ratio") return percent_text(value);
    return fmt::format("{} {}", number_text(value), row.unit);
}

/// Compares the baseline's value with a limit: "; the baseline misses it, too (38.9 ms)".
std::string baseline_text(const GateRow& row, const GateLimit& limit) {
    if (!row.baseline) return "";
    const bool misses = limit.at_most ? *row.baseline > limit.limit : *row.baseline < limit.limit;
    return fmt::format("; the baseline {} ({})", misses ? "misses it, too" : "is within it",
                       amount_of(row, *row.baseline));
}

GateRow row_of(const GateLimit& limit, const GateInput& input) {
    const GateQuantity quantity = quantity_named(limit.name);
    GateRow row{.metric = text_of(limit), .title = "Limit " + text_of(limit), .unit = quantity.unit};
    row.limit = limit.limit;
    std::size_t passed = 0;
    std::size_t missed = 0;
    const Values values = values_of(quantity, input);
    for (const GateRun& run : input.candidate) {
        const auto shown = shown_in(quantity, limit, run.result);
        passed += shown == true ? 1 : 0;
        missed += shown == false ? 1 : 0;
    }
    row.baseline = typical(values.baseline);
    row.candidate = typical(values.candidate);
    const std::size_t runs = input.candidate.size();
    const std::string value = row.candidate ? amount_of(row, *row.candidate) : "no value";
    if (missed > 0) {
        row.verdict = GateVerdict::fail;
        row.reason =
            fmt::format("{}, missed in {} of {} runs{}", value, missed, runs, baseline_text(row, limit));
    } else if (passed == runs) {
        row.verdict = GateVerdict::pass;
        row.reason = fmt::format("{}, certified in {} of {} runs", value, passed, runs);
    } else {
        row.reason = fmt::format("{}, certified in {} of {} runs and missed in none", value, passed, runs);
        if (const auto times = times_enough(quantity, limit, input.candidate))
            row.reason += fmt::format(
                "; about {} requests in each run (--num-prompts) would decide it",
                grouped(rounded_up(*times *
                                   static_cast<double>(input.candidate.front().result.counts.requests))));
        else
            row.reason += "; longer runs (--num-prompts or --duration) would decide it";
    }
    return row;
}

GateVerdict overall(std::span<const GateRow> rows) {
    const auto any = [&](GateVerdict verdict) {
        return std::ranges::any_of(rows, [verdict](const GateRow& row) { return row.verdict == verdict; });
    };
    if (any(GateVerdict::fail)) return GateVerdict::fail;
    if (rows.empty() || any(GateVerdict::inconclusive)) return GateVerdict::inconclusive;
    return GateVerdict::pass;
}

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

std::string_view name_of(GateVerdict verdict) {
    switch (verdict) {
        case GateVerdict::pass:
            return "pass";
        case GateVerdict::fail:
            return "fail";
        case GateVerdict::inconclusive:
            return "inconclusive";
    }
    return "";
}

std::string_view name_of(GateDesign design) {
    switch (design) {
        case GateDesign::pairs:
            return "pairs";
        case GateDesign::two_sets:
            return "two_sets";
        case GateDesign::stored:
            return "stored";
        case GateDesign::within_runs:
            return "within_runs";
    }
    return "";
}

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

bool spoiled_by_instrument(const RunResult& run) {
    if (run.partial || run.validity.verdict != Verdict::invalid) return false;
    return std::ranges::all_of(run.validity.reasons, [](const Reason& reason) {
        return reason.severity != Verdict::invalid || is_of_host(reason.check);
    });
}

GateReport ended_by_instrument(GateReport report, const std::string& what) {
    constexpr std::string_view kWord = "INCONCLUSIVE:";
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
    std::vector<Judged> judged = judged_of(by, input, report.notes);
    const std::uint64_t runs = input.design == GateDesign::stored
                                   ? input.candidate.size()
                                   : std::min(input.baseline.size(), input.candidate.size());
    for (const Look& look : input.looks) {
        if (look.pairs > runs) break;
        report.pairs = look.pairs;
        if (take(look, input, judged)) break;
    }
    for (Judged& one : judged) report.rows.push_back(std::move(one.row));
    report.runs = run_notes_of(input.baseline, input.candidate, report.rows);
    for (const GateLimit& limit : policy.limits) report.rows.push_back(row_of(limit, input));
    report.verdict = overall(report.rows);
    if (report.verdict == GateVerdict::pass && !keeps_up(input.candidate))
        report.verdict = GateVerdict::inconclusive;
    report.conditions = conditions_of(input.baseline, input.candidate);
    const std::vector<std::string> notes = notes_on(input, policy.day_spread);
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
    if (!input.baseline.empty()) report.fingerprint = input.baseline.front().result.workload.fingerprint;
    report.why = why_of(report.rows, input);
    report.headline = headline_of(report);
    return report;
}

bool metrics_are_decided(const GateReport& report) {
    const auto is_undecided = [](const GateRow& row) { return row.verdict == GateVerdict::inconclusive; };
    const auto limits = report.rows.end() - static_cast<std::ptrdiff_t>(report.policy.limits.size());
    return !report.rows.empty() && std::none_of(report.rows.begin(), limits, is_undecided);
}

bool more_runs_do_not_decide(const GateReport& report) {
    constexpr std::uint64_t kFewest = 6;  // below, the spread of the candidate's runs is hardly known
    if (report.design != GateDesign::stored || report.pairs < kFewest || report.looks.empty()) return false;
    return std::ranges::none_of(report.rows, [&](const GateRow& row) {
        return row.verdict == GateVerdict::inconclusive && row.pairs_to_decide &&
               *row.pairs_to_decide <= report.looks.back().pairs;
    });
}

double percent_of(double shift, Better better) {
    return 100 * (better == Better::higher ? -std::expm1(-shift) : std::expm1(shift));
}

double shift_of_share(double share, Better better) {
    if (better != Better::higher) return std::log1p(share);
    return share < 1 ? -std::log1p(-share) : kInfinity;
}

std::string detectable_text(double shift, Better better) {
    if (shift > std::log(10.0)) return "this data would not have shown even a tenfold change";
    return fmt::format("this data would have shown {} % or more", number_text(percent_of(shift, better)));
}

}  // namespace paretoken::reports
