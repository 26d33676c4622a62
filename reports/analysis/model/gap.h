#pragma once
// Splits the measured time of a step into parts, in milliseconds and dollars: the hardware limit at the run's
// load, then the time that each cause of lost time adds, in a fixed order, and a residual, which may be
// negative. A part for which nothing was measured has no time. A pass is one forward pass of one sequence; a
// step is one pass of every request in flight and takes (requests in flight × tokens per pass ÷ output tokens
// per second) seconds.
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "reports/analysis/model/limit.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The name of the part that prompts add.
inline constexpr std::string_view kPrefillPart = "prefill interference";
inline constexpr std::string_view kBatchPart = "batch shortfall";
/// The name of the last part, the time that no other part explains.
inline constexpr std::string_view kResidualPart = "residual";

struct GapInputs {
    /// Inputs of the hardware limit from the datasheet alone; equal to `measured` if there is no datasheet.
    LimitInputs datasheet;
    /// Inputs from the bandwidths that `paretoken micro` measured; equal to `datasheet` if there are none.
    /// For a simulated server they come from its profile.
    LimitInputs measured;
    /// For a simulated server, the quantities of its profile by name (Provenance::simulator). The parts of
    /// the waterfall are then computed from them. Empty for a real server.
    std::map<std::string, double> simulator = {};
    std::optional<double> communication_s_per_step = {};  ///< time of communication between GPUs
    std::string communication_source = {};                ///< source of this time, in words
    std::optional<double> overhead_s_per_step = {};       ///< time of a step besides its kernels
    std::string overhead_source = {};                     ///< source of this time, in words
    bool on_cpu = false;  ///< whether a CPU serves, for which other remedies are named than for a GPU
};

struct GapRun {
    Totals work;           ///< sums over the requests of the measured window
    double in_flight = 0;  ///< mean number of requests in flight
    double output_tokens_per_s = 0;
    bool closed_loop = true;
    /// Whether as many requests are in flight if answers take less time: not if others set when they are
    /// sent, as the arrivals of an open loop or the tools of agents do.
    bool keeps_in_flight = true;
    std::optional<double> running = {};  ///< mean number of sequences that the server worked on at once
    /// Whether the server's metrics were read, so that only too few readings can be why `running` is absent.
    bool reads_metrics = false;
    std::optional<double> kv_usage = {};  ///< most of the KV cache that was in use, as a share
    std::optional<double> slots = {};  ///< most sequences that the server works on at once, by its settings
    /// Measured seconds of the window in which the server computed at least one prompt. If it is absent, the
    /// part of the prompts is estimated from the limit's arithmetic.
    std::optional<double> prefill_s = {};
    std::string prefill_source = {};  ///< source of this time, in words
    /// A clause about the cached part of the prompts, which is added to that source; may be empty.
    std::string cached_part = {};
    std::optional<double> tokens_per_pass = {};  ///< tokens per pass, from the server's counts of drafts
    std::optional<double> drafts = {};           ///< draft tokens that were checked per pass
    /// Requests that lost their KV cache and were computed again in the window, as counted by the server.
    std::optional<double> preemptions = {};
    std::optional<double> usd_per_m_output = {};
};

/// The waterfall of a run. Nothing without output tokens, requests in flight or a limit, and for a simulated
/// server whose answers take fixed times, because it has no steps.
std::optional<Gap> gap_of(const GapRun& run, const GapInputs& inputs);

/// A part below this share of a step has no remedy, because the step would hardly be shorter without it.
inline constexpr double kWorthFixing = 0.1;

/// The milliseconds of a part that it takes at least: if the parts add up to more than was measured, each of
/// them may be smaller by so much.
double certain_ms(const Gap& gap, const GapPart& part);

/// The largest part besides the limit; null if all are below kWorthFixing of the step.
const GapPart* first_to_fix(const Gap& gap);

/// Sentences about first_to_fix(): "batch shortfall: 4.1 ms of the 12.3 ms of a step; without it $0.41 →
/// $0.27 per million output tokens. What helps: …". A largest residual is explained first; without a part to
/// fix, the limit is most of the step. Empty for a gap without parts. The others are those of the GapRun.
std::string what_to_fix_first(const Gap& gap, bool reads_metrics = false, bool keeps_in_flight = true);

}  // namespace paretoken::reports
