#pragma once
// Conversations of generated messages of wanted lengths. The replies are the server's own, or generated if
// DatasetOptions::live_replies is false.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "multi_turn:turns=4,first=500,next=100,osl=128": the number of turns (at most 1,000), and the tokens of
/// the first prompt, of each later message and of each reply. Each value may be a distribution, in the form
/// of Lengths (datasets/synthetic/lengths.h). Prompts are always text. Throws UsageError.
std::unique_ptr<Dataset> make_multi_turn(const DatasetOptions& options);

}  // namespace paretoken::datasets
