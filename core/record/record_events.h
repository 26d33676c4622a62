#pragma once
// Derives the fields of a record that the events of its answer determine, for answers over sockets and for
// those of virtual time. The functions are pure.
#include "core/record/record.h"

namespace paretoken {

/// Sets chunks, grouped_chunks, streamed_tokens, first_group_tokens, first_event, first_answer, last_event
/// and longest_gap from `record.events`, which are in the order of arrival. Without events the counts are 0
/// and the others absent. longest_gap ignores the gap before an event that came in the same read as the event
/// before it, because this gap is unknown. If an event has an earlier stamp than the event before it, the gap
/// between them counts as 0.
void derive_from_events(RequestRecord& record);

}  // namespace paretoken
