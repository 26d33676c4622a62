#include "core/result/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/radix_sort.h"
#include "core/result/metrics.h"
#include "core/stable_sort.h"
#include "core/statistics.h"
#include "core/text/number_text.h"

namespace paretoken {
namespace {

// ---- in-flight

/// A step of the number in flight: from `at` on it is `level`.
struct Step {
    TimePoint at;
    int level = 0;
};

/// Returns the steps of the number of requests in the system. `from` and `to`: the times from which and up to
/// which a request counts.
std::vector<Step> steps_from(const RequestTable& records, TimePoint RequestRecord::*from,
                             TimePoint (*to)(const RequestRecord&) = end_of) {
    std::vector<Step> changes(2 * records.size());
    std::size_t row = 0;
    for (const auto& record : records) {
        changes[row] = {to(record), -1};
        changes[records.size() + row++] = {record.*from, +1};
    }
    // Of changes at one time, ends come first.
    radix_sort(changes, [](const Step& step) { return radix_key(nanoseconds_since_boot(step.at)); });
    int level = 0;
    for (auto& step : changes) step.level = level += step.level;
    return changes;
}

double mean_level(const std::vector<Step>& steps, TimeSpan span) {
    double held = 0;  // level × seconds
    auto step = std::upper_bound(steps.begin(), steps.end(), span.begin,
                                 [](TimePoint at, const Step& of) { return at < of.at; });
    if (step != steps.begin()) --step;
    for (; step != steps.end() && step + 1 != steps.end() && step->at < span.end; ++step) {
        const auto from = std::max(step->at, span.begin);
        const auto to = std::min((step + 1)->at, span.end);
        if (from < to) held += step->level * seconds(to - from);
    }
    return span.length() > Duration{} ? held / seconds(span.length()) : 0;
}

/// Returns the first time, not before `from`, at which the level is at least `level`.
std::optional<TimePoint> first_at_level(const std::vector<Step>& steps, double level, TimePoint from) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool lasts = i + 1 == steps.size() || steps[i + 1].at > from;
        if (lasts && steps[i].level >= level) return std::max(steps[i].at, from);
    }
    return std::nullopt;
}

// ---- possible beginnings

/// A time from which on the run may be steady, and how it was found.
struct Beginning {
    TimePoint at;
    std::string how;
};

/// Returns when at least half of the first `cap` requests had ended (including warm-up, which passes on its
/// slots).
TimePoint first_wave_turned_over(const RequestTable& records, std::uint64_t cap) {
    std::vector<std::size_t> first(records.size());
    std::iota(first.begin(), first.end(), std::size_t{0});
    const auto wave = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(cap, first.size()));
    std::partial_sort(first.begin(), first.begin() + wave, first.end(),
                      [&](std::size_t a, std::size_t b) { return records.started(a) < records.started(b); });
    std::vector<TimePoint> ends;
    for (auto request = first.begin(); request != first.begin() + wave; ++request)
        ends.push_back(end_of(records[*request]));
    const auto half = ends.begin() + (wave - 1) / 2;
    std::nth_element(ends.begin(), half, ends.end());
    return *half;
}

/// Returns the beginnings of a closed loop. Full means 95 % of the cap, because a fast server may end the
/// first of many requests before the last one starts.
std::vector<Beginning> closed_loop_beginnings(const RequestTable& records, const std::vector<Step>& steps,
                                              std::uint64_t cap) {
    constexpr double kFull = 0.95;
    const auto full = first_at_level(steps, kFull * static_cast<double>(cap), TimePoint::min());
    if (!full) return {};
    return {{first_wave_turned_over(records, cap),
             fmt::format("from when half of the first {} requests had ended", cap)},
            {*full, fmt::format("from when {} requests were in flight", cap)}};
}

/// Returns the number in flight at equal steps of `span`, at most 1,000 steps.
std::vector<double> in_flight_course(const std::vector<Step>& steps, TimeSpan span, std::size_t arrivals) {
    constexpr std::size_t kMost = 1000;
    std::vector<double> course(std::clamp<std::size_t>(arrivals, 1, kMost), 0);
    auto step = steps.begin();
    int level = 0;
    for (std::size_t i = 0; i < course.size(); ++i) {
        const auto at = span.begin + span.length() * static_cast<std::int64_t>(2 * i + 1) /
                                         static_cast<std::int64_t>(2 * course.size());
        while (step != steps.end() && step->at <= at) level = (step++)->level;
        course[i] = level;
    }
    return course;
}

