#include "reports/files/interop/successes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/statistics.h"

namespace paretoken::reports {

Successes successes_of(const ExportedRun& run) {
    Successes all;
    std::set<std::uint64_t> succeeded;
    TimePoint begin = TimePoint::max();
    TimePoint end = TimePoint::min();
    for (const RequestRecord& record : run.stored.recorded.observed.records) {
        if (record.warmup || !record.sent) continue;
        begin = std::min(begin, *record.sent);
        end = std::max(end, record.finished.value_or(record.closed));
        if (is_failure(record.outcome)) ++all.failed;
        if (record.outcome != Outcome::ok || !record.first_event || !record.finished) continue;
        succeeded.insert(record.index);
        const auto tokens = static_cast<double>(output_tokens_of(record));
        all.ttft.push_back(seconds(*record.first_event - *record.sent));
        all.e2e.push_back(seconds(*record.finished - *record.sent));
        if (tokens > 1 && record.last_event)
            all.tpot.push_back(seconds(*record.last_event - *record.first_event) / (tokens - 1));
        if (record.usage.prompt) all.input_tokens.push_back(static_cast<double>(*record.usage.prompt));
        all.output_tokens.push_back(tokens);
    }
    if (run.stored.recorded.events)
        run.stored.recorded.events->for_each([&](const RequestKey& key, std::span<const StreamEvent> events) {
            if (key.warmup || !succeeded.contains(key.index)) return;
            for (std::size_t i = 1; i < events.size(); ++i)
                all.itl.push_back(seconds(events[i].time - events[i - 1].time));
        });
    if (begin < end) all.duration_s = seconds(end - begin);
    return all;
}

double Spread::at(double p) const {
    return percentile(sorted, p);
}

std::optional<Spread> spread_of(std::vector<double> values) {
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    Spread spread{.least = values.front(), .most = values.back()};
    const auto n = static_cast<double>(values.size());
    spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double squares = 0;
    for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
    spread.deviation = std::sqrt(squares / n);
    spread.sorted = std::move(values);
    return spread;
}

}  // namespace paretoken::reports
