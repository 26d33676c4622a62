#pragma once
// Random prompts that share beginnings, as system prompts, examples and documents do. A prompt is a path down
// a tree: each level has `groups` continuations, of which the first are taken more often if zipf is above 0.
// Tokens that only this prompt has end it.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "shared_prefix:groups=8,levels=1000;500,unique=200,zipf=1.1,osl=128": levels are tokens, the outermost
/// first; unique and osl are Lengths.
std::unique_ptr<Dataset> make_shared_prefix(const DatasetOptions& options);

}  // namespace paretoken::datasets
