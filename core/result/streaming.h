#pragma once
// Recognises answers that look like streams and are none.
#include "core/record/record.h"

namespace paretoken {

/// Returns whether the answer's tokens came together although their computation took time, so that the gaps
/// between them say nothing about decoding. Answers with fewer than 16 tokens are not judged.
bool is_bunched(const RequestRecord& record);

}  // namespace paretoken
