#pragma once
// Texts that can be read beyond their end.
#include <string>

#include "loadgen/protocol/sse.h"

namespace paretoken::testing {

/// Returns the text with the kReadablePadding readable bytes behind it that vectorised reading needs.
inline std::string padded(std::string text) {
    text.reserve(text.size() + protocol::kReadablePadding);
    return text;
}

}  // namespace paretoken::testing
