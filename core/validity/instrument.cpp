#include "core/validity/instrument.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/text/number_text.h"
#include "core/validity/checks.h"

namespace paretoken {
namespace {

/// Keeps the larger share.
void keep_larger(InstrumentPart& largest, double part, std::string_view figure, std::string_view direction) {
    if (part <= largest.part) return;
    largest = {part, fmt::format("{} could truly be {} {}", figure, percent_text(part), direction)};
}

/// Adds the share of a figure by which it may be too small.
void keep_larger(InstrumentPart& largest, const RunResult& run, std::string_view key) {
    const auto held = std::ranges::find(run.throughput.values, key, &FigureValue::key);
    if (held == run.throughput.values.end() || !held->instrument) return;
    keep_larger(largest, held->value > 0 ? *held->instrument / held->value : 1, key, "higher");
}

/// Returns whether enough events were read late to judge the gaps between them: more than 2 %, and more than
/// two, of those that share a read, or any without a kernel stamp by more than 2 % of a gap.
bool gaps_are_doubtful(const RunResult& run, const MetricSummary& gaps) {
    constexpr double kFew = 0.02;
    constexpr double kFewestEvents = 3;
    const double late = run.client.late_grouped_share.value_or(0);
    return (late > kFew && late * static_cast<double>(gaps.n) >= kFewestEvents) ||
           unstamped_delay(run).value_or(0) > kFew;
}

/// Returns the largest share of a percentile of the headline times by which it may be too large.
InstrumentPart largest_part_of(const RunResult& run,
                               std::initializer_list<std::pair<double, std::string_view>> percentiles) {
    InstrumentPart largest;
    for (const std::string_view tag : {"ttft", "itl", "tpot", "e2e"}) {
        const MetricSummary* const metric = run.metric(headline_key(tag, run.open_loop()));
        if (metric == nullptr || (tag == "itl" && !gaps_are_doubtful(run, *metric))) continue;
        for (const auto& [p, label] : percentiles) {
            const PercentileValue* const held = metric->at(p);
            if (held == nullptr || !held->value || held->instrument.value_or(0) < kDelayFloor) continue;
            keep_larger(largest, *held->instrument / *held->value,
                        fmt::format("{} of {}", label, metric->key), "lower");
        }
    }
    return largest;
}

}  // namespace

InstrumentPart largest_instrument_part(const RunResult& run) {
    InstrumentPart largest = largest_part_of(run, {{0.5, "median"}, {0.95, "p95"}});
    keep_larger(largest, run, figure::kOutputTokens);
    keep_larger(largest, run, figure::kRequests);  // the same share, if output tokens are not known
    return largest;
}

std::optional<Reason> instrument_of(const RunResult& run, const ValidityOptions& options) {
    constexpr double kWarn = 0.02;
    constexpr double kInvalid = 0.10;
    InstrumentPart largest = largest_instrument_part(run);
    const bool is_invalid = largest.part > kInvalid;
    double limit = is_invalid ? kInvalid : kWarn;
    if (largest.part <= kWarn) {
        limit = kInvalid;
        largest = largest_part_of(run, {{0.99, "p99"}});
        keep_larger(largest, run, figure::kGoodput);
        if (largest.part <= limit) return std::nullopt;
    }
    return of_host({is_invalid ? Verdict::invalid : Verdict::warn, "instrument",
                    fmt::format("the client may have read or sent late: {} (limit {})", largest.figure,
                                percent_text(limit))},
                   options);
}

}  // namespace paretoken
