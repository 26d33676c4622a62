#pragma once
// Conversations of random messages: an opening of one wanted length and follow-ups of another. The replies
// between them are the server's own or are generated too.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "multi_turn:turns=4,first=500,next=100,osl=128": a number of turns (at most 1,000) and three numbers of
/// tokens. Each value may be a distribution, in the form of Lengths (lengths.h).
std::unique_ptr<Dataset> make_multi_turn(const DatasetOptions& options);

}  // namespace paretoken::datasets
