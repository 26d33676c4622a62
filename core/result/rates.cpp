#include "core/result/rates.h"

#include <algorithm>
#include <cmath>

#include "core/record/client_delays.h"
#include "core/result/metrics.h"
#include "core/result/window.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

constexpr std::string_view kSeriesSource = "requests";

/// Returns the number of the stretch in which `at` lies; nothing outside.
std::optional<std::size_t> stretch_of(TimePoint at, TimeSpan run, const Stretches& stretches) {
    if (!run.contains(at)) return std::nullopt;
    const auto stretch = static_cast<std::size_t>(seconds(at - run.begin) / stretches.length_s);
    return stretch < stretches.count ? std::optional(stretch) : std::nullopt;
}

std::vector<double> failures_in(const RequestTable& records, TimeSpan run, const Stretches& stretches) {
    std::vector<double> failures(stretches.count);
    for (const auto& record : records) {
        const auto at = stretch_of(end_of(record), run, stretches);
        if (at && !record.warmup && is_failure(record.outcome)) failures[*at] += 1;
    }
    return failures;
}

std::vector<std::optional<double>> ttft_medians_in(const RequestTable& records, TimeSpan run,
                                                   const Stretches& stretches) {
    std::vector<std::vector<double>> values(stretches.count);
    for (const auto& record : records) {
        const auto ttft = metric_named("ttft")->of_request(record);
        if (record.warmup || record.outcome != Outcome::ok || !ttft) continue;
        if (const auto at = stretch_of(*record.first_event, run, stretches)) values[*at].push_back(*ttft);
    }
    std::vector<std::optional<double>> medians(stretches.count);
    for (std::size_t i = 0; i < stretches.count; ++i) {
        if (values[i].empty()) continue;
        std::ranges::sort(values[i]);
        medians[i] = percentile(values[i], 0.5);
    }
    return medians;
}

/// Returns a series of one value per stretch; stretches without a value are left out.
template <typename ValueAt>
Series series_in(const Stretches& stretches, std::string name, std::string unit, ValueAt value_at) {
    Series series{std::move(name), std::move(unit), std::string(kSeriesSource), {}, {}};
    for (std::size_t i = 0; i < stretches.count; ++i) {
        const std::optional<double> value = value_at(i);
        if (!value) continue;
        series.times_s.push_back(static_cast<double>(i) * stretches.length_s);
        series.values.push_back(*value);
    }
    return series;
}

/// Returns the limits on a request: its own, else those of its class, else the run's.
const std::vector<Slo>& slos_of(const RequestRecord& record, const SummaryOptions& options,
                                RequestSlos& request_slos) {
    if (!record.slo.empty()) return request_slos.of(record.slo);
    const auto of_class = options.class_slos.find(record.request_class);
    return of_class != options.class_slos.end() ? of_class->second : options.slos;
}

}  // namespace

Judgement judgement_of(const RequestRecord& record, const SummaryOptions& options,
                       RequestSlos& request_slos) {
    const std::vector<Slo>& slos = slos_of(record, options, request_slos);
    if (slos.empty() || !is_counted(record) || record.outcome == Outcome::abandoned)
        return Judgement::not_judged;
    if (!options.unknown.empty() && needs_of(slos, options.open_loop).overlaps(options.unknown))
        return Judgement::not_judged;
    return is_good(record, slos, options.open_loop) ? Judgement::good : Judgement::bad;
}

bool may_be_good(const RequestRecord& record, const SummaryOptions& options, RequestSlos& request_slos) {
    EarliestTimes earliest;
    earliest.set(record);
    if (!earliest.differ) return false;
    return std::ranges::all_of(slos_of(record, options, request_slos), [&](const Slo& slo) {
        return is_good(earliest.all, {slo}, options.open_loop) ||
               is_good(earliest.last_only, {slo}, options.open_loop);
    });
}

std::size_t interval_blocks(TimeSpan span, double median_e2e_s) {
    constexpr double kMostBlocks = 200;
    constexpr double kFewestBlocks = 10;
    const double blocks = std::min(kMostBlocks, std::floor(seconds(span.length()) / (3 * median_e2e_s)));
    return blocks >= kFewestBlocks ? static_cast<std::size_t>(blocks) : 0;
}

double Stretches::part_s(std::size_t i, double run_s) const {
    return std::min(length_s, run_s - static_cast<double>(i) * length_s);
}

std::optional<Stretches> stretches_of(TimeSpan run) {
    constexpr double kShortest = 0.1;  // a shorter last one gives no meaningful rate
    constexpr double kMost = 100'000;  // so that hours without requests cost no memory
    const double run_s = seconds(run.length());
    if (run_s <= 0) return std::nullopt;
    const double length_s = std::max(1.0, std::ceil(run_s / kMost));
    const double whole = std::floor(run_s / length_s);
    const bool has_rest = run_s - whole * length_s >= kShortest || whole == 0;
    const auto count = static_cast<std::size_t>(whole) + (has_rest ? 1 : 0);
    return Stretches{
        {run.begin, run.begin + from_seconds(static_cast<double>(count) * length_s)}, count, length_s};
}

std::vector<Series> series_of(const RequestTable& requests, TimeSpan run, std::span<const Totals> totals) {
    const auto stretches = stretches_of(run);
    if (!stretches || totals.empty()) return {};
    const double run_s = seconds(run.length());
    const auto failures = failures_in(requests, run, *stretches);
    const auto ttft = ttft_medians_in(requests, run, *stretches);
    const auto series = [&](std::string name, std::string unit, auto value_at) {
        return series_in(*stretches, std::move(name), std::move(unit), value_at);
    };
    const auto rate = [&](double Totals::*amount) {
        return [&, amount](std::size_t i) -> std::optional<double> {
            return totals[i].*amount / stretches->part_s(i, run_s);
        };
    };
    return {
        series("requests_per_s", "req/s", rate(&Totals::requests)),
        series("output_tokens_per_s", "tok/s", rate(&Totals::output_tokens)),
        series("in_flight", "requests", rate(&Totals::time_in_system_s)),
        series("ttft_p50_s", "s", [&](std::size_t i) { return ttft[i]; }),
        series("failed", "requests", [&](std::size_t i) -> std::optional<double> { return failures[i]; })};
}

}  // namespace paretoken
