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

/// Returns the second of the run in which `at` lies; nothing outside.
std::optional<std::size_t> second_of(TimePoint at, TimeSpan run, std::size_t count) {
    if (!run.contains(at)) return std::nullopt;
    const auto second = static_cast<std::size_t>(seconds(at - run.begin));
    if (second >= count) return std::nullopt;
    return second;
}

std::vector<double> failures_by_second(const RequestTable& records, TimeSpan run, std::size_t count) {
    std::vector<double> failures(count);
    for (const auto& record : records) {
        const auto second = second_of(end_of(record), run, count);
        if (second && !record.warmup && is_failure(record.outcome)) failures[*second] += 1;
    }
    return failures;
}

std::vector<std::optional<double>> ttft_medians_by_second(const RequestTable& records, TimeSpan run,
                                                          std::size_t count) {
    std::vector<std::vector<double>> by_second(count);
    for (const auto& record : records) {
        const auto ttft = metric_named("ttft")->of_request(record);
        if (record.warmup || record.outcome != Outcome::ok || !ttft) continue;
        if (const auto second = second_of(*record.first_event, run, count))
            by_second[*second].push_back(*ttft);
    }
    std::vector<std::optional<double>> medians(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (by_second[i].empty()) continue;
        std::ranges::sort(by_second[i]);
        medians[i] = percentile(by_second[i], 0.5);
    }
    return medians;
}

/// Returns a series of one value per second; seconds without a value are left out.
template <typename ValueAt>
Series per_second(std::string name, std::string unit, std::size_t count, ValueAt value_at) {
    Series series{std::move(name), std::move(unit), std::string(kSeriesSource), {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        const std::optional<double> value = value_at(i);
        if (!value) continue;
        series.times_s.push_back(static_cast<double>(i));
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

std::optional<SecondsOfRun> seconds_of(TimeSpan run) {
    constexpr double kShortest = 0.1;  // a shorter last second gives no meaningful rate
    const double run_s = seconds(run.length());
    if (run_s <= 0) return std::nullopt;
    const double whole = std::floor(run_s);
    const auto count = static_cast<std::size_t>(whole) + (run_s - whole >= kShortest || whole == 0 ? 1 : 0);
    return SecondsOfRun{{run.begin, run.begin + std::chrono::seconds(count)}, count};
}

std::vector<Series> series_of(const RequestTable& requests, TimeSpan run,
                              std::span<const Totals> per_second_totals) {
    const std::size_t count = per_second_totals.size();
    if (count == 0) return {};
    const double run_s = seconds(run.length());
    const auto failures = failures_by_second(requests, run, count);
    const auto ttft = ttft_medians_by_second(requests, run, count);
    const auto rate = [&](double Totals::*amount) {
        return [&, amount](std::size_t i) -> std::optional<double> {
            return per_second_totals[i].*amount / std::min(1.0, run_s - static_cast<double>(i));
        };
    };
    return {per_second("requests_per_s", "req/s", count, rate(&Totals::requests)),
            per_second("output_tokens_per_s", "tok/s", count, rate(&Totals::output_tokens)),
            per_second("in_flight", "requests", count, rate(&Totals::time_in_system_s)),
            per_second("ttft_p50_s", "s", count, [&](std::size_t i) { return ttft[i]; }),
            per_second("failed", "requests", count,
                       [&](std::size_t i) -> std::optional<double> { return failures[i]; })};
}

}  // namespace paretoken