TimeSpan second_half_of(TimeSpan span) {
    return {span.begin + span.length() / 2, span.end};
}

/// Returns when in-flight first reached its plateau in `part`, after cutting a start that differs from the
/// rest.
std::vector<Beginning> open_loop_beginnings(const std::vector<Step>& steps, TimeSpan part,
                                            std::size_t arrivals) {
    const double plateau = mean_level(steps, second_half_of(part));
    constexpr double kRounding = 1e-9;  // the mean of a constant level may be a little above it
    const auto reached = first_at_level(steps, plateau * (1 - kRounding), part.begin);
    if (!reached) return {};
    const auto course = in_flight_course(steps, part, arrivals);
    const auto cut = part.begin + part.length() * static_cast<std::int64_t>(start_to_cut(course)) /
                                      static_cast<std::int64_t>(course.size());
    return {{std::max(*reached, cut),
             fmt::format("from when in-flight reached its plateau of {}", number_text(plateau))}};
}

constexpr double kSignificance = 0.01;
constexpr double kRelevantGrowth = 0.3;  // share of the mean

/// Returns the growth of a straight course ÷ its mean if it is significant and relevant; otherwise nothing.
std::optional<double> straight_growth(const std::vector<double>& course) {
    const auto trend = trend_of(course);
    const double mean = moments_of(course).mean;
    if (!(trend.p_value < kSignificance) || !(trend.change > kRelevantGrowth * mean)) return std::nullopt;
    return trend.change / mean;
}

/// Returns the same for a course of any form, from the ranks of its two halves.
std::optional<double> growth_by_ranks(std::span<const double> course) {
    const auto early = course.first(course.size() / 2);
    const auto late = course.subspan(early.size());
    const double mean = moments_of(course).mean;
    const double growth = 2 * (moments_of(late).mean - moments_of(early).mean);  // between the ends
    if (!(growth > kRelevantGrowth * mean) || !(rank_sum_p_value(early, late) < kSignificance))
        return std::nullopt;
    return growth / mean;
}

RequestRows scheduled_in(const RequestTable& records, TimeSpan span) {
    auto inside = RequestRows(records).filtered(
        [&](const RequestRecord& record) { return is_counted(record) && span.contains(record.scheduled); });
    inside.sort_by_schedule();
    return inside;
}

double median_of(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    return percentile(sorted, 0.5);
}

constexpr double kTimes = 3;  // by which the last requests must wait longer than the first ones
constexpr std::size_t kFewest = 8;

/// Returns the first of the times of requests in the order of their schedule, which tell how long a request
/// takes before a queue has grown.
std::span<const double> first_of(std::span<const double> times) {
    return times.first(std::max(kFewest / 2, times.size() / 20));
}

/// Returns whether a growth of the number of requests that were due and not over, ÷ its mean, is that of a
/// queue. It also grows until the first requests end, and by chance. So the arrivals must last several times
/// as long as the first requests, or the last ones take several times as long; and the time from the due time
/// to the end must grow with the number.
bool is_queue(const RequestRows& arrived, TimeSpan span, double growth) {
    constexpr double kLeastPart = 0.5;  // of the relative growth
    std::vector<double> times;
    arrived.for_each(
        [&](const RequestRecord& record) { times.push_back(seconds(end_of(record) - record.scheduled)); });
    if (times.size() < kFewest) return false;
    const std::span<const double> all(times);
    const double first = median_of(first_of(all));
    const double last = median_of(all.last(all.size() / 4));
    if (seconds(span.length()) < kTimes * first && last < kTimes * first) return false;
    const double early = moments_of(all.first(all.size() / 2)).mean;
    const double late = moments_of(all.subspan(all.size() / 2)).mean;
    return 2 * (late - early) > kLeastPart * growth * (late + early) / 2;
}

/// Returns the standard deviation of the number of arrivals in `span`, from those in equal parts of it. It is
/// at least `least` times that of independent arrivals.
double deviation_of_arrivals(const RequestRows& arrived, TimeSpan span, double least) {
    constexpr std::int64_t kParts = 20;
    std::vector<double> arrivals(kParts, 0.0);
    arrived.for_each([&](const RequestRecord& record) {
        const std::int64_t part =
            (record.scheduled - span.begin) * kParts / std::max(span.length(), Duration{1});
        arrivals[static_cast<std::size_t>(std::min(part, kParts - 1))] += 1;
    });
    const Moments of_part = moments_of(arrivals);
    const double dispersion = std::pow(of_part.standard_deviation, 2) / std::max(of_part.mean, 1.0);
    return std::sqrt(std::max(dispersion, least * least) * static_cast<double>(arrived.size()));
}

