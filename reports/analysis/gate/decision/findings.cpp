#include "reports/analysis/gate/decision/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/text/printable.h"
#include "core/units.h"

namespace paretoken::reports {
namespace {

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

bool has_logarithm(const GateValue& of) {
    return of.value && *of.value > 0;
}

std::vector<double> logarithms(std::span<const GateValue> values, Better better) {
    std::vector<double> logs;
    for (const GateValue& v : values)
        if (has_logarithm(v))
            logs.push_back(better == Better::higher ? -std::log(*v.value) : std::log(*v.value));
    return logs;
}

/// `cautious` is the shift with the error that a fail must exceed, and `shift` that which a pass must.
MetricFinding found_of_shift(const Shift& shift, const Shift& cautious, double limit, Better better,
                             double beta) {
    MetricFinding found{.shift = shift, .cautious = cautious};
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

MetricFinding found_of_shift(const Shift& shift, double limit, Better better, double beta) {
    return found_of_shift(shift, shift, limit, better, beta);
}

/// The finding if the percentile of one side falls among failures in some pairs; nothing if there is no such
/// pair.
std::optional<MetricFinding> found_among_failures(std::span<const double> shifts) {
    const auto count = [&](double value) {
        return static_cast<std::size_t>(std::ranges::count(shifts, value));
    };
    const std::size_t worse = count(kInfinity);
    const std::size_t better = count(-kInfinity);
    if (worse + better == 0) return std::nullopt;
    MetricFinding found{
        .reason = fmt::format("no value (among failures, or 0) in {} of {} pairs on the candidate's "
                              "side, and in {} on the baseline's",
                              worse, shifts.size(), better)};
    if (better == 0 && 2 * worse >= shifts.size()) found.p_fail = 0;
    found.passes = worse == 0 && 2 * better >= shifts.size();
    return found;
}

MetricFinding found_in_pairs(const SideValues& values, std::uint64_t pairs, const GateQuantity& quantity,
                             double limit, double beta) {
    std::vector<double> shifts;
    for (std::size_t i = 0; i < pairs; ++i)
        if (const auto shift = shift_of(values.baseline[i], values.candidate[i], quantity.better))
            shifts.push_back(*shift);
    if (auto found = found_among_failures(shifts)) return *found;
    if (shifts.size() < 3)
        return {.reason =
                    fmt::format("both sides have a value in only {} of {} pairs", shifts.size(), pairs)};
    const Shift shift = paired_shift(shifts);
    MetricFinding found = found_of_shift(shift, limit, quantity.better, beta);
    if (shift.correlation > 0)
        found.reason = fmt::format(
            "successive pairs are correlated by about {:.1f}, which widens the interval", shift.correlation);
    return found;
}

std::optional<Variance> variance_of(const std::optional<DaySpread>& spread) {
    if (!spread || spread->days < 3) return std::nullopt;
    return Variance{spread->deviation * spread->deviation, static_cast<double>(spread->days - 1)};
}

/// The logarithms of the values, with the runs' work if they are to be compared by it.
Session valued(std::span<const GateRun> runs, std::span<const GateValue> values, Better better,
               bool by_work) {
    Session session;
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (const double value : logarithms(values.subspan(i, 1), better))
            session.emplace_back(value, by_work ? number_of_work(runs[i].result) : 0);
    return session;
}

/// The values of the baseline by session.
std::vector<Session> sessions_of(std::span<const GateRun> runs, std::span<const GateValue> values,
                                 Better better, bool by_work) {
    std::map<std::string, Session> sessions;
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (const RunValue& value : valued(runs.subspan(i, 1), values.subspan(i, 1), better, by_work))
            sessions[session_of(runs[i].result)].push_back(value);
    std::vector<Session> found;
    found.reserve(sessions.size());
    for (auto& [name, session] : sessions) found.push_back(std::move(session));
    return found;
}

bool is_one_session(const GateInput& input) {
    const std::string first = session_of(input.baseline.front().result);
    const auto is_same = [&](const GateRun& run) { return session_of(run.result) == first; };
    return std::ranges::all_of(input.baseline, is_same) && std::ranges::all_of(input.candidate, is_same);
}

MetricFinding found_in_sets(const GateInput& input, const SideValues& values, std::uint64_t runs,
                            const GateQuantity& quantity, double limit, const Look& look,
                            const SessionSpread& between) {
    const auto lost = [](std::span<const GateValue> side) {
        return std::ranges::count_if(side, &GateValue::among_failures);
    };
    const auto candidate = std::span(values.candidate).first(static_cast<std::size_t>(runs));
    if (const auto worse = lost(candidate), better = lost(values.baseline); worse + better > 0) {
        MetricFinding found{.reason =
                                fmt::format("falls among failures in {} of {} runs of the candidate, and in "
                                            "{} of {} of the baseline",
                                            worse, candidate.size(), better, values.baseline.size())};
        if (better == 0 && 2 * static_cast<std::size_t>(worse) >= candidate.size()) found.p_fail = 0;
        found.passes = worse == 0;
        return found;
    }
    const auto new_runs = std::span(input.candidate).first(candidate.size());
    // Without a value of some run, the works of the others may not meet.
    const bool by_work = std::ranges::all_of(values.baseline, has_logarithm) &&
                         std::ranges::all_of(candidate, has_logarithm) &&
                         repeats_requests(input.baseline, new_runs);
    const auto before = sessions_of(input.baseline, values.baseline, quantity.better, by_work);
    const auto after = valued(new_runs, candidate, quantity.better, by_work);
    const auto known = std::accumulate(before.begin(), before.end(), std::size_t{0},
                                       [](std::size_t n, const Session& of) { return n + of.size(); });
    if (known < 3 || after.size() < 3)
        return {.reason =
                    fmt::format("the baseline has {} value{} and the candidate {}; 3 of each are needed",
                                known, known == 1 ? "" : "s", after.size())};
    const SetDifference sets = set_difference(before, after, is_one_session(input));
    const Shift shift = shift_of(sets, between.measured, after.size());
    MetricFinding found =
        found_of_shift(shift, cautious_shift(sets, between.measured, between.assumed, after.size()), limit,
                       quantity.better, look.beta);
    found.sets = sets;
    return found;
}

/// The standard error of a value's logarithm, from its 95 % interval; nothing when the interval is unbounded.
std::optional<double> log_error(const std::optional<Interval>& interval) {
    constexpr double kNormal95 = 1.959964;
    if (!interval || !(interval->low > 0) || !std::isfinite(interval->high)) return std::nullopt;
    return std::log(interval->high / interval->low) / (2 * kNormal95);
}

MetricFinding found_within_runs(const GateInput& input, const SideValues& values,
                                const GateQuantity& quantity, double limit, double beta) {
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

MetricFinding found_in_failures(const Failures& before, const Failures& after, double tolerance, double beta,
                                std::string_view did = "failed") {
    const double difference = after.share() - before.share();
    MetricFinding found{.reason = fmt::format("{} of {} {}, and {} of {} before", after.failed,
                                              after.requests, did, before.failed, before.requests)};
    if (difference > tolerance) found.p_fail = p_fails_more(before, after);
    found.passes = share_passes(before, after, tolerance, beta);
    found.counts = {before, after};
    return found;
}

MetricFinding found_in_reasons(const Failures& before, const Failures& after, double tolerance) {
    const double difference = std::abs(after.share() - before.share());
    MetricFinding found{.reason = fmt::format("{} of {} ended by themselves, and {} of {} before",
                                              after.failed, after.requests, before.failed, before.requests)};
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

MetricFinding found_in_answers(std::span<const GateRun> before, std::span<const GateRun> after,
                               const GateQuantity& quantity, double tolerance, double beta) {
    const bool empty = quantity.kind == GateKind::empty_answers;
    MetricFinding found = found_in_failures(counted(before, quantity), counted(after, quantity), tolerance,
                                            beta, empty ? "are empty" : "repeat a text");
    found.reason += example_of(after, empty ? &AnswerFaults::empty_example : &AnswerFaults::repeated_example);
    return found;
}

/// Compares the questions that were answered on both sides, and right on one side only (McNemar). A drop
/// within the tolerance passes; the number of questions determines how large a drop could have been found,
/// and the reason says it.
MetricFinding found_in_quality(std::span<const GateRun> before, std::span<const GateRun> after,
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
    MetricFinding found{
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

}  // namespace

bool share_passes(const Failures& before, const Failures& after, double tolerance, double beta) {
    return after.share() <= before.share() || share_upper_bound(after, beta) <= before.share() + tolerance;
}

SessionSpread spread_of(const GateInput& input, const std::string& metric, double assumed) {
    const auto found = input.day_spread.find(metric);
    return {.measured =
                variance_of(found == input.day_spread.end() ? std::nullopt : std::optional(found->second)),
            .assumed = assumed};
}

MetricFinding found_at(const JudgedMetric& judged, const GateInput& input, const Look& look) {
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

}  // namespace paretoken::reports
