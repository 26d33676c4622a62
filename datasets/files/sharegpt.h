#pragma once
// ShareGPT's conversations: a JSON array, or lines, of {"conversations": [{"from": "human", "value": …},
// {"from": "gpt", "value": …}, …]}. A request is the first message of the human; osl= sets the length of
// the answer.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

RowFormat sharegpt_format(const Spec& spec);
std::unique_ptr<Dataset> make_sharegpt(const DatasetOptions& options);

}  // namespace paretoken::datasets
