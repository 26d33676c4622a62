#pragma once
// Estimates runs on other hardware, in other formats or with another cache hit rate: the measured rate × the
// ratio of the rates of two simulated servers, or the hard limit of the imagined deployment × the share of
// the limit that the runs reached. Estimates are on no front.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/gpu.h"
#include "cards/model.h"
#include "core/result/totals.h"
#include "reports/analysis/model/limit.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The changes of an imagined deployment; fields that are absent stay as they were measured.
struct WhatIfSpec {
    std::string text;                         ///< text as the user wrote it
    std::optional<std::string> gpu = {};      ///< name of a GPU card
    std::optional<std::uint32_t> tp = {};     ///< GPUs that the model is spread over
    std::optional<std::string> weights = {};  ///< number format of the weights
    std::optional<std::string> kv = {};       ///< number format of the KV cache
    std::optional<double> hit = {};           ///< share of input tokens from a cache

    bool operator==(const WhatIfSpec&) const = default;
};

/// Parses "gpu=h100-sxm,weights=fp8,kv=fp8,tp=2,hit=.9"; "gpu=NAMExN" sets `tp` too. Throws a UsageError that
/// names the text and what is wrong, such as a repeated key.
WhatIfSpec parse_what_if(std::string_view text);

/// The same work with the share `hit` of its input tokens from a cache, so that these are not computed.
Totals with_hit(Totals work, double hit);

/// A deployment and a load for a simulated server.
struct SimulatedLoad {
    cards::ModelCard model = {};
    cards::GpuCard gpu = {};
    std::uint32_t gpus = 1;
    std::optional<double> max_sequences = {};  ///< most sequences of a step; absent: the engine's default
    double in_flight = 1;                      ///< of a closed loop, with those that pause
    double pause_s = 0;                        ///< pause of each of them after a request
    /// Requests per second of an open loop, at random times; absent means a closed loop.
    std::optional<double> arrivals_per_s = {};
    double input_tokens = 0;  ///< of a request
    double output_tokens = 0;
    double hit = 0;  ///< share of the input tokens from a cache
};
/// What a simulated server does under a load.
struct SimulatedSpeed {
    double output_tokens_per_s = 0;
    double in_flight = 0;                      ///< mean number of requests in flight
    std::optional<double> interactivity = {};  ///< as ReportPoint::interactivity
    bool keeps_up = true;                      ///< whether it keeps up with the arrivals of an open loop
};
/// Returns what a simulated server does; nothing if it cannot be simulated.
using SimulatedRate = std::function<std::optional<SimulatedSpeed>(const SimulatedLoad&)>;

/// How a load changes from the measured to the imagined deployment, as factors.
struct LoadChange {
    double rate = 1;                           ///< of the output tokens/s
    double in_flight = 1;                      ///< of the requests in flight
    std::optional<double> interactivity = {};  ///< of the tokens/s per user; absent if it is not known
    bool keeps_up = true;                      ///< SimulatedSpeed::keeps_up, of the imagined deployment
};

struct MeasuredLoad {
    std::size_t point = 0;  ///< index of the run in its configuration
    Totals work;            ///< sums over the requests of its measured window
    double batch = 0;       ///< mean number of requests in flight
    double pauses = 0;      ///< pausing_of() (join/figures_of_run.h)
    /// Requests per second that arrived in an open loop; absent for a closed loop.
    std::optional<double> arrivals_per_s = {};
    bool kept_up = true;  ///< whether the server kept up with these arrivals
    /// From a simulated server of the measured deployment to one of the imagined deployment.
    std::optional<LoadChange> simulated_change = {};
};

/// Makes a load for simulated servers of the measured and of the imagined deployment: arrivals that the
/// measured server kept up with, else as many requests in flight. Returns the change between them; nothing if
/// one cannot be simulated or the lengths of the requests are not known.
std::optional<LoadChange> simulated_change(const MeasuredLoad& load, SimulatedLoad here, SimulatedLoad there,
                                           std::optional<double> hit, const SimulatedRate& rate);

/// The limits of the measured and of the imagined deployment, and the cost of the imagined one.
struct WhatIfLimits {
    LimitInputs here;                      ///< limit of the measured deployment
    LimitInputs there;                     ///< limit of the imagined deployment
    std::optional<double> usd_per_s = {};  ///< cost of the imagined deployment
    std::optional<double> hit =
        {};  ///< imagined share of input tokens from a cache; absent means as measured
};

/// The estimates for those of `loads` that have a limit in both deployments, by their simulated change if it
/// is known and at most the hard limit. Without it, a run above its limit counts as a run at it; arrivals
/// that the measured server kept up with have an estimate only if the limits say that as many in flight go
/// faster.
std::vector<Estimate> estimates_of(const Configuration& configuration, const std::vector<MeasuredLoad>& loads,
                                   const WhatIfLimits& limits);

/// What is to be said of an estimate: that the imagined deployment does not keep up with the arrivals, or
/// that the measured run misses a limit of the report. Empty if there is nothing.
std::string note_on(const Estimate& estimate, const ReportModel& model, const WhatIf& what_if);

/// The estimate for the load that the answer is about (answer_point(), answer.h), else the one with the most
/// output tokens/s, as a text; or the reason why there is no estimate.
std::string what_if_sentence(const ReportModel& model, const WhatIf& what_if);

}  // namespace paretoken::reports
