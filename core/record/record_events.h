#pragma once
// Derives the fields of a record that the events of its answer determine, for answers over sockets and for
// those of virtual time. The functions are pure.
#include "core/record/record.h"

namespace paretoken {

/// Sets the fields of `record` that its events determine. The events are in the order of arrival. The counts
/// are chunks, grouped_chunks (events that came in the same read as the event before), streamed_tokens and
/// first_group_tokens (tokens of the first event and of those that came in the same read). The times are
/// first_event, first_answer (the first event that is not reasoning) and last_event. longest_gap is the
/// longest gap between two consecutive events. It ignores the gap before an event that came in the same read
/// as the event before it, because this gap is unknown. If an event has an earlier stamp than the event
/// before it, the gap between them counts as 0. Without events the counts are 0 and the others absent.
void derive_from_events(RequestRecord& record);

}  // namespace paretoken
