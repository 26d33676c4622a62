#pragma once
// Recognises answers that look like streams and are none.
#include "core/record/record.h"

namespace paretoken {

/// Returns whether the answer's tokens came together although their computation took time, so that the gaps
/// between them say nothing about decoding. This is so in three cases: most tokens came with the first
/// arrival; all came in the last tenth of the end-to-end time, at less than a millisecond per token; or an
/// early event (a blank, for example) was followed by silence and then by all others in this way. Answers
/// with fewer than 16 tokens are not judged. Real servers need more than a millisecond per token, except for
/// short prompts on the fastest hardware, where the tokens fill most of the end-to-end time.
bool is_bunched(const RequestRecord& record);

}  // namespace paretoken
