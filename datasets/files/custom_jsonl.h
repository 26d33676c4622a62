#pragma once
// Requests from a file, one JSON object per line: "prompt" (text or token ids) or "messages" ([{role,
// content}]), and optionally "output_tokens" (or "max_tokens" and similar names of other programs),
// "input_tokens" (the prompt's length, which results show beside the length that the server counts; ignored
// for token ids), "at_s" (time of the request in seconds), "class", "model", "slo" (limits for this request
// in place of the run's: "ttft:500 tpot:20") and "body" (an object that is merged into the JSON body of the
// request). The content of a message is text or a list of parts, which is sent unchanged, as are its further
// fields ("tool_calls", "tool_call_id", "name"); a message that calls tools may have null. Fields of a row
// that have no effect are named in a note. Rows with the same value of "conversation" are the turns of one
// conversation. Each of them adds its messages, which may begin with the assistant's recorded reply. "turn"
// is optional; if a row has it, it must be the number of the row's turn in the conversation, counted from 0.
#include <memory>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// The format of "custom:path=FILE[,osl=128]"; osl is for lines without "output_tokens". Making the dataset
/// throws RuntimeError when the file cannot be read, UsageError naming the line that is wrong, and UsageError
/// when osl is given although no line needs it.
RowFormat custom_format(const Spec& spec);
std::unique_ptr<Dataset> make_custom_jsonl(const DatasetOptions& options);

}  // namespace paretoken::datasets
