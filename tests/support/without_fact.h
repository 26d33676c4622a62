#pragma once
// Takes facts away from records, as if another program had measured them that does not know these facts.
#include "core/record/fact.h"
#include "core/record/record.h"

namespace paretoken::testing {

/// Returns the record as a source leaves it that does not know `fact`.
inline RequestRecord without_fact(RequestRecord record, Fact fact) {
    switch (fact) {
        case Fact::sent:
            record.sent.reset();
            break;
        case Fact::first_event:
            record.first_event = record.first_answer = std::nullopt;
            record.first_group_tokens = 0;
            [[fallthrough]];  // who does not know the first event does not know any
        case Fact::event_times:
            record.events.clear();
            record.longest_gap.reset();
            record.chunks = record.grouped_chunks = 0;
            break;
        case Fact::output_tokens:
            record.usage.completion = record.usage.reasoning = std::nullopt;
            record.streamed_tokens = record.first_group_tokens = 0;
            for (StreamEvent& event : record.events) event.tokens = 0;
            break;
        case Fact::input_tokens:
            record.usage.prompt.reset();
            break;
        case Fact::cached_tokens:
            record.usage.cached_prompt.reset();
            break;
        case Fact::server_counters:
            break;
    }
    return record;
}

}  // namespace paretoken::testing