TimePoint first_output_of(const RequestRecord& record) {
    return record.first_event.value_or(end_of(record));
}

/// Returns whether the last quarter of the requests waits several times as long for the first token as the
/// first ones.
bool waits_grow(const RequestRows& arrived) {
    std::vector<double> waits;
    arrived.for_each([&](const RequestRecord& record) {
        waits.push_back(seconds(first_output_of(record) - record.scheduled));
    });
    const std::span<const double> all(waits);
    return all.size() >= kFewest && median_of(all.last(all.size() / 4)) >= kTimes * median_of(first_of(all));
}

/// Returns by how many the requests that wait for their first token grew over `span`, ÷ its arrivals, if that
/// is a queue. It shows in a short run too, in which the first answers have hardly ended: it still grows in
/// each of the last two quarters, by more than chance lets arrivals vary, and the last requests wait several
/// times as long as the first ones.
std::optional<double> growth_of_waiting(const RequestTable& records, TimeSpan span) {
    constexpr double kLeastPart = 0.05;  // of the arrivals
    constexpr double kDeviations = 3;    // of the number of arrivals
    constexpr std::int64_t kParts = 20;
    const auto steps = steps_from(records, &RequestRecord::scheduled, first_output_of);
    const auto level_before = [&](std::int64_t part) {
        return mean_level(steps, {span.begin + span.length() * (part - 1) / kParts,
                                  span.begin + span.length() * part / kParts});
    };
    const double at_half = level_before(kParts / 2);
    const double at_three_quarters = level_before(kParts * 3 / 4);
    const double at_end = level_before(kParts);
    const double growth = at_end - level_before(1);
    if (std::min(at_three_quarters - at_half, at_end - at_three_quarters) < growth / 8) return std::nullopt;
    const RequestRows arrived = scheduled_in(records, span);
    const double least = std::max(kLeastPart * static_cast<double>(arrived.size()),
                                  kDeviations * deviation_of_arrivals(arrived, span, 1));
    if (growth < least) return std::nullopt;
    if (!waits_grow(arrived)) return std::nullopt;
    return growth / static_cast<double>(arrived.size());
}

/// Returns whether the requests that wait for their first token became more over `span` than chance lets
/// arrivals vary while they are counted, and the last ones wait several times as long as the first ones.
bool more_wait_at_the_end(const RequestTable& records, TimeSpan span) {
    constexpr double kDeviations = 1.5;  // of the number of arrivals
    constexpr std::int64_t kParts = 20;
    const auto steps = steps_from(records, &RequestRecord::scheduled, first_output_of);
    const TimeSpan first{span.begin, span.begin + span.length() / kParts};
    const TimeSpan last{span.end - span.length() / kParts, span.end};
    const auto arrived = static_cast<double>(scheduled_in(records, last).size());
    return mean_level(steps, last) - mean_level(steps, first) > kDeviations * std::sqrt(arrived) &&
           waits_grow(scheduled_in(records, span));
}

/// Returns the growth of the number in flight ÷ its mean where the arrivals have no constant rate. If their
/// rate rises, the number in flight grows although the server keeps up, and by more than the rate, because a
/// request takes longer at a higher load. Therefore it must grow in relation to the arrivals, and the
/// requests without a first token must grow in number.
std::optional<double> growth_beyond_arrivals(const RequestTable& records, TimeSpan span,
                                             const std::vector<TimeSpan>& parts,
                                             const std::vector<double>& in_flight) {
    std::vector<double> arrivals(parts.size());
    for (const RequestRecord& record : records) {
        const auto next =
            std::upper_bound(parts.begin(), parts.end(), record.scheduled,
                             [](TimePoint at, const TimeSpan& part) { return at < part.begin; });
        if (next == parts.begin() || !std::prev(next)->contains(record.scheduled)) continue;
        arrivals[static_cast<std::size_t>(next - parts.begin()) - 1] += 1;
    }
    std::vector<double> per_arrival;
    for (std::size_t i = 0; i < parts.size(); ++i)
        per_arrival.push_back(in_flight[i] / std::max(1.0, arrivals[i]));
    if (!growth_by_ranks(per_arrival) || !more_wait_at_the_end(records, span)) return std::nullopt;
    return growth_by_ranks(in_flight);
}

