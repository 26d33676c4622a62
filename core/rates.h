#pragma once
// How much a server did in a stretch of time. Every token is credited to the moment it arrived, so a request
// that straddles an edge counts by its tokens and not as a whole. Tokens of failed requests earn nothing.
#include <optional>
#include <span>
#include <vector>

#include "core/record.h"
#include "core/result.h"
#include "core/summary.h"

namespace paretoken {

/// Amounts per equal bin of a stretch of time; what falls outside is dropped.
class Flow {
  public:
    Flow(TimeSpan span, std::size_t bins);

    void add(TimePoint at, double amount);
    void add_evenly(TimePoint from, TimePoint to,
                    double amount);  ///< at `to` when the two are the same moment

    const std::vector<double>& bins() const { return bins_; }
    double total() const;

  private:
    double bin_at(TimePoint at) const;  ///< fractional; below 0 or beyond the last outside

    TimeSpan span_;
    double bin_s_;
    std::vector<double> bins_;
};

/// Output tokens, by the time of their events. The total is output_tokens_of(record): tokens that usage
/// counts and no event carried (a stop token, hidden reasoning) are spread like those that were streamed.
/// Without events the first arrival is credited at its time and the rest evenly up to the last event.
void credit_output_tokens(const RequestRecord& record, Flow& flow);

/// Rates within `span`; nothing in it when the span has no length.
Throughput throughput_of(std::span<const RequestRecord> records, TimeSpan span,
                         const SummaryOptions& options);

/// 95 % interval of output tokens/s from means of blocks of at least 3 × `median_e2e_s`; nothing for fewer
/// than 10.
std::optional<Interval> output_rate_interval(std::span<const RequestRecord> records, TimeSpan span,
                                             double median_e2e_s);

/// One point per second from the run's start.
std::vector<SeriesPoint> series_of(std::span<const RequestRecord> records, TimeSpan run);

}  // namespace paretoken
