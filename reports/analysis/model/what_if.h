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
    double in_flight = 1;
    double input_tokens = 0;  ///< of a request
    double output_tokens = 0;
    double hit = 0;  ///< share of the input tokens from a cache
};
/// Returns the output tokens per second of a simulated server; nothing if it cannot be simulated.
using SimulatedRate = std::function<std::optional<double>(const SimulatedLoad&)>;

struct MeasuredLoad {
    std::size_t point = 0;  ///< index of the run in its configuration
    Totals work;            ///< sums over the requests of its measured window
    double batch = 0;       ///< mean number of requests in flight
    /// Rate of a simulated server of the imagined deployment ÷ that of one of the measured deployment.
    std::optional<double> simulated_change = {};
};

/// The requests of a load for simulated servers of the measured and of the imagined deployment. Returns the
/// change of their rates; nothing if one cannot be simulated or the lengths of the requests are not known.
std::optional<double> simulated_change(const MeasuredLoad& load, SimulatedLoad here, SimulatedLoad there,
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
/// is known and at most the hard limit. Without it, a run above its limit counts as a run at it. The tokens/s
/// per user are assumed to change by the same factor as the output tokens/s.
std::vector<Estimate> estimates_of(const Configuration& configuration, const std::vector<MeasuredLoad>& loads,
                                   const WhatIfLimits& limits);

/// The estimate with the most output tokens/s as a text, or the reason why there is no estimate.
std::string what_if_sentence(const ReportModel& model, const WhatIf& what_if);

}  // namespace paretoken::reports