/// Returns a text if the number of requests that were due and not over grew over the second half of `span`: a
/// queue that the server does not keep up with is never steady. Requests that wait in the client for a slot
/// are part of that queue.
std::optional<std::string> queue_growth(const RequestTable& records, const SummaryOptions& options,
                                        TimeSpan span, bool stationary, const std::string& title) {
    constexpr std::int64_t kParts = 20;
    constexpr double kDeviations = 1.5;   // of the arrivals in the second half
    constexpr double kLeastSpread = 0.7;  // of even arrivals, because the times of requests vary, too
    const auto due = steps_from(records, &RequestRecord::scheduled);
    const TimeSpan half = second_half_of(span);
    std::vector<TimeSpan> parts;
    std::vector<double> levels;
    for (std::int64_t i = 0; i < kParts; ++i) {
        parts.push_back(
            {half.begin + half.length() * i / kParts, half.begin + half.length() * (i + 1) / kParts});
        levels.push_back(mean_level(due, parts.back()));
    }
    auto growth = stationary ? straight_growth(levels) : growth_beyond_arrivals(records, span, parts, levels);
    if (growth && stationary &&
        *growth * moments_of(levels).mean <
            kDeviations * deviation_of_arrivals(scheduled_in(records, half), half, kLeastSpread))
        growth.reset();  // so much the number varies at a load that the server keeps up with
    const std::string cap =
        options.concurrency ? fmt::format(", with at most {} in flight", *options.concurrency) : "";
    if (growth && is_queue(scheduled_in(records, span), span, *growth))
        return fmt::format(
            "the number of requests that were due and not over grew by {:.0f} % of its mean over the second "
            "half of {}: the server does not keep up with them{}",
            100 * *growth, title, cap);
    const auto waiting = stationary ? growth_of_waiting(records, span) : std::nullopt;
    if (!waiting) return std::nullopt;
    return fmt::format(
        "over {}, the number of requests that wait for their first token grew by {:.0f} % of those that "
        "arrived: the server does not keep up with them{}",
        title, 100 * *waiting, cap);
}

// ---- steadiness

/// Returns means over equal groups of the requests that have the metric, in the order of their schedule.
Course course_of(const RequestRows& requests, const Metric& metric, std::string_view title,
                 double least_change) {
    std::vector<double> values;
    std::vector<TimePoint> begins;
    requests.for_each([&](const RequestRecord& request) {
        const auto value = metric.of_request(request);
        if (request.outcome != Outcome::ok || !value) return;
        values.push_back(*value);
        begins.push_back(request.scheduled);
    });
    Course course{std::string(metric.tag), std::string(title), {}, {}, least_change};
    const std::size_t parts = std::min(values.size(), Course::kMostParts);
    for (std::size_t i = 0; i < parts; ++i) {
        const std::size_t begin = i * values.size() / parts;
        const std::size_t end = (i + 1) * values.size() / parts;
        course.means.push_back(moments_of(std::span(values).subspan(begin, end - begin)).mean);
        course.begins.push_back(begins[begin]);
    }
    return course;
}

constexpr std::string_view kWaiting = "the time to first token";

/// Returns the course of the time to first token. If the time of the sending or of the first token is
/// unknown, it counts from the intended start, or to the end of the answer.
Course waiting_course(const RequestRows& requests, bool closed_loop) {
    constexpr double kLeast = 1e-3;  // seconds
    Course course = course_of(requests, *headline_metric("ttft", !closed_loop), kWaiting, kLeast);
    if (course.means.empty()) course = course_of(requests, *metric_named("ttft_intended"), kWaiting, kLeast);
    if (course.means.empty())
        course = course_of(requests, *metric_named("e2e_intended"), "the end-to-end latency", kLeast);
    return course;
}

/// Returns the mean number in flight over equal intervals of the time.
Course in_flight_means(const std::vector<Step>& steps, TimeSpan span) {
    constexpr double kLeastChange = 0.5;
    constexpr auto kParts = static_cast<std::int64_t>(Course::kMostParts);
    Course course{"in_flight", "the number in flight", {}, {}, kLeastChange};
    for (std::int64_t i = 0; i < kParts; ++i) {
        const auto edge = [&](std::int64_t k) { return span.begin + span.length() * k / kParts; };
        course.means.push_back(mean_level(steps, {edge(i), edge(i + 1)}));
        course.begins.push_back(edge(i));
    }
    return course;
}

