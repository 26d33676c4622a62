#pragma once
// Registers rows with Google Benchmark: one iteration with manual time each, because rows sample themselves.
#include <string>
#include <utility>
#include <vector>

#include "microbench/rows.h"

namespace paretoken::microbench {

/// Returns the rows whose names contain a match of `filter`, a POSIX extended regular expression, or of none
/// if it begins with '-'. "" and "all" match every name. Throws UsageError if it is malformed.
std::vector<Row> matching(std::vector<Row> rows, const std::string& filter);

/// Registers rows. Every row whose check fails, or that throws anything but NotAvailable
/// (microbench/rows.h), adds 1 to `failed` when it runs; `failed` must outlive the run.
void register_rows(const std::vector<Row>& rows, std::size_t& failed);

/// Returns the content of a row's JSON object besides its name: finite numbers only.
std::vector<std::pair<std::string, double>> counters_of(const RowOutcome& outcome);

}  // namespace paretoken::microbench
