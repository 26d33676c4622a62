#pragma once
// Derives the fields of a record that the events of its answer determine, for answers
// over sockets and for those of virtual time. Pure.
#include "core/record/record.h"

namespace paretoken {

/// Sets chunks, grouped_chunks, streamed_tokens, first_group_tokens, first_event, first_answer, last_event
/// and longest_gap from `record.events`, which are in the order of arrival. Without events the counts are 0
/// and the others absent. The gap before an event of the same read is unknown and does not count. An event
/// with an earlier stamp than the one before it ends a gap of 0.
void derive_from_events(RequestRecord& record);

}  // namespace paretoken
