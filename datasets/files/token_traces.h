#pragma once
// Traces that hold the time and the number of tokens of each request, but not its text. Prompts are
// generated. Rows with 0 tokens, which are failed requests, are left out.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// Azure's LLM inference traces: CSV with TIMESTAMP, ContextTokens, GeneratedTokens.
RowFormat azure_format(const Spec& spec);
std::unique_ptr<Dataset> make_azure(const DatasetOptions& options);

/// BurstGPT: CSV with Timestamp (seconds), Model, Request tokens, Response tokens.
RowFormat burstgpt_format(const Spec& spec);
std::unique_ptr<Dataset> make_burstgpt(const DatasetOptions& options);

/// A gateway's log: JSON lines with prompt_tokens, completion_tokens, at (seconds, or a date and time).
RowFormat log_format(const Spec& spec);
std::unique_ptr<Dataset> make_log(const DatasetOptions& options);

}  // namespace paretoken::datasets
