#pragma once
// Requests from a file whose columns have names of their own, as csv with a header or JSON objects. The spec
// says which column holds what: "columns:prompt=question,output_tokens=n". A row is read as one of "custom"
// (datasets/files/custom_jsonl.h) if it has a prompt or messages, else as one of "turns".
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// Throws UsageError for a field that rows do not have, and when none tells the prompt or its length. Making
/// the dataset throws as that of "custom" does, and for a quoted value that does not end in its line.
RowFormat columns_format(const Spec& spec);
std::unique_ptr<Dataset> make_columns(const DatasetOptions& options);

}  // namespace paretoken::datasets
