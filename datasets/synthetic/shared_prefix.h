#pragma once
// Random prompts that share beginnings. The shared part is a path down a tree: each level draws one of
// `groups` continuations (with zipf above 0 the first ones more often), and unshared tokens follow.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "shared_prefix:groups=8,levels=1000;500,unique=200,zipf=1.1,osl=128": levels are tokens, the outermost
/// first; unique, which follows them, and osl are distributions (datasets/synthetic/lengths.h).
std::unique_ptr<Dataset> make_shared_prefix(const DatasetOptions& options);

}  // namespace paretoken::datasets
