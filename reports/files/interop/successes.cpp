#include "reports/files/interop/successes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/record/event_source.h"
#include "core/record/fact.h"
#include "core/statistics.h"
#include "reports/files/recorded_files.h"

namespace paretoken::reports {

std::vector<SentRequest> sent_requests(const StoredRun& run) {
    std::vector<SentRequest> requests;
    for (RequestRecord record : run.recorded.observed.records) {
        if (record.warmup || !(record.sent || is_failure(record.outcome))) continue;
        if (!record.sent) record.sent = record.started;  // it could not connect
        requests.push_back({.record = std::move(record)});
    }
    std::ranges::sort(
        requests, [](const SentRequest& a, const SentRequest& b) { return *a.record.sent < *b.record.sent; });
    if (!run.recorded.events) return requests;
    std::unordered_map<std::uint64_t, SentRequest*> by_index;
    for (SentRequest& request : requests) by_index[request.record.index] = &request;
    run.recorded.events->for_each([&](const RequestKey& key, std::span<const StreamEvent> events) {
        const auto found = by_index.find(key.index);
        if (key.warmup || found == by_index.end()) return;
        for (const StreamEvent& event : events) found->second->tokens.push_back(event.tokens);
        for (std::size_t i = 1; i < events.size(); ++i)
            found->second->gaps_s.push_back(seconds(events[i].time - events[i - 1].time));
    });
    return requests;
}

Successes successes_of(const std::vector<SentRequest>& requests, const StoredRun& of) {
    const paretoken::Facts unknown{std::span(of.recorded.begun.unknown_facts)};
    Successes all;
    all.knows_output = !unknown.overlaps({Fact::output_tokens});
    all.knows_input = !unknown.overlaps({Fact::input_tokens});
    TimePoint end = TimePoint::min();
    for (const auto& [record, gaps_s, tokens_of_events] : requests) {
        end = std::max(end, record.finished.value_or(record.closed));
        if (is_failure(record.outcome)) ++all.failed;
        if (record.outcome != Outcome::ok) continue;
        ++all.completed;
        if (record.first_event) all.ttft.push_back(seconds(*record.first_event - *record.sent));
        if (record.finished) all.e2e.push_back(seconds(*record.finished - *record.sent));
        all.itl.insert(all.itl.end(), gaps_s.begin(), gaps_s.end());
        if (record.usage.prompt) all.input_tokens.push_back(static_cast<double>(*record.usage.prompt));
        if (!all.knows_output) continue;
        const auto tokens = static_cast<double>(output_tokens_of(record));
        all.output_tokens.push_back(tokens);
        const bool in_one_piece = !record.last_event || record.last_event == record.first_event;
        if (tokens > 1 && record.first_event && !in_one_piece)
            all.tpot.push_back(seconds(*record.last_event - *record.first_event) / (tokens - 1));
    }
    if (all.input_tokens.size() < all.completed) all.knows_input = false;
    if (!requests.empty()) all.duration_s = seconds(end - *requests.front().record.sent);
    return all;
}

double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

double Spread::at(double p) const {
    return percentile(sorted, p);
}

std::optional<Spread> spread_of(std::vector<double> values) {
    if (values.empty()) return std::nullopt;
    std::ranges::sort(values);
    Spread spread{.least = values.front(), .most = values.back()};
    const auto n = static_cast<double>(values.size());
    spread.mean = sum_of(values) / n;
    double squares = 0;
    for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
    spread.deviation = std::sqrt(squares / n);
    spread.sorted = std::move(values);
    return spread;
}

}  // namespace paretoken::reports