/// Returns the number of arrivals in equal intervals of the time.
Course arrivals_course(const RequestRows& requests, TimeSpan span) {
    constexpr std::size_t kFewestPerPart = 10;
    const std::size_t parts = std::min(requests.size() / kFewestPerPart, Course::kMostParts);
    Course course{"arrivals", "the rate of arrivals", std::vector<double>(parts, 0), {}, 0};
    const auto count = static_cast<std::int64_t>(parts);
    for (std::int64_t i = 0; i < count; ++i) course.begins.push_back(span.begin + span.length() * i / count);
    if (parts == 0) return course;
    requests.for_each([&](const RequestRecord& request) {
        const auto next = std::ranges::upper_bound(course.begins, request.scheduled);
        course.means[static_cast<std::size_t>(next - course.begins.begin()) - 1] += 1;
    });
    return course;
}

/// The results of the tests for one interval of a run.
struct Judged {
    std::vector<SteadyTest> tests;
    std::optional<Unsteady> change;  ///< change that is least likely to be chance
};

Judged judged(const RequestRows& requests, const std::vector<Step>& steps, TimeSpan span, bool closed_loop,
              bool stationary) {
    constexpr double kLeastTpot = 0.1e-3;  // seconds
    constexpr double kLeastHits = 0.05;    // share of the prompt
    std::vector<Course> courses;
    if (!closed_loop) courses.push_back(in_flight_means(steps, span));
    if (!stationary) courses.push_back(arrivals_course(requests, span));
    courses.push_back(waiting_course(requests, closed_loop));
    courses.push_back(course_of(requests, *metric_named("tpot"), "the time per output token", kLeastTpot));
    courses.push_back(
        course_of(requests, *metric_named("cache_hit"), "the share of cached prompt tokens", kLeastHits));
    Judged result;
    for (const Course& course : courses) {
        if (course.means.empty()) continue;
        auto of = steadiness_of(course);
        result.tests.insert(result.tests.end(), of.tests.begin(), of.tests.end());
        if (of.change && (!result.change || of.change->p < result.change->p)) result.change = of.change;
    }
    return result;
}

/// Returns a text if more than half of the requests failed, because refusals come at a steady rate too.
std::optional<std::string> mostly_failed(const RequestRows& requests) {
    std::size_t failed = 0;
    requests.for_each([&](const RequestRecord& request) { failed += is_failure(request.outcome) ? 1 : 0; });
    if (2 * failed <= requests.size()) return std::nullopt;
    return fmt::format("{} of {} requests failed", failed, requests.size());
}

/// Returns whether all answers were asked for with one number of tokens.
bool have_one_length(const RequestRows& requests) {
    std::optional<std::int64_t> wanted;
    bool equal = true;
    requests.for_each([&](const RequestRecord& request) {
        if (!wanted) wanted = request.wanted_output_tokens;
        equal = equal && wanted && request.wanted_output_tokens == wanted;
    });
    return equal;
}

std::uint64_t fewest_requests(double in_flight) {
    return static_cast<std::uint64_t>(std::max(10.0, std::ceil(2 * in_flight)));
}

/// Returns the shortest window, three times the median request.
Duration shortest_window(const RequestRows& requests) {
    std::vector<double> times;
    requests.for_each([&](const RequestRecord& request) {
        if (request.outcome == Outcome::ok) times.push_back(seconds(end_of(request) - request.started));
    });
    if (times.empty()) return {};
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return from_seconds(3 * *middle);
}

TimePoint last_dispatch_of(const RequestTable& records, const SummaryOptions& options, TimeSpan run) {
    TimePoint last = run.begin;
    for (const auto& record : records) {
        if (!record.warmup) last = std::max(last, record.started);
    }
    return std::min(options.last_dispatch.value_or(last), run.end);
}

/// Returns when the last request was due that does not follow on another one. Behind a cap, it may have been
/// started much later.
TimePoint last_arrival_of(const RequestTable& records, TimePoint dispatched) {
    TimePoint last = TimePoint::min();
    for (const auto& record : records) {
        if (!record.warmup && is_opening(record)) last = std::max(last, record.scheduled);
    }
    return last == TimePoint::min() ? dispatched : std::min(last, dispatched);
}

SteadyWindow whole_run(TimeSpan run, const std::string& why) {
    return {run, false, fmt::format("no steady state: {}; figures are of the whole run", why)};
}

SteadyWindow overloaded(TimeSpan run, const std::string& why) {
    SteadyWindow window = whole_run(run, why);
    window.overloaded = true;
    return window;
}

