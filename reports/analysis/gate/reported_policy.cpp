#include "reports/analysis/gate/reported_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace paretoken::reports {
namespace {

using RunResults = std::vector<const RunResult*>;

bool all_report(const RunResults& runs, const std::string& key) {
    return std::ranges::all_of(runs,
                               [&](const RunResult* run) { return run->reported->at(key).has_value(); });
}

/// The key of the statistic that stands for a quantity; empty if the summaries have none.
std::string reported_key_of(const GateQuantity& quantity, const RunResults& runs) {
    if (!quantity.request_class.empty()) return {};
    if (quantity.kind == GateKind::output_length)
        return all_report(runs, "osl_mean_tokens") ? "osl_mean_tokens" : "";
    if (quantity.kind == GateKind::figure) return all_report(runs, quantity.key) ? quantity.key : "";
    if (quantity.kind != GateKind::percentile) return {};
    constexpr std::array<std::pair<double, std::string_view>, 6> kLevels = {
        {{.5, "p50"}, {.75, "p75"}, {.9, "p90"}, {.95, "p95"}, {.99, "p99"}, {.999, "p999"}}};
    for (const auto& [p, label] : kLevels) {
        if (p < quantity.p) continue;
        if (p > quantity.p && quantity.p <= .5) break;  // a median has no substitute
        const std::string key = fmt::format("{}_{}_s", quantity.key, label);
        if (all_report(runs, key)) return key;
    }
    return {};
}

}  // namespace

GatePolicy policy_of_summaries(const GatePolicy& policy, const std::vector<GateRun>& baseline,
                               const std::vector<GateRun>& candidate, std::vector<std::string>& notes) {
    RunResults runs;
    for (const auto* const side : {&baseline, &candidate})
        for (const GateRun& run : *side) runs.push_back(&run.result);
    if (runs.empty() ||
        !std::ranges::all_of(runs, [](const RunResult* run) { return run->reported.has_value(); }))
        return policy;
    GatePolicy judged = policy;
    judged.metrics.clear();
    std::vector<std::string> without;
    for (const GateMetric& metric : policy.metrics) {
        const GateQuantity quantity = quantity_named(metric.name);
        const bool counts = std::ranges::all_of(
            runs, [](const RunResult* run) { return run->reported->requests && run->reported->failed; });
        if (quantity.kind == GateKind::failures && counts) {
            judged.metrics.push_back(metric);
        } else if (const std::string key = reported_key_of(quantity, runs); !key.empty()) {
            judged.metrics.push_back(metric);
            judged.metrics.back().name = "reported/" + key;
        } else if (!metric.optional) {
            without.push_back(metric.name);
        }
    }
    notes.push_back(fmt::format(
        "The files hold only figures as {} defines them, which are what is judged. How they were measured "
        "cannot be checked, nor the seed, the temperature, ignore_eos, warm-up and the delays of the client.",
        runs.front()->reported->by));
    if (!without.empty())
        notes.push_back(fmt::format("Not every file has a figure for these, which are left out: {}.",
                                    fmt::join(without, ", ")));
    return judged;
}

}  // namespace paretoken::reports
