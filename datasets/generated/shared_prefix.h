#pragma once
// Random prompts that begin alike, as system prompts, examples and documents do. A prompt goes down a tree:
// at each level it takes one of `groups` continuations, the first ones more often where zipf is above 0, and
// ends in tokens of its own.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "shared_prefix:groups=8,levels=1000;500,unique=200,zipf=1.1,osl=128": levels are tokens, the outermost
/// first; unique and osl are Lengths.
std::unique_ptr<Dataset> make_shared_prefix(const DatasetOptions& options);

}  // namespace paretoken::datasets