/// Returns the longest part of a closed loop's window, from its beginning on, that holds whole rounds: in
/// which a multiple of `cap` requests ended. A window that ends anywhere holds up to one round too many,
/// because it begins with the end of a request: answers that end together then make rates too high by a share
/// of 1 ÷ the number of rounds. In whole rounds, requests per second × mean time is the number in flight.
/// Returns nothing if the window holds fewer than two whole rounds.
std::optional<TimeSpan> whole_rounds(const RequestTable& records, TimeSpan span, std::uint64_t cap) {
    constexpr std::size_t kFewestRounds = 2;
    std::vector<TimePoint> ends;
    bool begins_with_one = false;  // whether a request ended just when the window begins
    bool ends_with_one = false;
    for (const RequestRecord& record : records) {
        const TimePoint end = record.last_event.value_or(end_of(record));
        if (span.contains(end)) ends.push_back(end);
        begins_with_one |= end == span.begin;
        ends_with_one |= end == span.end;
    }
    std::size_t whole = ends.size() / cap * cap;
    if (whole == ends.size()) {
        // The last of these ends lies before the end of the window, so that they took less time than it has.
        if (whole >= kFewestRounds * cap && (!begins_with_one || ends_with_one)) return span;
        whole -= std::min<std::size_t>(cap, whole);
    }
    if (whole < kFewestRounds * cap) return std::nullopt;
    const auto after = ends.begin() + static_cast<std::ptrdiff_t>(whole);
    std::nth_element(ends.begin(), after, ends.end());
    return TimeSpan{span.begin, *after};
}

/// The texts that name a part of the run in which the plan keeps one rate of arrivals.
struct PartTexts {
    std::string over = "the run";           ///< the part
    std::string arrivals = "the arrivals";  ///< the arrivals in it
    std::string end = "the last dispatch";  ///< its end
};

PartTexts texts_of(TimeSpan part, TimeSpan run, TimePoint dispatched) {
    PartTexts texts;
    if (part.begin > run.begin || part.end < dispatched) {
        texts.over = fmt::format("the part from {} s to {} s, in which the planned rate is constant",
                                 number_text(seconds(part.begin - run.begin)),
                                 number_text(seconds(part.end - run.begin)));
        texts.arrivals = texts.over;
    }
    if (part.end < dispatched) texts.end = "the next change of the planned rate";
    return texts;
}

constexpr std::size_t kLeastShare = 4;  // a window has at least a quarter of the requests

/// Finds the first steady plateau in an interval, or else gives the whole run with the reason why there is
/// none.
class PlateauSearch {
  public:
    /// `cap`: the cap of a closed loop. `stationary`: whether the plan has a constant rate of arrivals.
    PlateauSearch(const RequestTable& records, const std::vector<Step>& steps, TimeSpan run,
                  std::optional<std::uint64_t> cap, bool stationary)
        : records_(records), steps_(steps), run_(run), cap_(cap), stationary_(stationary) {}

    /// Searches in `span`. `inside`: the requests that are scheduled in it.
    SteadyWindow found(TimeSpan span, RequestRows inside, const std::string& from,
                       const PartTexts& texts) const {
        constexpr int kMostShifts = 8;
        const std::size_t all = inside.size();
        std::string start = from;
        std::string until = "to " + texts.end;
        std::string first_change;
        for (int shifts = 0;; ++shifts) {
            auto judgement = judged(inside, steps_, span, cap_.has_value(), stationary_);
            if (!judgement.change)
                return {span, true, fmt::format("{} {}", start, until), false, std::move(judgement.tests)};
            if (first_change.empty()) first_change = judgement.change->text;
            const auto unsteady = [&] {
                auto window = whole_run(run_, fmt::format("{} over {}{}", first_change, texts.over,
                                                          cause_of(first_change, inside)));
                window.tests = std::move(judgement.tests);
                return window;
            };
            if (!judgement.change->shift || shifts == kMostShifts) return unsteady();
            const TimeSpan shift = *judgement.change->shift;
            const auto moment = [&](TimePoint at) { return number_text(seconds(at - run_.begin)); };
            const auto take = [&](TimeSpan part) {
                auto rows = scheduled_in(records_, part);
                if (kLeastShare * rows.size() < all || !is_enough(part, rows)) return false;
                span = part;
                inside = std::move(rows);
                return true;
            };
            if (take({span.begin, shift.begin})) {
                until = fmt::format("to {} s, when {} to another level", moment(shift.begin),
                                    judgement.change->text);
            } else if (take({shift.end, span.end})) {
                start = fmt::format("from {} s, when {}", moment(shift.end), judgement.change->text);
            } else {
                return unsteady();
            }
        }
    }

