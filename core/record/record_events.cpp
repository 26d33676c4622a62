#include "core/record/record_events.h"

namespace paretoken {
namespace {

/// Returns the tokens of the first event and of those that came in the same read.
std::int64_t first_group_of(const std::vector<StreamEvent>& events) {
    std::int64_t tokens = events.front().tokens;
    for (std::size_t i = 1; i < events.size() && events[i].same_read; ++i) tokens += events[i].tokens;
    return tokens;
}

}  // namespace

// longest_gap is the longest gap between two consecutive events. It ignores the gap before an event that came
// in the same read as the event before it, because this gap is unknown. If an event has an earlier stamp than
// the event before it, the gap between them counts as 0.
void derive_from_events(RequestRecord& record) {
    const std::vector<StreamEvent>& events = record.events;
    record.chunks = static_cast<std::int64_t>(events.size());
    record.grouped_chunks = record.streamed_tokens = record.first_group_tokens = 0;
    record.first_event = record.first_answer = record.last_event = std::nullopt;
    record.longest_gap.reset();
    record.decoding.reset();
    if (events.empty()) return;
    record.first_event = events.front().time;
    record.last_event = events.back().time;
    int choices = 0;
    Duration decoding{};
    for_each_choice(events, [&](const std::vector<StreamEvent>& own) {
        ++choices;
        decoding += own.back().time - own.front().time;
        record.first_group_tokens += first_group_of(own);
        for (const StreamEvent& event : own) record.grouped_chunks += event.same_read ? 1 : 0;
    });
    if (choices > 1) record.decoding = decoding;
    TimePoint before = events.front().time;
    std::optional<Duration> longest;
    for (const StreamEvent& event : events) {
        const bool first = &event == &events.front();
        record.streamed_tokens += event.tokens;
        if (!record.first_answer && event.kind != EventKind::reasoning) record.first_answer = event.time;
        if (!first && !event.same_read) {
            longest = std::max({longest.value_or(Duration{}), Duration{}, event.time - before});
        }
        before = event.time;
    }
    record.longest_gap = longest;
}

}  // namespace paretoken
