#pragma once
// Traces in Mooncake's format: JSON lines {"timestamp": ms, "input_length": …, "output_length": …,
// "hash_ids": […]}. A hash id names a block of tokens together with all blocks before it, so prompts whose
// first ids are equal share a prefix. A block has 512 tokens, or the number in the spec's field "block"; the
// last block of a prompt may be shorter.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// Throws UsageError if the field "block" is not between 1 and 1M.
RowFormat mooncake_format(const Spec& spec);
std::unique_ptr<Dataset> make_mooncake(const DatasetOptions& options);

}  // namespace paretoken::datasets
