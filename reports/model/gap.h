#pragma once
// Where the time of a step goes: a waterfall from what the hardware could do to what was measured, in
// milliseconds per step and in dollars. Each part is what a model of the run takes longer when one more thing
// is added to it, in a fixed order; what nothing was measured for is unattributed, and what is left is the
// residual, so that the parts always sum to the measured step. Pure.
//
// A step is what every request in flight gets one pass from: requests in flight × tokens per pass ÷ output
// tokens per second.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model/limit.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// Name of the part that prompts cost.
inline constexpr std::string_view kPrefillPart = "prefill interference";

/// What the waterfall knows besides the limit.
struct GapInputs {
    LimitInputs datasheet;  ///< the hardware's limit without what was measured
    LimitInputs measured;   ///< the same with measured bandwidths; equal where nothing was measured
    /// A simulated server's own terms (Provenance::simulator), which give every part; empty for a real one.
    std::map<std::string, double> simulator = {};
    std::optional<double> communication_s_per_step = {};
    std::string communication_source = {};
    std::optional<double> overhead_s_per_step = {};
    std::string overhead_source = {};
};

/// Everything about the run that the waterfall reads.
struct GapRun {
    Totals work;
    double in_flight = 0;  ///< mean
    double output_tokens_per_s = 0;
    bool closed_loop = true;
    std::optional<double> running = {};  ///< mean number of sequences that the server worked on at once
    std::optional<double> tokens_per_pass = {};  ///< as the server counted its drafts
    std::optional<double> drafts = {};           ///< checked per pass
    /// Requests that lost their KV cache and were computed again, as the server counted them in the window.
    std::optional<double> preemptions = {};
    std::optional<double> usd_per_m_output = {};
};

/// Nothing without output tokens or a limit. A server of fixed times has no steps.
std::optional<Gap> gap_of(const GapRun& run, const GapInputs& inputs);

/// The largest part that something can be done about; null when the limit and the residual are all there is.
const GapPart* first_to_fix(const Gap& gap);

/// "batch shortfall: 4.1 ms of the 12.3 ms of a step; without it $0.41 → $0.27 per million output tokens"
std::string what_to_fix_first(const Gap& gap);

}  // namespace paretoken::reports
