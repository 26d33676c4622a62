#pragma once
// Random prompts that share beginnings, as system prompts, examples and documents do. The shared part is a
// path down a tree: on each level, one of `groups` continuations is drawn (with zipf above 0 the first ones
// more often), and prompts with equal draws so far share it. Tokens that no other prompt has follow.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "shared_prefix:groups=8,levels=1000;500,unique=200,zipf=1.1,osl=128": levels are tokens, the outermost
/// first; unique and osl are Lengths.
std::unique_ptr<Dataset> make_shared_prefix(const DatasetOptions& options);

}  // namespace paretoken::datasets
