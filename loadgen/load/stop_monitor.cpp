#include "loadgen/load/stop_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/record/event_source.h"
#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/result/summary.h"
#include "core/statistics.h"
#include "core/text/number_text.h"

namespace paretoken::loadgen {
namespace {

constexpr std::uint64_t kFewestForErrors = 20;
constexpr std::uint64_t kFirstLook = 50;  // ended requests; each further look comes after a quarter more

std::uint64_t look_after(std::uint64_t ended) {
    return std::max(kFirstLook, ended + ended / 4);
}

/// Returns the squared coefficient of variation of the gaps between ascending times, at least that of
/// independent times.
double variation_of(const std::vector<double>& times) {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
    const Moments moments = moments_of(gaps);
    if (gaps.empty() || moments.mean <= 0) return 1;
    const double variation = moments.standard_deviation / moments.mean;
    return std::max(1.0, variation * variation);
}

/// The mean waits of the first and the last quarter of the requests, in the order in which they were due.
struct Waits {
    double early_s = 0;
    double late_s = 0;
};
Waits waits_of(std::vector<CourseOfLoad::End> ends) {
    std::ranges::sort(ends, [](const auto& a, const auto& b) { return a.due_s < b.due_s; });
    const std::size_t quarter = ends.size() / 4;
    std::vector<double> early;
    std::vector<double> late;
    for (std::size_t i = 0; i < quarter; ++i) {
        early.push_back(ends[i].waited_s);
        late.push_back(ends[ends.size() - quarter + i].waited_s);
    }
    return {moments_of(early).mean, moments_of(late).mean};
}

}  // namespace

/// Returns a text if the load diverges. Two conditions must hold. First, in the second half of the time (in
/// the first half an empty server fills) more requests arrive than end, by more than the sums of as many gaps
/// differ by chance. For comparison, a queue served as fast as it fills is a random walk, and one in
/// equilibrium varies less. Second, requests wait longer by as much as the requests left over explain,
/// because the number in flight also grows while an empty server fills with long answers.
std::optional<std::string> divergence_of(const CourseOfLoad& course) {
    constexpr double kFewestSeconds = 10;
    constexpr std::size_t kFewestRequests = 100;
    constexpr double kDeviations = 4;
    constexpr double kFewestLeft = 0.1;  // share of the arrivals
    if (course.now_s < kFewestSeconds || course.ends.size() < kFewestRequests) return std::nullopt;

    std::vector<double> due = course.due_s;
    std::vector<double> ended;
    for (const auto& end : course.ends) ended.push_back(end.at_s);
    std::ranges::sort(due);
    std::ranges::sort(ended);
    const double half = course.now_s / 2;
    const auto in_second_half = [half](const std::vector<double>& times) {
        return static_cast<double>(times.end() - std::ranges::upper_bound(times, half));
    };
    const double arrived = in_second_half(due);
    const double served = in_second_half(ended);
    const double left = arrived - served;
    const double by_chance = std::sqrt(arrived * variation_of(due) + served * variation_of(ended));
    if (!(left > kDeviations * by_chance) || !(left > kFewestLeft * arrived)) return std::nullopt;

    const Waits waits = waits_of(course.ends);
    const double offered = arrived / half;
    if (!(waits.late_s > 2 * waits.early_s) || !(waits.late_s - waits.early_s > left / offered / 4))
        return std::nullopt;
    return fmt::format(
        "the server does not keep up: over {} s {:.3g} requests/s were offered and {:.3g} served, "
        "and {:.0f} are due and not over",
        number_text(half), offered, served / half,
        static_cast<double>(due.size()) - static_cast<double>(ended.size()));
}

StopMonitor::StopMonitor(StopMonitorOptions options) : options_(std::move(options)) {
    const StopRule* divergence = rule_of(StopKind::diverging);
    watches_divergence_ =
        options_.open_loop && (divergence != nullptr ? !divergence->off : options_.stationary);
    keeps_records_ = rule_of(StopKind::precision) != nullptr || rule_of(StopKind::slo) != nullptr;
    next_look_ = look_after(0);
}

const StopRule* StopMonitor::rule_of(StopKind kind) const {
    for (const StopRule& rule : options_.rules) {
        if (rule.kind == kind) return &rule;
    }
    return nullptr;
}

void StopMonitor::started(const RequestRecord& record) {
    if (record.warmup || !watches_divergence_) return;
    const std::lock_guard lock(mutex_);
    news_.due.push_back(record.scheduled);
    if (!record.turn || record.turn->number == 0)
        news_.last_arrival = std::max(news_.last_arrival, record.scheduled);
}

void StopMonitor::ended(const RequestRecord& record) {
    if (record.warmup || record.outcome == Outcome::cancelled) return;
    const std::lock_guard lock(mutex_);
    const Told own{.ended_requests = 1,
                   .failed_requests = is_failure(record.outcome) ? std::uint64_t{1} : 0,
                   .output_tokens = static_cast<std::uint64_t>(output_tokens_of(record))};
    if (watches_divergence_) {
        const TimePoint first = record.first_event.value_or(record.closed);
        news_.ended.push_back({record.scheduled, record.closed, seconds(first - record.scheduled)});
    }
    if (keeps_records_) news_.records.add(record);
    count(own, record.closed);
}

void StopMonitor::count(const Told& told, TimePoint at) {
    for (Told* const sum : {&counted_, &news_}) {
        sum->ended_requests += told.ended_requests;
        sum->failed_requests += told.failed_requests;
        sum->output_tokens += told.output_tokens;
    }
    if (!options_.forwards) check_counts(at);
}

void StopMonitor::end(Stopped stopped) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = std::move(stopped);
    met_ = true;
}

