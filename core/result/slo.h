#pragma once
// Service level objectives: limits on per-request metrics, e.g. "ttft:500 tpot:15" (milliseconds, as users of
// other tools write them). A request is good when it succeeded and met every one; an undefined metric passes.
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
    std::string tag;   ///< a per-request metric of core/result/metrics.h
    double limit = 0;  ///< in the metric's unit
    std::optional<double> p =
        {};  ///< the percentile that the limit is for, one of kPercentiles; of a request: none

    bool operator==(const Slo&) const = default;
};

/// The limits in a text that may hold several, with spaces or commas between them: "ttft_p95:800 tpot:15".
std::vector<std::string> slo_texts_in(std::string_view text);

/// One or several limits as slo_texts_in() takes them apart, as texts that parse_slo takes; a preset
/// ("@chat",
/// "@mlperf:llama2-70b", "@mlperf:llama2-70b:interactive") stands for the limits that it holds. Throws
/// UsageError naming the presets that there are, and as parse_slo does.
std::vector<std::string> slo_texts(std::string_view text);

/// The percentile that a limit is for when none is said.
inline constexpr double kSloPercentile = 0.9;

/// Which percentiles a limit may be for: those that every result holds, or any that can be folded from the
/// requests of a run.
enum class SloPercentiles { held, any };

/// "ttft:500" or, for a percentile, "ttft_p95:500", times in milliseconds, or with a unit of their own
/// ("ttft:0.5s"); other limits in the metric's unit
/// ("interactivity:35", at least). "e2el" is accepted for "e2e".
/// Throws UsageError on an unknown tag, naming the known ones.
Slo parse_slo(std::string_view text, SloPercentiles percentiles = SloPercentiles::held);

/// A limit on each request: as parse_slo, and a percentile is refused too, because it is of many requests.
Slo parse_request_slo(std::string_view text);

std::string_view name_of(SloVerdict verdict);
std::optional<SloVerdict> slo_verdict_named(std::string_view name);

/// `limit` is in the metric's unit; a percentile that falls among failures meets none. Insufficient where the
/// window was not steady, and for pooled metrics, which no limit is set on.
SloVerdict verdict_on(const PercentileValue& percentile, double limit, bool higher_is_better);

/// "ttft_p95", as parse_slo takes it.
std::string name_of(const Slo& slo);

/// The finding of one run about one SLO.
struct SloFinding {
    SloVerdict verdict = SloVerdict::insufficient;
    std::optional<double> value =
        {};  ///< of the percentile; nothing when it falls among failures or was not measured
};
/// The metric and percentile that the SLO is for; in an open loop counted from the intended start. A metric
/// that was not measured decides nothing.
SloFinding finding_on(const RunResult& result, const Slo& slo);

/// How many times its requests a run would probably need so that finding_on() passes or fails, where it is
/// insufficient: the distance from the percentile to the limit shrinks with the square root of their number.
/// Nothing when no number is known to: the limit was not measured, or the window was not steady.
std::optional<double> times_enough(const RunResult& result, const Slo& slo);

/// The finding about each limit, by finding_on(), with the evidence behind it. `over` is not counted.
std::vector<SloResult> slo_results(const RunResult& result, const std::vector<Slo>& slos);

/// Counts for each limit the records among `requests` that miss it: failures, and values over the limit.
/// `requests` are those that the run's percentiles are of.
void count_over(std::vector<SloResult>& results, const std::vector<Slo>& slos, bool open_loop,
                const RequestRecord& request);

/// "ttft_p95 is 812 ms: over the limit of 800 ms (14 of 120 requests are)", or what is missing to decide.
std::string slo_text(const SloResult& result);

/// Fail when one limit is certainly missed, pass when all are certainly met. No limits: pass.
SloVerdict verdict_on_all(const std::vector<SloResult>& results);

/// The limits that requests have of their own (RequestRecord::slo), each text taken apart once.
class RequestSlos {
  public:
    /// Throws UsageError as slo_texts() and parse_request_slo(). Valid as long as this object.
    const std::vector<Slo>& of(const std::string& text);

  private:
    std::unordered_map<std::string, std::vector<Slo>> read_;
};

/// In an open loop "ttft" and "e2e" are judged from the scheduled start (ttft_intended, e2e_intended).
bool is_good(const RequestRecord& record, const std::vector<Slo>& slos, bool open_loop);

}  // namespace paretoken
