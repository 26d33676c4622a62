#pragma once
// The fields of a JSON row that state a turn's part in a job: "job", "conversation", "id", "after",
// "delay_s", "tool_s", "fork_of", "background" and "whole_prompt".
#include <string_view>

#include "datasets/files/json_row.h"

namespace paretoken::datasets {

struct Row;

/// Reads these fields into `row`. Throws UsageError by place.refuse() for a value of a wrong type or range.
void read_job_fields(const simdjson::dom::element& object, Row& row, const RowPlace& place);

/// Returns whether `name` is one of these fields, and has an effect in this row.
bool is_job_field(std::string_view name, const Row& row);

}  // namespace paretoken::datasets
