#pragma once
// Derives from the events of an answer the fields of its record that they determine, for answers that
// came over sockets and for those of virtual time alike. Pure.
#include "core/record/record.h"

namespace paretoken {

/// Sets chunks, grouped_chunks, streamed_tokens, first_group_tokens, first_event, first_answer, last_event
/// and longest_gap from `record.events`, which stand in the order of their arrival; without events the counts
/// are 0 and the others absent. The gap before an event of the same read is unknown and no gap, and an event
/// that is stamped earlier than the one before it ends a gap of 0.
void derive_from_events(RequestRecord& record);

}  // namespace paretoken
