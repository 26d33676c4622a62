#pragma once
// Texts with readable memory behind their end, as the parsers of answers require.
#include <string>

#include "loadgen/protocol/sse.h"

namespace paretoken::testing {

/// Returns the text with a capacity of at least kReadablePadding bytes more than its size, because vectorised
/// parsers read beyond the end. A copy of the result does not have this capacity.
inline std::string padded(std::string text) {
    text.reserve(text.size() + protocol::kReadablePadding);
    return text;
}

}  // namespace paretoken::testing
