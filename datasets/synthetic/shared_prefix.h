#pragma once
// Random prompts that share beginnings, as prompts with the same system prompt, examples or documents do. The
// shared part is a path down a tree: on each level, one of `groups` continuations is drawn (with zipf above 0
// the first ones more often). Prompts whose draws are equal up to a level share the tokens up to this level.
// Tokens that no other prompt has follow.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "shared_prefix:groups=8,levels=1000;500,unique=200,zipf=1.1,osl=128": levels are tokens, the outermost
/// first; unique (the tokens that follow the shared part) and osl have the form of Lengths
/// (datasets/synthetic/lengths.h).
std::unique_ptr<Dataset> make_shared_prefix(const DatasetOptions& options);

}  // namespace paretoken::datasets
