#pragma once
// Formats of jobs whose prompts are messages.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// MLPerf's agentic rows: a row is a message with "conversation_id", "turn" and "role". Rows of the user and
/// of tools are requests; rows of the assistant are the recorded answers. Each conversation is a job, with
/// the "tools" and sampling of its first row. "delay_seconds" is a pause, and before tools their time.
RowFormat mlperf_agentic_format(const Spec& spec);
std::unique_ptr<Dataset> make_mlperf_agentic(const DatasetOptions& options);

/// AIPerf's dag_jsonl: a line is an agent with "session_id" and "turns". "forks" are agents that inherit the
/// history; "spawns" are agents that start afresh, and for which the next turn waits, or turn "join_at".
RowFormat dag_jsonl_format(const Spec& spec);
std::unique_ptr<Dataset> make_dag_jsonl(const DatasetOptions& options);

}  // namespace paretoken::datasets
