#pragma once
// Traces in Mooncake's format: JSON lines {"timestamp": ms, "input_length": …, "output_length": …,
// "hash_ids": […]}. A hash id names a block of 512 tokens (block=) together with all blocks before it, so
// prompts of equal ids share a prefix; the last block may be shorter.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

RowFormat mooncake_format(const Spec& spec);
std::unique_ptr<Dataset> make_mooncake(const DatasetOptions& options);

}  // namespace paretoken::datasets
