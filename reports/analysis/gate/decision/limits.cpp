#include "reports/analysis/gate/decision/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/overload.h"
#include "core/result/slo.h"
#include "core/statistics.h"
#include "core/text/number_text.h"
#include "reports/analysis/gate/decision/run_values.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

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

}  // namespace

GateRow row_of_limit(const GateLimit& limit, const GateInput& input) {
    const GateQuantity quantity = quantity_named(limit.name);
    GateRow row{.metric = text_of(limit), .title = "Limit " + text_of(limit), .unit = quantity.unit};
    row.limit = limit.limit;
    std::size_t passed = 0;
    std::size_t missed = 0;
    const SideValues values = side_values(quantity, input);
    for (const GateRun& run : input.candidate) {
        const auto shown = shown_in(quantity, limit, run.result);
        passed += shown == true ? 1 : 0;
        missed += shown == false ? 1 : 0;
    }
    row.baseline = typical_value(values.baseline);
    row.candidate = typical_value(values.candidate);
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
        // Runs of another length are not compared with the stored ones.
        const std::string_view stored =
            input.design == GateDesign::stored ? ": store a baseline of such runs (--create-baseline)" : "";
        if (const auto times = times_enough(quantity, limit, input.candidate))
            row.reason += fmt::format(
                "; at most about {} requests in each run (--num-prompts) would decide it{}",
                grouped(
                    rounded_up(*times * static_cast<double>(input.candidate.front().result.counts.requests))),
                stored);
        else
            row.reason +=
                fmt::format("; longer runs (--num-prompts or --duration) would decide it{}", stored);
    }
    return row;
}

}  // namespace paretoken::reports
