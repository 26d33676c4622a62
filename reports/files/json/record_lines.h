#pragma once
// Converts the lines of requests.jsonl, answers.jsonl and probe.jsonl to text and back. `where` is a file's
// name or "file:line", for UsageErrors, which also name the key. Unknown keys are ignored, unknown schemas
// refused. A number that is not finite is null, which is read as infinity, or as absent where a value may be.
#include <string>
#include <string_view>

#include "core/record/record.h"
#include "reports/analysis/gate/answers.h"

namespace paretoken::reports {

/// Appends a line of requests.jsonl without its newline: scalars that are not absent or empty, times in
/// seconds since `epoch`, and `trace_id` if the request carried one.
void append_record_line(std::string& out, const RequestRecord& record, TimePoint epoch,
                        const std::string& trace_id = {});

/// The request in a line of requests.jsonl. Times in the line are added to `epoch`.
RequestRecord parse_record_line(std::string_view line, TimePoint epoch, const std::string& where);

/// Appends one line of answers.jsonl without its newline: the request, and the text of its answer.
void append_answer_line(std::string& out, const RequestRecord& record);

KeptAnswer parse_answer_line(std::string_view line, const std::string& where);

/// Appends one line of probe.jsonl without its newline.
void append_probe_line(std::string& out, const ProbeAnswer& answer);
ProbeAnswer parse_probe_line(std::string_view line, const std::string& where);

}  // namespace paretoken::reports
