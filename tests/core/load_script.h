#pragma once
// Makes records of invented runs, as a client would record them for a server with known times.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/record/record.h"
#include "core/result/rates.h"

namespace paretoken::script {

inline constexpr TimePoint kStart{std::chrono::seconds(1000)};

/// The service of one request: `tokens` events, the first after `ttft`, the others `gap` apart.
struct Service {
    Duration ttft = std::chrono::milliseconds(100);
    Duration gap = std::chrono::milliseconds(10);
    std::uint32_t tokens = 11;
};

inline Duration length_of(const Service& service) {
    return service.ttft + (service.tokens - 1) * service.gap;
}

inline RequestRecord answered(TimePoint scheduled, const Service& service) {
    RequestRecord record;
    record.scheduled = record.started = record.ready = scheduled;
    record.sent = record.headers = scheduled;
    record.first_event = record.first_answer = scheduled + service.ttft;
    record.last_event = record.finished = scheduled + length_of(service);
    record.closed = *record.last_event;
    record.usage.prompt = 100;
    record.usage.completion = service.tokens;
    record.streamed_tokens = service.tokens;
    record.first_group_tokens = 1;
    record.chunks = service.tokens;
    for (std::uint32_t i = 0; i < service.tokens; ++i) {
        StreamEvent event;
        event.time = *record.first_event + i * service.gap;
        record.events.push_back(event);
    }
    if (service.tokens > 1) record.longest_gap = service.gap;
    return record;
}

inline RequestRecord failed(TimePoint scheduled, Outcome outcome = Outcome::http_error) {
    RequestRecord record;
    record.scheduled = record.started = record.ready = scheduled;
    record.sent = scheduled;
    record.closed = scheduled + std::chrono::milliseconds(1);
    record.outcome = outcome;
    record.error = "HTTP 500";
    return record;
}

/// Returns the service with its times changed by a random share of at most ±`share`, so that the requests of
/// a closed loop do not stay in lockstep.
inline Service jittered(Service service, double share, Random& random) {
    const double factor = 1 + share * (2 * random.uniform() - 1);
    service.ttft = from_seconds(seconds(service.ttft) * factor);
    service.gap = from_seconds(seconds(service.gap) * factor);
    return service;
}

/// Returns `count` requests over `concurrency` slots, each used again as soon as it is free.
inline std::vector<RequestRecord> closed_loop(std::size_t concurrency, std::size_t count,
                                              const Service& service, double jitter = 0.3,
                                              std::uint64_t seed = 1) {
    Random random(seed);
    std::vector<TimePoint> free_at(concurrency, kStart);
    std::vector<RequestRecord> records;
    for (std::size_t i = 0; i < count; ++i) {
        auto slot = std::min_element(free_at.begin(), free_at.end());
        records.push_back(answered(*slot, jittered(service, jitter, random)));
        records.back().index = i;
        *slot = records.back().closed;
    }
    return records;
}

/// Returns requests of Poisson arrivals at `rate` per second, each served without waiting.
inline std::vector<RequestRecord> open_loop(double rate, std::size_t count, const Service& service,
                                            double jitter = 0.3, std::uint64_t seed = 1) {
    Random random(seed);
    TimePoint arrival = kStart;
    std::vector<RequestRecord> records;
    for (std::size_t i = 0; i < count; ++i) {
        arrival += from_seconds(random.exponential() / rate);
        records.push_back(answered(arrival, jittered(service, jitter, random)));
        records.back().index = i;
    }
    return records;
}

// The functions below compute totals and series from records with events, as summarize() does for a run
// (core/result/summary.h).

/// Returns the totals of `count` equal parts of `span`.
inline std::vector<Totals> blocks_of(const std::vector<RequestRecord>& records, TimeSpan span,
                                     std::size_t count, const SummaryOptions& options) {
    TotalsTimeline timeline(span, std::max<std::size_t>(count, 1));
    RequestSlos request_slos;
    for (const auto& record : records) timeline.add(record, judgement_of(record, options, request_slos));
    return timeline.bins();
}

inline Totals totals_of(const std::vector<RequestRecord>& records, TimeSpan span,
                        const SummaryOptions& options) {
    if (span.length() <= Duration{}) return {};
    return blocks_of(records, span, 1, options).front();
}

inline std::vector<Series> series_of(const std::vector<RequestRecord>& records, TimeSpan run) {
    const auto grid = stretches_of(run);
    if (!grid) return paretoken::series_of(records, run, {});
    return paretoken::series_of(records, run, blocks_of(records, grid->span, grid->count, {}));
}

}  // namespace paretoken::script
