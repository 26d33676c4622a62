#pragma once
// Recognises answers that look like streams and are none.
#include "core/record/record.h"

namespace paretoken {

/// Returns whether the answer's tokens came together although their computation took time, so that the gaps
/// between them say nothing about decoding. Answers with fewer than 16 tokens are not judged.
bool is_bunched(const RequestRecord& record);

/// Returns whether the first event came long before all others: the gap after it takes most of the time to
/// the second event, and is more than five times the median of the other gaps. Such an event is mostly not
/// computed from the prompt: a part of the template, an echo or a sign of life. Needs the record's events;
/// answers with fewer than eight events that came in reads of their own are not judged.
bool begins_early(const RequestRecord& record);

}  // namespace paretoken
