#pragma once
// Derives the fields of a record that the events of its answer determine. The functions are pure.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/record/record.h"

namespace paretoken {

/// Calls `visit(events)` with the events of each choice of an answer. For one choice these are all events;
/// for several, same_read tells whether the read also completed the choice's own event before.
template <class Visit>
void for_each_choice(const std::vector<StreamEvent>& events, Visit visit) {
    const auto other = [&](const StreamEvent& event) { return event.choice != events.front().choice; };
    if (std::ranges::none_of(events, other)) return visit(events);
    std::vector<StreamEvent> own;
    const auto less = [](const StreamEvent& a, const StreamEvent& b) { return a.choice < b.choice; };
    const unsigned most = std::ranges::max_element(events, less)->choice;
    for (unsigned choice = 0; choice <= most; ++choice) {
        own.clear();
        bool same_read = false;
        for (const StreamEvent& event : events) {
            same_read = same_read && event.same_read;
            if (event.choice != choice) continue;
            own.push_back(event);
            own.back().same_read = std::exchange(same_read, true);
        }
        if (!own.empty()) visit(own);
    }
}

/// Sets the fields of `record` that its events, in the order of arrival, determine: chunks, grouped_chunks,
/// streamed_tokens, first_group_tokens, first_event, first_answer, last_event, longest_gap, and `decoding` if
/// there are several choices. Without events the counts are 0 and the others absent.
void derive_from_events(RequestRecord& record);

}  // namespace paretoken
