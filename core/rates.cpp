#include "core/rates.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/metrics.h"
#include "core/statistics.h"
#include "core/window.h"

namespace paretoken {
namespace {

/// Work that counts: completed requests, and what had been streamed when the end of the run cut one off.
bool earns(const RequestRecord& record) {
    return !is_failure(record.outcome);
}

/// Output tokens per token of an event.
double scale_of(const RequestRecord& record) {
    if (record.streamed_tokens <= 0) return 0;
    return static_cast<double>(output_tokens_of(record)) / static_cast<double>(record.streamed_tokens);
}

std::optional<double> prompt_tokens_of(const RequestRecord& record) {
    const auto tokens = record.usage.prompt ? record.usage.prompt : record.wanted_input_tokens;
    if (!tokens) return std::nullopt;
    return static_cast<double>(*tokens);
}

double total_of(std::span<const RequestRecord> records, TimeSpan span,
                void (*credit)(const RequestRecord& record, Flow& flow)) {
    Flow flow(span, 1);
    for (const auto& record : records) {
        if (earns(record)) credit(record, flow);
    }
    return flow.total();
}

void credit_input_tokens(const RequestRecord& record, Flow& flow) {
    const auto tokens = prompt_tokens_of(record);
    if (record.first_event && tokens) flow.add(*record.first_event, *tokens);
}

void credit_request(const RequestRecord& record, Flow& flow) {
    if (record.outcome == Outcome::ok) flow.add(record.last_event.value_or(end_of(record)), 1);
}

void credit_time_in_system(const RequestRecord& record, Flow& flow) {
    flow.add_evenly(record.started, end_of(record), seconds(end_of(record) - record.started));
}

double mean_in_flight(std::span<const RequestRecord> records, TimeSpan span) {
    Flow flow(span, 1);
    for (const auto& record : records) credit_time_in_system(record, flow);
    return flow.total() / seconds(span.length());
}

struct Goodput {
    double ended = 0;             ///< good requests whose end lies in the span
    std::optional<double> share;  ///< of the requests scheduled in it
};

Goodput goodput_of(std::span<const RequestRecord> records, TimeSpan span, const SummaryOptions& options) {
    Flow ended(span, 1);
    std::uint64_t scheduled = 0;
    std::uint64_t good = 0;
    for (const auto& record : records) {
        if (!is_counted(record)) continue;
        const bool met = is_good(record, options.slos, options.open_loop);
        if (met) credit_request(record, ended);
        if (!span.contains(record.scheduled)) continue;
        ++scheduled;
        good += met ? 1 : 0;
    }
    if (scheduled == 0) return {ended.total(), std::nullopt};
    return {ended.total(), static_cast<double>(good) / static_cast<double>(scheduled)};
}

bool knows_input(std::span<const RequestRecord> records) {
    return std::any_of(records.begin(), records.end(), [](const auto& record) {
        return earns(record) && prompt_tokens_of(record).has_value();
    });
}

// ---- series

std::vector<SeriesPoint> points_of(const Flow& requests, const Flow& tokens, const Flow& presence,
                                   double run_s) {
    std::vector<SeriesPoint> points(tokens.bins().size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double covered = std::min(1.0, run_s - static_cast<double>(i));
        points[i].at_s = static_cast<double>(i);
        points[i].requests_per_s = requests.bins()[i] / covered;
        points[i].output_tokens_per_s = tokens.bins()[i] / covered;
        points[i].in_flight = presence.bins()[i] / covered;
    }
    return points;
}

/// The second of the run that `at` lies in; nothing outside.
std::optional<std::size_t> second_of(TimePoint at, TimeSpan run, std::size_t count) {
    if (!run.contains(at)) return std::nullopt;
    const auto second = static_cast<std::size_t>(seconds(at - run.begin));
    if (second >= count) return std::nullopt;
    return second;
}

void count_failures(std::span<const RequestRecord> records, TimeSpan run, std::vector<SeriesPoint>& points) {
    for (const auto& record : records) {
        const auto second = second_of(end_of(record), run, points.size());
        if (second && !record.warmup && is_failure(record.outcome)) ++points[*second].failed;
    }
}

void add_ttft_medians(std::span<const RequestRecord> records, TimeSpan run,
                      std::vector<SeriesPoint>& points) {
    std::vector<std::vector<double>> by_second(points.size());
    for (const auto& record : records) {
        const auto ttft = metric_named("ttft")->of_request(record);
        if (record.warmup || record.outcome != Outcome::ok || !ttft) continue;
        if (const auto second = second_of(*record.first_event, run, points.size()))
            by_second[*second].push_back(*ttft);
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (by_second[i].empty()) continue;
        std::sort(by_second[i].begin(), by_second[i].end());
        points[i].ttft_p50_s = percentile(by_second[i], 0.5);
    }
}

}  // namespace

Flow::Flow(TimeSpan span, std::size_t bins)
    : span_(span), bin_s_(seconds(span.length()) / static_cast<double>(bins)), bins_(bins, 0.0) {}

double Flow::bin_at(TimePoint at) const {
    return seconds(at - span_.begin) / bin_s_;
}

void Flow::add(TimePoint at, double amount) {
    if (!span_.contains(at)) return;
    bins_[std::min(static_cast<std::size_t>(bin_at(at)), bins_.size() - 1)] += amount;
}

void Flow::add_evenly(TimePoint from, TimePoint to, double amount) {
    if (to <= from) return add(to, amount);
    const auto count = static_cast<double>(bins_.size());
    const double begin = std::clamp(bin_at(from), 0.0, count);
    const double end = std::clamp(bin_at(to), 0.0, count);
    const double per_bin = amount * bin_s_ / seconds(to - from);
    for (auto bin = static_cast<std::size_t>(begin); bin < bins_.size() && static_cast<double>(bin) < end;
         ++bin) {
        const auto edge = static_cast<double>(bin);
        bins_[bin] += per_bin * (std::min(end, edge + 1) - std::max(begin, edge));
    }
}

double Flow::total() const {
    return std::accumulate(bins_.begin(), bins_.end(), 0.0);
}

void credit_output_tokens(const RequestRecord& record, Flow& flow) {
    if (!record.first_event || !record.last_event) return;
    const double scale = scale_of(record);
    for (const auto& event : record.events) flow.add(event.time, scale * event.tokens);
    if (!record.events.empty()) return;
    const auto rest = static_cast<double>(record.streamed_tokens - record.first_group_tokens);
    flow.add(*record.first_event, scale * static_cast<double>(record.first_group_tokens));
    flow.add_evenly(*record.first_event, *record.last_event, scale * rest);
}

Throughput throughput_of(std::span<const RequestRecord> records, TimeSpan span,
                         const SummaryOptions& options) {
    Throughput rates;
    const double length = seconds(span.length());
    if (length <= 0) return rates;
    rates.requests_per_s = total_of(records, span, credit_request) / length;
    rates.output_tokens_per_s = total_of(records, span, credit_output_tokens) / length;
    if (knows_input(records)) {
        rates.input_tokens_per_s = total_of(records, span, credit_input_tokens) / length;
        rates.total_tokens_per_s = *rates.input_tokens_per_s + *rates.output_tokens_per_s;
    }
    rates.mean_in_flight = mean_in_flight(records, span);
    if (!options.slos.empty()) {
        const auto goodput = goodput_of(records, span, options);
        rates.goodput_per_s = goodput.ended / length;
        rates.goodput_ratio = goodput.share;
    }
    return rates;
}

std::optional<Interval> output_rate_interval(std::span<const RequestRecord> records, TimeSpan span,
                                             double median_e2e_s) {
    constexpr double kMostBlocks = 200;
    constexpr double kFewestBlocks = 10;
    const double blocks = std::min(kMostBlocks, std::floor(seconds(span.length()) / (3 * median_e2e_s)));
    if (!(blocks >= kFewestBlocks)) return std::nullopt;
    Flow flow(span, static_cast<std::size_t>(blocks));
    for (const auto& record : records) {
        if (earns(record)) credit_output_tokens(record, flow);
    }
    const auto tokens = block_mean(flow.bins());
    const double block_s = seconds(span.length()) / blocks;
    return Interval{tokens->ci95.low / block_s, tokens->ci95.high / block_s};
}

std::vector<SeriesPoint> series_of(std::span<const RequestRecord> records, TimeSpan run) {
    using std::chrono::seconds;
    constexpr double kShortest = 0.1;  // a rate over less of the last second says nothing
    const double run_s = paretoken::seconds(run.length());
    if (run_s <= 0) return {};
    const double whole = std::floor(run_s);
    const auto count = static_cast<std::size_t>(whole) + (run_s - whole >= kShortest || whole == 0 ? 1 : 0);
    const TimeSpan grid{run.begin, run.begin + seconds(count)};
    Flow requests(grid, count);
    Flow tokens(grid, count);
    Flow presence(grid, count);
    for (const auto& record : records) {
        credit_time_in_system(record, presence);
        if (!earns(record)) continue;
        credit_request(record, requests);
        credit_output_tokens(record, tokens);
    }
    auto points = points_of(requests, tokens, presence, run_s);
    count_failures(records, run, points);
    add_ttft_medians(records, run, points);
    return points;
}

}  // namespace paretoken