StopMonitor::Told StopMonitor::take_told() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
}

/// Adds everything but the counts.
void StopMonitor::append(const Told& news, Told& to) {
    to.due.insert(to.due.end(), news.due.begin(), news.due.end());
    to.last_arrival = std::max(to.last_arrival, news.last_arrival);
    to.ended.insert(to.ended.end(), news.ended.begin(), news.ended.end());
    to.records.append(news.records);
}

void StopMonitor::add(const Told& told) {
    const std::lock_guard lock(mutex_);
    append(told, news_);
    if (told.ended_requests > 0) count(told, Clock::now());
}

std::optional<Stopped> StopMonitor::stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
}

void StopMonitor::meet(StopKind kind, TimePoint at, std::string text) {
    if (stopped_) return;
    stopped_ = {std::string(name_of(kind)), at, std::move(text)};
    met_ = true;
}

void StopMonitor::check_counts(TimePoint at) {
    for (const StopRule& rule : options_.rules) {
        if (rule.kind == StopKind::tokens && static_cast<double>(counted_.output_tokens) >= rule.limit)
            meet(rule.kind, at, fmt::format("{} output tokens came", counted_.output_tokens));
        const std::uint64_t ended = counted_.ended_requests;
        const double failed = static_cast<double>(counted_.failed_requests) / static_cast<double>(ended);
        if (rule.kind == StopKind::errors && ended >= kFewestForErrors && failed > rule.limit)
            meet(rule.kind, at,
                 fmt::format("{} of {} requests failed, more than {}", counted_.failed_requests, ended,
                             percent_text(rule.limit)));
    }
}

void StopMonitor::look(TimePoint now) {
    if (!needs_looks()) return;
    Told news;
    {
        const std::lock_guard lock(mutex_);
        if (stopped_ || counted_.ended_requests < next_look_) return;
        next_look_ = look_after(counted_.ended_requests);
        news = std::exchange(news_, {});
    }
    append(news, known_);
    if (watches_divergence_) check_divergence(now);
    if (keeps_records_) check_statistics(now);
}

/// Requests that wait in the client for a slot are not known until they start, but all that were due before
/// the last started one are known. Therefore the course ends when that one was due.
void StopMonitor::check_divergence(TimePoint now) {
    CourseOfLoad course;
    if (known_.due.empty()) return;
    const TimePoint zero = *std::ranges::min_element(known_.due);
    const TimePoint until = std::min(now, known_.last_arrival);
    course.now_s = seconds(until - zero);
    for (const TimePoint due : known_.due)
        if (due <= until) course.due_s.push_back(seconds(due - zero));
    for (const Ended& end : known_.ended)
        if (end.at <= until)
            course.ends.push_back({seconds(end.scheduled - zero), seconds(end.at - zero), end.waited_s});
    auto text = divergence_of(course);
    if (!text) return;
    const std::lock_guard lock(mutex_);
    meet(StopKind::diverging, now, std::move(*text));
}

void StopMonitor::check_statistics(TimePoint now) {
    const RunSummary summary = summarize(known_.records, NoEvents(),
                                         {.open_loop = options_.open_loop,
                                          .stationary = options_.stationary,
                                          .constant_rate = options_.constant_rate,
                                          .concurrency = options_.concurrency});
    const auto requests = known_.records.size();
    const std::lock_guard lock(mutex_);
    for (const StopRule& rule : options_.rules) {
        if (rule.metric.empty()) continue;
        const Metric& metric = *headline_metric(rule.metric, options_.open_loop);
        const MetricSummary* held = summary.metric(key_of(metric));
        const PercentileValue* percentile = held != nullptr ? held->at(rule.percentile) : nullptr;
        if (percentile == nullptr) continue;
        if (rule.kind == StopKind::slo &&
            shown_on(*percentile, rule.limit, metric.better == Better::higher) == false)
            meet(rule.kind, now,
                 fmt::format("{}: the limit is certainly missed after {} requests", rule.text, requests));
        if (rule.kind != StopKind::precision || !percentile->value || !percentile->ci95) continue;
        const double half = (percentile->ci95->high - percentile->ci95->low) / 2;
        if (half <= rule.limit * *percentile->value)
            meet(rule.kind, now,
                 fmt::format("{} p{:g} is {:.4g} ± {:.2g} {} after {} requests", metric.tag,
                             100 * rule.percentile, *percentile->value, half, metric.unit, requests));
    }
}

}  // namespace paretoken::loadgen
