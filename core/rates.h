#pragma once
// What a server did in a stretch of time, from records: totals, figures with their intervals, and series per
// second.
#include <optional>
#include <span>
#include <vector>

#include "core/figures.h"
#include "core/record.h"
#include "core/result.h"
#include "core/summary.h"
#include "core/totals.h"

namespace paretoken {

/// How a record fares against the SLOs; warm-up and requests that the run's end cut off are not judged.
Judgement judgement_of(const RequestRecord& record, const SummaryOptions& options);

/// Totals of consecutive equal blocks of `span`, at least one.
std::vector<Totals> blocks_of(std::span<const RequestRecord> records, TimeSpan span, std::size_t count,
                              const SummaryOptions& options);

/// Totals within `span`; all zero when the span has no length.
Totals totals_of(std::span<const RequestRecord> records, TimeSpan span, const SummaryOptions& options);

/// How many blocks of at least 3 × `median_e2e_s` an interval is computed from: at most 200; 0 when fewer
/// than 10 fit.
std::size_t interval_blocks(TimeSpan span, double median_e2e_s);

/// Series of one point per second from the run's start: requests_per_s, output_tokens_per_s, in_flight,
/// failed, and ttft_p50_s for the seconds in which an answer began. Empty for a run without length.
std::vector<Series> series_of(std::span<const RequestRecord> records, TimeSpan run);

}  // namespace paretoken
