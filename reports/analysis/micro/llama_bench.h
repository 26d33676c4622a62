#pragma once
// Reads results of llama-bench (-o json or jsonl) as rows that `paretoken micro compare` takes: a row for
// each test, timed once for each repetition. The function is pure.
#include <string>
#include <string_view>

#include "reports/analysis/micro/micro_rows.h"

namespace paretoken::reports {

bool is_llama_bench_result(std::string_view text);

/// The tests of a result as rows of one device. `where` is the file's name, for messages. Throws a UsageError
/// that names the file, the key and what was expected.
MicroFile llama_bench_rows(std::string_view text, const std::string& where);

}  // namespace paretoken::reports
