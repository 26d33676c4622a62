#pragma once
// Traces of agents in the form of Weka and AgentX: JSON objects, each of which is a job with "id",
// "block_size" and "requests". A request has "t" (seconds since the job began), "in" and "out" (tokens),
// "hash_ids", "api_time" and "think_time"; an entry of type "subagent" has requests of its own. Prompts are
// made up; equal hash ids of one job give equal text. The waits of the turns for each other are not stated.
// They follow from the recorded times: a sub-agent starts with the turn of the main agent before it, and the
// first turn of the main agent after its end waits for it.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// The field "t" says what the times of a sub-agent's requests count from: "agent" or "job". Without it, the
/// first sub-agent of the file that shows it decides. Throws UsageError for another value.
RowFormat weka_format(const Spec& spec);
std::unique_ptr<Dataset> make_weka(const DatasetOptions& options);

}  // namespace paretoken::datasets
