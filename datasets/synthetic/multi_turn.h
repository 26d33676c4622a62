#pragma once
// Conversations of generated messages of wanted lengths. The replies are the server's own, or generated if
// DatasetOptions::live_replies is false.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "multi_turn:turns=4,first=500,next=100,osl=128": at most 1,000 turns; tokens of the first prompt, each
/// later message and each reply, as distributions (datasets/synthetic/lengths.h). Throws UsageError.
std::unique_ptr<Dataset> make_multi_turn(const DatasetOptions& options);

}  // namespace paretoken::datasets
