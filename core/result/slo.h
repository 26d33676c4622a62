#pragma once
// Limits on metrics of requests, e.g. "ttft:500 tpot:15" (in milliseconds). A request is good if it succeeded
// and met every limit; a metric for which it has no value counts as met.
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/record/fact.h"
#include "core/record/record.h"
#include "core/result/result.h"

namespace paretoken {

struct Slo {
    std::string tag;   ///< tag of a per-request metric of core/result/metrics.h
    double limit = 0;  ///< in the metric's unit
    /// The level of the limited percentile (.95 for p95). If it is absent, the limit applies to each request.
    /// Functions that judge percentiles then use the level kSloPercentile.
    std::optional<double> p = {};

    bool operator==(const Slo&) const = default;
};

/// Splits a text into its limits, which have blanks or commas between them: "ttft_p95:800 tpot:15".
std::vector<std::string> slo_texts_in(std::string_view text);

/// Splits a text by slo_texts_in() and replaces presets ("@chat", "@mlperf:llama2-70b") by their limits.
/// Throws UsageError for an unknown preset, with the known ones, and for a text that parse_slo() refuses.
std::vector<std::string> slo_texts(std::string_view text);

inline constexpr double kSloPercentile = 0.9;

/// The percentiles that a limit may have: those of every result (kPercentiles), or any from p10 to p99.9999.
enum class SloPercentiles { held, any };

/// Reads "ttft:500" or "ttft_p95:500"; "<" (or ">" if higher is better) may replace the colon. Times without
/// a unit are in milliseconds; "e2el" means "e2e", "job" "job_time". Throws UsageError, also for an unknown
/// tag, a pooled metric, or an excluded percentile.
Slo parse_slo(std::string_view text, SloPercentiles percentiles = SloPercentiles::held);
std::vector<Slo> parse_slos(const std::vector<std::string>& texts);

/// Reads a limit on each request or job like parse_slo(), but refuses percentiles.
Slo parse_goodput_slo(std::string_view text);

/// The same for a limit of one request, so that a limit on jobs is refused too.
Slo parse_request_slo(std::string_view text);

std::string_view name_of(SloVerdict verdict);
std::optional<SloVerdict> slo_verdict_named(std::string_view name);

/// Returns whether a percentile is shown at 99 % to meet a limit (true) or to miss it (false), else nothing.
std::optional<bool> shown_on(const PercentileValue& percentile, double limit, bool higher_is_better);

/// Returns a limit's name without its value: "ttft_p95"; one without a percentile has kSloPercentile.
std::string name_of(const Slo& slo);

Facts needs_of(const std::vector<Slo>& slos, bool open_loop);

struct SloFinding {
    SloVerdict verdict = SloVerdict::insufficient;
    bool shown = false;  ///< whether `met` or `missed` is shown at 99 %
    /// The percentile's value; nothing when it falls among failures or was not measured.
    std::optional<double> value = {};
};
/// Judges the percentile of an SLO (docs/statistics.md). In an open loop "ttft" and "e2e" count from the
/// intended start. `within` needs at least 20 requests, and as many as are in flight.
SloFinding finding_on(const RunResult& result, const Slo& slo);

/// Returns how many times as many independent values certify the percentile, at their present number: that of
/// its effective sample, or of the rounds of a closed loop if these are more. Nothing if the effective sample
/// is unknown or 0.
std::optional<double> times_to_certify(const RunResult& result, const MetricSummary& summary,
                                       const PercentileValue& held);

/// Returns the factor by which the number of requests must probably grow until a finding is shown. Returns
/// nothing if the result lacks the metric or the percentile.
std::optional<double> times_enough(const RunResult& result, const Slo& slo);

/// Returns the factor to offer for one limit: 2.4 times its times_enough, with which only about half of all
/// runs decide, and at least 4; or 1.2 times if no request is over the limit. Nothing if the limit is shown
/// already, or the factor is not known.
std::optional<double> times_to_offer(const SloResult& slo);

/// Returns one result per limit, with the finding of finding_on() and times_enough(), which is left out if
/// the load of an open loop is close to what the server can serve. `over` is 0; count_over() sets it. Results
/// of metrics that need one of the `unknown` facts have a note.
std::vector<SloResult> slo_results(const RunResult& result, const std::vector<Slo>& slos, Facts unknown = {});

/// Adds 1 to SloResult::over of each limit without a note that a request of the window misses, also by
/// failing. `results` are those of slo_results() for `slos`. An abandoned request is not counted.
void count_over(std::vector<SloResult>& results, const std::vector<Slo>& slos, bool open_loop,
                const RequestRecord& request);

/// Returns "14 of 120 requests miss it, the worst is at 131 % of it": "it" is the limit.
std::string over_text(const SloResult& result);

/// Returns a sentence such as "ttft_p95 is 812 ms: misses the limit of 800 ms (14 of 120 requests miss it,
/// …)", which says what is not shown at 99 %. `run` is the run of the result.
std::string slo_text(const RunResult& run, const SloResult& result);

/// Returns the verdict on limits together: missed, insufficient or within if one is, else met.
SloVerdict worst_of(SloVerdict a, SloVerdict b);
SloVerdict verdict_on_all(const std::vector<SloResult>& results);

/// The requests' own limits (RequestRecord::slo); each text is parsed once.
class RequestSlos {
  public:
    /// Returns the limits of a text, valid as long as this object. Throws as slo_texts() and
    /// parse_request_slo() do, and therefore for every preset, because each has a limit on a percentile.
    const std::vector<Slo>& of(const std::string& text);

  private:
    std::unordered_map<std::string, std::vector<Slo>> read_;
};

/// Returns whether a request meets all SLOs. In an open loop "ttft" and "e2e" count from the scheduled start.
bool is_good(const RequestRecord& record, const std::vector<Slo>& slos, bool open_loop);

}  // namespace paretoken
