#pragma once
// Traces in Mooncake's format: JSON lines {"timestamp": ms, "input_length": …, "output_length": …,
// "hash_ids": […]}. A hash id names a block of tokens together with all blocks before it, so prompts whose
// first ids are equal share a prefix. A block has 512 tokens, or the number in the spec's field "block"; the
// last block of a prompt may be shorter. The field "unit" (s or ms) is the unit of the times; without it a
// time that is not a whole number of milliseconds is refused, as are more hash ids than a prompt has blocks.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// Throws UsageError if the field "block" is not between 1 and 1M, or if "unit" is neither s nor ms.
RowFormat mooncake_format(const Spec& spec);
std::unique_ptr<Dataset> make_mooncake(const DatasetOptions& options);

/// Rows with "session_id": turns of conversations, with a pause "delay" in milliseconds. "messages" or
/// "text_input" may replace the lengths: the whole prompt, or with "message_mode": "delta" what is new in it.
RowFormat mooncake_session_format(const Spec& spec);
std::unique_ptr<Dataset> make_mooncake_session(const DatasetOptions& options);

/// Rows of jobs: a request ("request_id") of an agent ("session_id") starts when all of "wait_for" have
/// ended, plus "delay" and "tool_wait_ms". The other fields of the format inform only.
RowFormat agentic_mooncake_format(const Spec& spec);
std::unique_ptr<Dataset> make_agentic_mooncake(const DatasetOptions& options);

}  // namespace paretoken::datasets
