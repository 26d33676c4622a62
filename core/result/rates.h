#pragma once
// Functions that the summaries of a run share: judging by SLOs, dividing into blocks or seconds, and series.
#include <optional>
#include <span>
#include <vector>

#include "core/record/record.h"
#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/result/summary.h"
#include "core/result/totals.h"

namespace paretoken {

/// Judges a record by its own SLOs, else those of its class, else the run's. Not judged: without SLOs, with
/// one that needs an unknown fact, warm-ups, and requests that the end of the run or their user cut off.
Judgement judgement_of(const RequestRecord& record, const SummaryOptions& options, RequestSlos& request_slos);

/// Returns whether a record that is judged as bad may be good without the client's own delays.
bool may_be_good(const RequestRecord& record, const SummaryOptions& options, RequestSlos& request_slos);

/// Returns the number of equal blocks into which an interval is divided for confidence intervals: as many as
/// fit with at least 3 × `median_e2e_s` (seconds) each, at most 200; 0 when fewer than 10 fit.
std::size_t interval_blocks(TimeSpan span, double median_e2e_s);

/// The equal stretches of a run for which series have a value: seconds, or whole numbers of seconds in a run
/// of more than 100,000 s. A last one of less than 0.1 s is left out unless it is the only one.
struct Stretches {
    TimeSpan span;  ///< all of them; may end after the run
    std::size_t count = 0;
    double length_s = 1;

    /// Returns the part of stretch `i` that lies in a run of `run_s` seconds.
    double part_s(std::size_t i, double run_s) const;
};
/// Returns the stretches; nothing for a run without length.
std::optional<Stretches> stretches_of(TimeSpan run);

/// Returns series of one point per stretch of `run`, from the totals of stretches_of(run): the rates of
/// requests and output tokens, in_flight, failed requests, and ttft_p50_s.
std::vector<Series> series_of(const RequestTable& requests, TimeSpan run, std::span<const Totals> totals);

}  // namespace paretoken