    std::uint64_t needed(TimeSpan span) const {
        return fewest_requests(cap_ ? static_cast<double>(*cap_) : mean_level(steps_, span));
    }
    bool is_enough(TimeSpan span, const RequestRows& inside) const {
        return inside.size() >= needed(span) && span.length() >= shortest_window(inside);
    }

  private:
    /// A clause with the probable cause of a change, or empty. Answers of equal length come to end together,
    /// so that more and more requests wait for each other's prompts.
    std::string_view cause_of(std::string_view change, const RequestRows& requests) const {
        constexpr std::uint64_t kFewestInFlight = 4;
        if (cap_.value_or(0) < kFewestInFlight || !change.starts_with(kWaiting) ||
            !change.substr(kWaiting.size()).starts_with(" rose") || !have_one_length(requests))
            return "";
        return ", perhaps because answers of equal length come to run in step (lengths that vary, as with "
               "--range-ratio 0.1, avoid it)";
    }

    const RequestTable& records_;
    const std::vector<Step>& steps_;
    TimeSpan run_;
    std::optional<std::uint64_t> cap_;
    bool stationary_;
};

/// Finds the window of a run.
class WindowSearch {
  public:
    WindowSearch(const RequestTable& records, const SummaryOptions& options)
        : records_(records),
          options_(options),
          closed_loop_(!options.open_loop && options.concurrency),
          run_(run_of(records)),
          dispatched_(last_dispatch_of(records, options, run_)),
          steps_(steps_from(records, &RequestRecord::started)),
          plateau_(records, steps_, run_, closed_loop_ ? options.concurrency : std::nullopt,
                   closed_loop_ || options.stationary) {}

    SteadyWindow found() const {
        if (run_.length() <= Duration{}) return whole_run(run_, "no request was made");
        const auto growth = closed_loop_ ? std::nullopt : growth_of_queue();
        std::optional<SteadyWindow> first;
        for (const TimeSpan part : parts_of_constant_rate()) {
            SteadyWindow window = found_in(part, growth);
            if (window.steady || growth) return window;
            if (!first) first = std::move(window);
        }
        if (first) return *first;
        if (const auto failed = mostly_failed(scheduled_in(records_, run_))) return whole_run(run_, *failed);
        if (growth) return overloaded(run_, *growth);
        if (dispatched_ <= run_.begin) {
            bool is_of_openings = true;
            for (const auto& record : records_) is_of_openings = is_of_openings && is_opening(record);
            return whole_run(run_, is_of_openings ? "all requests were sent at once"
                                                  : "all conversations or jobs began at once");
        }
        return whole_run(run_,
                         "the planned rate of arrivals changes, and no part in which it is constant has a "
                         "quarter of the requests");
    }

  private:
    /// Returns the text of queue_growth() for the run. If the arrivals end in a part in which the plan keeps
    /// one rate, and which has enough of the requests, the queue may also grow in this part alone.
    std::optional<std::string> growth_of_queue() const {
        const TimeSpan arriving{run_.begin, last_arrival_of(records_, dispatched_)};
        auto growth = queue_growth(records_, options_, arriving, options_.stationary, PartTexts().arrivals);
        if (growth || options_.stationary) return growth;
        for (const TimeSpan part : parts_of_constant_rate())
            if (!options_.constant_rate.empty() && part.end >= arriving.end)
                growth = queue_growth(records_, options_, {part.begin, arriving.end}, true,
                                      texts_of(part, run_, dispatched_).arrivals);
        return growth;
    }

    /// Returns the parts of the arrivals in which the plan keeps one rate, those with the most requests
    /// first, without those that have too few to be the window.
    std::vector<TimeSpan> parts_of_constant_rate() const {
        const TimeSpan arriving{run_.begin, dispatched_};
        if (closed_loop_ || options_.constant_rate.empty()) return {arriving};
        const std::size_t all = std::max<std::size_t>(scheduled_in(records_, arriving).size(), 1);
        std::vector<std::pair<std::size_t, TimeSpan>> counted;
        for (const TimeSpan& constant : options_.constant_rate) {
            const TimeSpan part{std::max(constant.begin, arriving.begin),
                                std::min(constant.end, arriving.end)};
            if (part.begin >= part.end) continue;
            const std::size_t requests = scheduled_in(records_, part).size();
            if (kLeastShare * requests >= all) counted.emplace_back(requests, part);
        }
        sort_stably(counted, [](const auto& a, const auto& b) { return a.first > b.first; });
        std::vector<TimeSpan> parts;
        for (const auto& [count, part] : counted) parts.push_back(part);
        return parts;
    }

