#pragma once
// Prompts from a file, one JSON object per line: "prompt" (text or token ids) or "messages" ([{role,
// content}]), and optionally "output_tokens", "input_tokens" (told beside what was achieved) and "class".
#include <memory>

#include "datasets/catalog.h"

namespace paretoken::datasets {

/// "custom:path=FILE[,osl=128]": osl for lines that say nothing. Reads the whole file; throws RuntimeError
/// when it cannot be read, UsageError naming the line that is wrong.
std::unique_ptr<Dataset> make_custom_jsonl(const DatasetOptions& options);

}  // namespace paretoken::datasets
