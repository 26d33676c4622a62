#include "reports/analysis/model/join/what_ifs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cards/deployment.h"
#include "cards/fit.h"
#include "cards/gpu.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/result/overload.h"
#include "core/result/result.h"
#include "core/text/letter_case.h"
#include "reports/analysis/model/join/figures_of_run.h"
#include "reports/analysis/model/join/pricing.h"
#include "reports/analysis/model/join/run_limits.h"
#include "reports/analysis/model/join/served.h"
#include "reports/analysis/model/limit.h"
#include "reports/analysis/model/report_model.h"
#include "reports/document/table.h"

namespace paretoken::reports {

namespace {

/// The imagined deployment of an estimate: its hardware, and the model in its number formats.
struct Elsewhere {
    cards::ModelCard model;
    std::optional<cards::GpuCard> gpu;
    std::uint32_t count = 1;
    bool other_hardware = false;
};

std::string title_of(const Elsewhere& there, const std::string& hardware_here, const WhatIfSpec& spec) {
    const std::string& format = there.model.weight_dtype;
    std::string text = there.model.name;
    if (lower_case(text).find(format) == std::string::npos) text += " " + format;
    text += fmt::format(", KV {}, on ", there.model.kv_dtype);
    if (!there.gpu)
        text += hardware_here;
    else
        text += there.count > 1 ? fmt::format("{} × {}", there.count, there.gpu->title) : there.gpu->title;
    return spec.hit ? fmt::format("{}, {} % of input cached", text, significant(*spec.hit * 100)) : text;
}

/// The limits of the measured and of the imagined deployment: by datasheet if the hardware is another or was
/// simulated, else from measurements. Throws a UsageError that says what is missing.
WhatIfLimits what_if_limits(const Joined& from, const Elsewhere& there, const cards::ModelCard& model_here,
                            const std::optional<cards::GpuCard>& gpu_here, std::uint32_t count_here) {
    const bool by_datasheet = there.other_hardware || from.served.simulated;
    if (by_datasheet && !there.gpu)
        throw UsageError("tp is a number of GPUs, but no GPU is known here; add gpu=NAME");
    WhatIfLimits limits;
    if (by_datasheet && gpu_here)
        limits.here =
            limit_inputs(model_here, hardware_of_datasheet(*gpu_here, count_here, model_here.weight_dtype));
    else if (from.limit && !from.served.simulated)
        limits.here = *from.limit;
    else
        throw UsageError("the limit of the hardware that served is not known");
    const HardwareTerms terms = by_datasheet
                                    ? hardware_of_datasheet(*there.gpu, there.count, there.model.weight_dtype)
                                    : hardware_terms_of(from.served, there.model);
    if (terms.memory_bytes && !cards::kv_pool_bytes(there.model, terms.memory_bytes->value * terms.ranks))
        throw UsageError(
            fmt::format("the weights ({} GB) do not fit the memory of {}",
                        significant(static_cast<double>(there.model.resident_weight_bytes) / 1e9),
                        there.gpu ? there.gpu->title : from.configuration.hardware));
    limits.there = limit_inputs(there.model, terms);
    if (from.limit)
        for (LimitInputs* inputs : {&limits.here, &limits.there}) {  // the server's settings stay
            inputs->drafts = from.limit->drafts;
            inputs->tokens_per_pass = from.limit->tokens_per_pass;
            inputs->max_sequences = from.limit->max_sequences;
        }
    return limits;
}

std::optional<double> usd_per_s_of(const Joined& from, const Elsewhere& there, const JoinOptions& options) {
    if (!there.other_hardware) return from.price ? std::optional(from.price->usd_per_s) : std::nullopt;
    Served served;
    served.priced = cards::PricedHardware{there.gpu->name, there.count, {}};
    const auto price = applied_price(served, options);
    return price ? std::optional(price->usd_per_s) : std::nullopt;
}

std::vector<MeasuredLoad> loads_of(const Configuration& configuration) {
    std::vector<MeasuredLoad> loads;
    for (std::size_t i = 0; i < configuration.points.size(); ++i) {
        const ReportPoint& point = configuration.points[i];
        const auto batch = batch_of(point.result);
        if (!batch || !point.reached || point.result.validity.verdict == Verdict::invalid) continue;
        // The rate that was asked for is that of jobs and conversations, whose requests are not known.
        const bool has_turns = point.result.jobs || point.result.turns.size() > 1;
        if (point.open_loop && has_turns && !kept_up(point.result)) continue;
        MeasuredLoad load{.point = i,
                          .work = work_of(point.result),
                          .batch = *batch,
                          .pauses = pausing_of(point.result),
                          .kept_up = kept_up(point.result)};
        // The wanted rate counts a conversation once, and a short window sees more or fewer arrivals.
        if (point.open_loop) load.arrivals_per_s = point.result.throughput.at(figure::kRequests);
        if (point.open_loop && !load.kept_up)
            load.arrivals_per_s = std::max(point.load, load.arrivals_per_s.value_or(0));
        loads.push_back(load);
    }
    return loads;
}

/// The GPU that a simulated server imitates: by its name, or by its profile, "sim:MODEL/GPU?SETTINGS".
std::optional<cards::GpuCard> simulated_gpu(const std::string& hardware) {
    if (auto card = cards::find_gpu(hardware)) return card;
    const std::size_t slash = hardware.rfind('/', hardware.find('?'));
    if (slash == std::string::npos) return std::nullopt;
    const std::string gpu = hardware.substr(slash + 1, hardware.find('?') - slash - 1);
    return cards::find_gpu(cards::parse_gpu_spec(gpu).name);
}

}  // namespace

WhatIf what_if_of(const Joined& from, std::size_t index, const WhatIfSpec& spec, const JoinOptions& options) {
    WhatIf out{.asked = spec.text, .configuration = index, .title = {}};
    try {
        if (from.card_spec.empty()) throw UsageError("no model card is known: --model-card CARD gives one");
        const cards::ModelCard model_here = options.card_of(from.card_spec, {});
        const Provenance& provenance = from.configuration.points.front().result.provenance;
        const auto gpu_here =
            from.served.simulated ? simulated_gpu(provenance.hardware) : from.served.datasheet;
        const std::uint32_t count_here = from.served.simulated
                                             ? std::max<std::uint32_t>(1, provenance.hardware_count)
                                         : from.served.priced ? from.served.priced->count
                                                              : 1;
        Elsewhere there{
            .model = options.card_of(from.card_spec, {.weight_dtype = spec.weights, .kv_dtype = spec.kv}),
            .gpu = spec.gpu ? std::optional(cards::gpu_card(*spec.gpu)) : gpu_here,
            .count = spec.tp.value_or(spec.gpu ? 1 : count_here),
            .other_hardware = spec.gpu.has_value() || spec.tp.has_value()};
        if (spec.tp) cards::fit_of(there.model, {.tensor_parallel = *spec.tp});  // refuses uneven parts
        WhatIfLimits limits = what_if_limits(from, there, model_here, gpu_here, count_here);
        limits.usd_per_s = usd_per_s_of(from, there, options);
        limits.hit = spec.hit;
        out.title = title_of(there, from.configuration.hardware, spec);
        out.gpus = there.count;
        std::vector<MeasuredLoad> loads = loads_of(from.configuration);
        if (options.simulated_rate && gpu_here && there.gpu)
            for (MeasuredLoad& load : loads)
                load.simulated_change = simulated_change(load,
                                                         {.model = model_here,
                                                          .gpu = *gpu_here,
                                                          .gpus = count_here,
                                                          .max_sequences = limits.here.max_sequences},
                                                         {.model = there.model,
                                                          .gpu = *there.gpu,
                                                          .gpus = there.count,
                                                          .max_sequences = limits.there.max_sequences},
                                                         spec.hit, options.simulated_rate);
        out.points = estimates_of(from.configuration, loads, limits);
        if (out.points.empty())
            out.why_not = !loads.empty() && loads.front().arrivals_per_s
                              ? "only a simulated server says whether it would keep up with the arrivals"
                              : "no valid run has a limit in both deployments";
    } catch (const UsageError& error) {
        out.why_not = error.what();
    }
    return out;
}

}  // namespace paretoken::reports
