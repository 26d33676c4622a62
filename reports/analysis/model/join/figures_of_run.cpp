#include "reports/analysis/model/join/figures_of_run.h"

#include <algorithm>
#include <cmath>

namespace paretoken::reports {

const PercentileValue* percentile_of(const RunResult& result, std::string_view key, double p) {
    const MetricSummary* metric = result.metric(key);
    return metric ? metric->at(p) : nullptr;
}

std::optional<double> positive(const std::optional<double>& value) {
    return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

Lengths lengths_of(const RunResult& result) {
    const Workload& workload = result.workload;
    return {positive(workload.achieved_input_tokens).value_or(workload.wanted_input_tokens.value_or(0)),
            positive(workload.achieved_output_tokens).value_or(workload.wanted_output_tokens.value_or(0))};
}

std::optional<double> cached_share(const RunResult& result) {
    const auto share = result.throughput.at(figure::kCachedPromptRatio);
    return share ? std::optional(std::clamp(*share, 0.0, 1.0)) : std::nullopt;
}

Totals work_of(const RunResult& result) {
    if (result.totals.output_tokens > 0) return result.totals;
    const Lengths lengths = lengths_of(result);
    const double cached = lengths.input * cached_share(result).value_or(0);
    return work_of_request(lengths.input - cached, cached, lengths.output);
}

std::optional<double> batch_of(const RunResult& result) {
    if (const auto in_flight = positive(result.throughput.at(figure::kMeanInFlight))) return in_flight;
    if (result.concurrency) return static_cast<double>(*result.concurrency);
    return {};
}

namespace {

/// Returns whether jobs spend a part of their time in tools.
bool pauses_in(const JobResults& jobs) {
    constexpr double kHardlyAny = 0.02;
    const auto mean_of = [&](const char* key) {
        const MetricSummary* const metric = jobs.metric(key);
        return metric == nullptr ? std::nullopt : metric->mean;
    };
    const auto whole = mean_of("job_time_s");
    const auto busy = mean_of("job_busy_s");
    return whole && busy && *busy < (1 - kHardlyAny) * *whole;
}

}  // namespace

double pausing_of(const RunResult& result) {
    constexpr double kHardlyAny = 0.05;
    const auto in_flight = positive(result.throughput.at(figure::kMeanInFlight));
    // Without a steady window, slots of requests that do not pause are empty at the end of the run.
    const bool may_pause = result.window.steady || result.plan.contains("think_time") ||
                           (result.jobs && pauses_in(*result.jobs));
    const bool held_back =
        result.plan.contains("max_in_flight") || result.plan.contains("prefill_concurrency");
    if (result.open_loop() || !result.concurrency || !in_flight || !may_pause || held_back) return 0;
    const auto slots = static_cast<double>(*result.concurrency);
    return slots - *in_flight > kHardlyAny * slots ? slots - *in_flight : 0;
}

}  // namespace paretoken::reports
