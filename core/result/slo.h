#pragma once
// Service level objectives: limits on per-request metrics, e.g. "ttft:500 tpot:15" (in milliseconds, as in
// other tools). A request is good if it succeeded and met every limit; an undefined metric passes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/record/record.h"
#include "core/result/result.h"

namespace paretoken {

struct Slo {
    std::string tag;   ///< tag of a per-request metric of core/result/metrics.h
    double limit = 0;  ///< in the metric's unit
    std::optional<double> p =
        {};  ///< percentile of the limit, one of kPercentiles; nothing for a limit on each request

    bool operator==(const Slo&) const = default;
};

/// Splits a text into its limits, which have spaces or commas between them: "ttft_p95:800 tpot:15".
std::vector<std::string> slo_texts_in(std::string_view text);

/// Returns one or several limits, split by slo_texts_in(), as texts for parse_slo(). A preset
/// ("@chat",
/// "@mlperf:llama2-70b", "@mlperf:llama2-70b:interactive") is replaced by its limits. Throws
/// UsageError naming the known presets, and as parse_slo() does.
std::vector<std::string> slo_texts(std::string_view text);

/// The percentile of a limit that names none.
inline constexpr double kSloPercentile = 0.9;

/// The percentiles that a limit may have: those that every result holds, or any that can be folded from the
/// requests of a run.
enum class SloPercentiles { held, any };

/// Reads "ttft:500" or, for a percentile, "ttft_p95:500", times in milliseconds, or with their own unit
/// ("ttft:0.5s"); other limits in the metric's unit
/// ("interactivity:35", at least). "e2el" is accepted for "e2e".
/// Throws UsageError on an unknown tag, naming the known ones.
Slo parse_slo(std::string_view text, SloPercentiles percentiles = SloPercentiles::held);

/// Reads a limit on each request like parse_slo(), but refuses a percentile, which needs many requests.
Slo parse_request_slo(std::string_view text);

std::string_view name_of(SloVerdict verdict);
std::optional<SloVerdict> slo_verdict_named(std::string_view name);

/// Judges a percentile. `limit` is in the metric's unit; a percentile that falls among failures meets none.
/// The verdict is insufficient if the window was not steady, and for pooled metrics, which have no limits.
SloVerdict verdict_on(const PercentileValue& percentile, double limit, bool higher_is_better);

/// Returns "ttft_p95", in the form of parse_slo().
std::string name_of(const Slo& slo);

/// The finding of one run about one SLO.
struct SloFinding {
    SloVerdict verdict = SloVerdict::insufficient;
    std::optional<double> value =
        {};  ///< value of the percentile; nothing when it falls among failures or was not measured
};
/// Judges the SLO's metric and percentile, in an open loop from the intended start. A metric
/// that was not measured gives an insufficient verdict.
SloFinding finding_on(const RunResult& result, const Slo& slo);

/// Returns the factor of requests that a run with an insufficient finding would probably need for a decision:
/// the distance that can be decided shrinks with the square root of their number.
/// Returns nothing when it is unknown: the limit was not measured, or the window was not steady.
std::optional<double> times_enough(const RunResult& result, const Slo& slo);

/// Returns the finding for each limit, by finding_on(), with its evidence. `over` is not counted.
std::vector<SloResult> slo_results(const RunResult& result, const std::vector<Slo>& slos);

/// Adds a request to `over` of each limit that it misses: by a failure, or a value over the limit.
/// Call it for the requests of the run's percentiles.
void count_over(std::vector<SloResult>& results, const std::vector<Slo>& slos, bool open_loop,
                const RequestRecord& request);

/// Returns "ttft_p95 is 812 ms: over the limit of 800 ms (14 of 120 requests are)", or what is missing to
/// decide.
std::string slo_text(const SloResult& result);

/// Returns fail when one limit is certainly missed, pass when all are certainly met. No limits: pass.
SloVerdict verdict_on_all(const std::vector<SloResult>& results);

/// The requests' own limits (RequestRecord::slo); each text is parsed once.
class RequestSlos {
  public:
    /// Returns the limits of a text, valid as long as this object. Throws as slo_texts() and
    /// parse_request_slo() do.
    const std::vector<Slo>& of(const std::string& text);

  private:
    std::unordered_map<std::string, std::vector<Slo>> read_;
};

/// Returns whether a request meets all SLOs. In an open loop "ttft" and "e2e" are judged from the scheduled
/// start (ttft_intended, e2e_intended).
bool is_good(const RequestRecord& record, const std::vector<Slo>& slos, bool open_loop);

}  // namespace paretoken