    /// `growth`: the text of queue_growth() for the whole run.
    SteadyWindow found_in(TimeSpan part, const std::optional<std::string>& growth) const {
        const PartTexts texts = texts_of(part, run_, dispatched_);
        const bool is_whole = part == TimeSpan{run_.begin, dispatched_};
        const auto beginnings =
            closed_loop_
                ? closed_loop_beginnings(records_, steps_, *options_.concurrency)
                : open_loop_beginnings(steps_, part,
                                       is_whole ? records_.size() : scheduled_in(records_, part).size());
        if (beginnings.empty())
            return whole_run(run_, closed_loop_ ? fmt::format("in-flight never reached its cap of {}",
                                                              *options_.concurrency)
                                                : std::string("in-flight never reached a plateau"));
        std::size_t most = 0;
        std::uint64_t needed = 0;
        for (const auto& beginning : beginnings) {
            const TimeSpan span{std::max(beginning.at, part.begin), part.end};
            auto inside = scheduled_in(records_, span);
            needed = plateau_.needed(span);
            most = std::max(most, inside.size());
            if (inside.size() < needed) continue;
            if (const auto failed = mostly_failed(inside)) return whole_run(run_, *failed);
            if (growth) return overloaded(run_, *growth);
            if (span.length() < shortest_window(inside)) continue;
            if (!is_whole) {
                if (const auto own = queue_growth(records_, options_, part, true, texts.arrivals))
                    return overloaded(run_, *own);
            }
            return rounded(plateau_.found(span, std::move(inside), beginning.how, texts));
        }
        if (growth) return overloaded(run_, *growth);
        if (most >= needed)
            return whole_run(run_, fmt::format("the time between ramp-up and {} is shorter than three times "
                                               "the median time of a request (make the run longer)",
                                               texts.end));
        return whole_run(run_, fmt::format("{} requests were scheduled between ramp-up and {}, and {} are "
                                           "needed (make the run longer)",
                                           most, texts.end, needed));
    }

    /// Returns the steady window of a closed loop in whole rounds, if it has some.
    SteadyWindow rounded(SteadyWindow window) const {
        if (!window.steady || !closed_loop_) return window;
        if (const auto rounds = whole_rounds(records_, window.span, *options_.concurrency)) {
            window.span = *rounds;
            window.how += fmt::format(", in whole rounds of {}", *options_.concurrency);
        }
        return window;
    }

    const RequestTable& records_;
    const SummaryOptions& options_;
    bool closed_loop_;
    TimeSpan run_;
    TimePoint dispatched_;
    std::vector<Step> steps_;
    PlateauSearch plateau_;
};

}  // namespace

TimePoint end_of(const RequestRecord& record) {
    return std::max({record.closed, record.last_event.value_or(record.started), record.started});
}

TimeSpan run_of(const RequestTable& records) {
    std::optional<TimeSpan> run;
    for (const auto& record : records) {
        if (record.warmup) continue;
        const TimeSpan span{record.scheduled, end_of(record) + Duration(1)};
        if (!run) run = span;
        run = {std::min(run->begin, span.begin), std::max(run->end, span.end)};
    }
    return run.value_or(TimeSpan{});
}

// In a closed loop the window begins when half of the first SummaryOptions::concurrency requests have ended
// (these all start together and are not typical) or, if too little time or too few requests are left then,
// when 95 % of `concurrency` were in flight. If they never were, there is no steady state. A closed loop
// without `concurrency` is treated as an open loop. In an open loop the window begins when the number in
// flight first reaches its mean over the second half of the arrivals, or later if the start of the run
// differs from the rest.
// If the plan's rate of arrivals changes, the window lies in one of the parts in which it is constant
// (SummaryOptions::constant_rate): in the steady one with the most requests, if it has a quarter of all. The
// rules for a run then hold for this part.
// The window needs at least max(10, 2 × number in flight) requests and 3 × the median time of a request. The
// window of a closed loop is then shortened to whole rounds, in which a multiple of `concurrency` requests
// ended, if it holds at least two of them.
// There is no steady state if more than half of its requests failed, if the number of requests of an open
// loop that are due and not over grows over the second half of the arrivals (where their rate is not
// constant, also in relation to it), or if there is a trend in the time to first token, the time per output
// token, the cache hits, (open loop) the number in flight, or, unless SummaryOptions::stationary, the number
// of arrivals.
SteadyWindow steady_window_of(const RequestTable& records, const SummaryOptions& options) {
    return WindowSearch(records, options).found();
}

}  // namespace paretoken
