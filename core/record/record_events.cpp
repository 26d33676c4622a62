#include "core/record/record_events.h"

#include <algorithm>

namespace paretoken {

void derive_from_events(RequestRecord& record) {
    const std::vector<StreamEvent>& events = record.events;
    record.chunks = static_cast<std::int64_t>(events.size());
    record.grouped_chunks = record.streamed_tokens = record.first_group_tokens = 0;
    record.first_event = record.first_answer = record.last_event = std::nullopt;
    record.longest_gap.reset();
    if (events.empty()) return;
    record.first_event = events.front().time;
    record.last_event = events.back().time;
    bool first_group = true;
    TimePoint before = events.front().time;
    std::optional<Duration> longest;
    for (const StreamEvent& event : events) {
        const bool first = &event == &events.front();
        first_group = first_group && (first || event.same_read);
        if (first_group) record.first_group_tokens += event.tokens;
        record.streamed_tokens += event.tokens;
        record.grouped_chunks += event.same_read ? 1 : 0;
        if (!record.first_answer && event.kind != EventKind::reasoning) record.first_answer = event.time;
        if (!first && !event.same_read) {
            longest = std::max({longest.value_or(Duration{}), Duration{}, event.time - before});
        }
        before = event.time;
    }
    record.longest_gap = longest;
}

}  // namespace paretoken
