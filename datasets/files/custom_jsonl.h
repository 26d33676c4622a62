#pragma once
// Requests from a file, one JSON object per line: "prompt" (text or token ids) or "messages" ([{role,
// content}]), and optionally "output_tokens" (or "max_tokens" and similar names of other programs),
// "input_tokens" (the prompt's length, which results show beside the server's count; ignored for token ids),
// "at_s" (time of the request in seconds, or a date and time; or a "timestamp"), "class", "model", "slo"
// (limits for this request in place of the run's: "ttft:500 tpot:20") and "body" (an object that is merged
// into the JSON body). The content of a message is text, a list of parts, or null if it calls tools; it is
// sent unchanged, as are further fields ("tool_calls", "tool_call_id", "name"). Fields without effect are
// named in a note. Rows with the same "conversation" are its turns, each of which adds its messages, which
// may begin with the assistant's recorded reply. "turn", if given, must be the number of the turn, from 0.
// Rows with the same "job" are the turns of one job (datasets/job.h), and each conversation is an agent of
// it. "after" lists the ids of turns that must have ended besides the turn before, "delay_s" and "tool_s" are
// the pause and the time of tools before the turn, "fork_of" is the id of the turn whose history an agent's
// first turn inherits, "background" marks turns that nobody waits for, and "whole_prompt" turns without a
// history.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// The format of "custom:path=FILE[,osl=128][,unit=ms]"; osl is for lines without "output_tokens", and unit
/// (s or ms) that of times under "timestamp". Without it, they are milliseconds, or seconds if some have
/// fractions and all lie within 1,000. Throws RuntimeError when the file cannot be read, UsageError naming a
/// wrong line, or if no line needs osl.
RowFormat custom_format(const Spec& spec);
std::unique_ptr<Dataset> make_custom_jsonl(const DatasetOptions& options);

/// The format of "turns:path=FILE[,osl=128][,unit=ms]": the same rows with lengths of whole prompts
/// ("input_tokens") in place of texts. Equal first "hash_ids" mean equal starts, of "block_tokens" tokens
/// each, with "hash_scope": "job" only within a job. `paretoken dataset convert` writes such rows.
RowFormat turns_format(const Spec& spec);
std::unique_ptr<Dataset> make_turns(const DatasetOptions& options);

/// Returns a row of a file with other names, or of a table below `header`, as JSON with our names.
using RenamedRow =
    std::function<std::string(std::string_view text, const std::string& header, const RowPlace& place)>;

/// Returns whether the file's times under "timestamp" are seconds though no unit is stated: some have
/// fractions, and as milliseconds all would lie within a second. If so, the format notes it. `renamed` is
/// empty for a file with our names.
bool note_if_seconds(const std::string& path, RowFormat& format, const RenamedRow& renamed = {});

}  // namespace paretoken::datasets
