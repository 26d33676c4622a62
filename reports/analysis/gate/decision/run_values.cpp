#include "reports/analysis/gate/decision/run_values.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/units.h"

namespace paretoken::reports {
namespace {

Failures failures_of(std::span<const GateRun> runs, const GateQuantity& quantity) {
    Failures sum;
    for (const GateRun& run : runs) {
        const Scope* const scope = scope_of(quantity, run.result);
        if (scope == nullptr) continue;
        sum.failed += scope->counts.failed;
        sum.requests += scope->counts.requests;
    }
    return sum;
}

/// The answers that ended by themselves, counted as the "failures" among all answers.
Failures ended_of(std::span<const GateRun> runs) {
    Failures sum;
    for (const GateRun& run : runs)
        for (const auto& [reason, count] : run.finish_reasons) {
            sum.requests += count;
            if (reason != "length") sum.failed += count;
        }
    return sum;
}

Failures faulty_of(std::span<const GateRun> runs, std::uint64_t AnswerFaults::*fault) {
    Failures sum;
    for (const GateRun& run : runs) {
        sum.failed += run.answers.*fault;
        sum.requests += run.answers.answers;
    }
    return sum;
}

Failures right_of(std::span<const GateRun> runs) {
    const GateRun* const run = probed(runs);
    if (run == nullptr) return {};
    const auto right = std::ranges::count_if(run->probe, &ProbeAnswer::right);
    return {.failed = static_cast<std::uint64_t>(right), .requests = run->result.quality->n};
}

}  // namespace

std::optional<std::uint64_t> seed_of(const RunResult& run) {
    return run.provenance.measured_by.empty() ? std::optional(run.workload.seed) : std::nullopt;
}

std::uint64_t number_of_work(const RunResult& run) {
    const auto seed = seed_of(run);
    return seed ? *seed + 1 : 0;
}

bool repeats_requests(std::span<const GateRun> baseline, std::span<const GateRun> candidate) {
    constexpr std::ptrdiff_t kFewest = 3;
    std::set<std::uint64_t> repeated;
    for (const GateRun& run : candidate) {
        const std::uint64_t work = number_of_work(run.result);
        const auto is_equal = [work](const GateRun& of) { return number_of_work(of.result) == work; };
        if (work == 0 || std::ranges::none_of(baseline, is_equal)) return false;
        repeated.insert(work);
    }
    return std::ranges::count_if(baseline, [&](const GateRun& run) {
               return repeated.contains(number_of_work(run.result));
           }) >= kFewest;
}

SideValues side_values(const GateQuantity& quantity, const GateInput& input) {
    SideValues values;
    for (const GateRun& run : input.baseline) values.baseline.push_back(value_of(quantity, run.result));
    for (const GateRun& run : input.candidate) values.candidate.push_back(value_of(quantity, run.result));
    return values;
}

std::optional<double> typical_value(std::span<const GateValue> values) {
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

std::optional<Interval> own_interval(const GateQuantity& quantity, const RunResult& run) {
    const Scope* const scope = scope_of(quantity, run);
    if (scope == nullptr) return std::nullopt;
    if (quantity.kind == GateKind::figure) return scope->throughput.interval(quantity.key);
    const PercentileValue* const held = percentile_of(quantity, run);
    return held == nullptr ? std::nullopt : held->ci95;
}

const GateRun* probed(std::span<const GateRun> runs) {
    const auto found = std::ranges::find_if(
        runs, [](const GateRun& run) { return run.result.quality.has_value() && !run.probe.empty(); });
    return found == runs.end() ? nullptr : &*found;
}

Failures counted(std::span<const GateRun> runs, const GateQuantity& quantity) {
    switch (quantity.kind) {
        case GateKind::failures:
            return failures_of(runs, quantity);
        case GateKind::finish_reasons:
            return ended_of(runs);
        case GateKind::quality:
            return right_of(runs);
        case GateKind::empty_answers:
            return faulty_of(runs, &AnswerFaults::empty);
        case GateKind::repeated_answers:
            return faulty_of(runs, &AnswerFaults::repeated);
        case GateKind::figure:
        case GateKind::percentile:
        case GateKind::output_length:
        case GateKind::reported:
            break;
    }
    return {};
}

namespace {

std::optional<double> value_in(const GateRun& run, const GateQuantity& quantity) {
    if (is_share(quantity.kind)) {
        const Failures counts = counted(std::span(&run, 1), quantity);
        return counts.requests > 0 ? std::optional(counts.share()) : std::nullopt;
    }
    const GateValue found = value_of(quantity, run.result);
    return found.among_failures ? std::optional(kInfinity) : found.value;
}

GateRunNote note_of(const GateRun& run, bool of_candidate, std::span<const GateRow> rows) {
    GateRunNote note{.of_candidate = of_candidate,
                     .directory = run.directory,
                     .started_at = run.result.provenance.started_at,
                     .verdict = run.result.validity.verdict};
    for (const GateRow& row : rows)
        if (const auto value = value_in(run, quantity_named(row.metric))) note.values[row.metric] = *value;
    return note;
}

}  // namespace

std::vector<GateRunNote> run_notes_of(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                                      std::span<const GateRow> rows) {
    std::vector<GateRunNote> notes;
    for (const auto& [runs, of_candidate] : {std::pair{baseline, false}, std::pair{candidate, true}})
        for (const GateRun& run : runs) notes.push_back(note_of(run, of_candidate, rows));
    return notes;
}

}  // namespace paretoken::reports
