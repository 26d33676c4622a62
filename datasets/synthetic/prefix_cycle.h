#pragma once
// Requests that use a number of prefixes in turn, which shows how many of them a cache holds.
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "prefix_cycle:prefixes=8,prefix=1024,suffix=64,osl=16": request i begins with prefix i mod 8.
std::unique_ptr<Dataset> make_prefix_cycle(const DatasetOptions& options);

}  // namespace paretoken::datasets
