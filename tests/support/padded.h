#pragma once
// Makes texts with readable memory after their end, as the parsers of answers require.
#include <string>

#include "loadgen/protocol/sse.h"

namespace paretoken::testing {

/// Returns the text with a capacity of at least kReadablePadding bytes more than its size, because vectorised
/// parsers read beyond the end. The result must not be copied, because
/// a copy does not have this capacity.
inline std::string padded(std::string text) {
    text.reserve(text.size() + protocol::kReadablePadding);
    return text;
}

}  // namespace paretoken::testing
