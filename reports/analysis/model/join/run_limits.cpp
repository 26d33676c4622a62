#include "reports/analysis/model/join/run_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/model/join/figures_of_run.h"

namespace paretoken::reports {

const cards::ModelCard* model_of(const std::vector<LoadedRun>& runs, const JoinOptions& options) {
    const cards::ModelCard* model = selected_card(runs.front(), options.models);
    for (const LoadedRun& run : runs)
        if (selected_card(run, options.models) != model)
            throw UsageError(
                fmt::format("--model-card: the runs in {} and {} are points of one curve and have different "
                            "cards; --group-by the label that tells them apart",
                            runs.front().directory, run.directory));
    if (model != nullptr || !runs.front().result.provenance.model_card) return model;
    const auto known = options.known_models.find(runs.front().result.provenance.model_card->hash);
    return known == options.known_models.end() ? nullptr : &known->second;
}

namespace {

std::string why_no_model(const Provenance& provenance) {
    if (provenance.model_card)
        return fmt::format(
            "no hardware limit: the model card {} that the run names is not here, or has "
            "changed since; --model-card MODEL gives one",
            provenance.model_card->spec);
    return "no hardware limit: --model-card MODEL says how many bytes a token takes";
}

}  // namespace

HardwareTerms hardware_terms_of(const Served& served, const cards::ModelCard& model) {
    HardwareTerms terms;
    const std::uint32_t count = served.priced ? served.priced->count : 1;
    if (served.datasheet) terms = hardware_of_datasheet(*served.datasheet, count, model.weight_dtype);
    if (!served.micro.empty())
        terms = overlaid(hardware_of_micro(bounding_result(served.micro, count), model, count), terms);
    return terms;
}

std::optional<LimitInputs> limit_of(const Served& served, const RunResult& result,
                                    const cards::ModelCard* model, std::vector<std::string>& missing) {
    if (served.simulated) {
        if (result.targets.size() > 1) {
            missing.push_back(fmt::format(
                "no hardware limit: the load went to {} simulated servers, and the limit of one is known",
                result.targets.size()));
            return {};
        }
        LimitInputs inputs = limit_inputs_of_simulator(result.provenance.simulator);
        if (limits_anything(inputs)) return inputs;
        missing.emplace_back("no hardware limit: the simulator's profile has no times of its own");
        return {};
    }
    if (model == nullptr) {
        missing.push_back(why_no_model(result.provenance));
        return {};
    }
    LimitInputs inputs = limit_inputs(*model, hardware_terms_of(served, *model));
    if (limits_anything(inputs)) return inputs;
    missing.push_back(
        fmt::format("no hardware limit: --micro micro.json measured on {}, or --gpu NAME for a datasheet",
                    served.hardware.empty() ? "the serving hardware" : served.hardware));
    return {};
}

void mention_other_micro(const Served& served, const JoinOptions& options,
                         std::vector<std::string>& missing) {
    if (served.simulated || options.micro.empty()) return;
    if (!served.micro.empty()) {
        if (std::string spread = spread_of(served.micro); !spread.empty())
            missing.push_back(std::move(spread));
        return;
    }
    if (!options.micro_note.empty()) return;  // the user did not ask for these results
    std::vector<std::string> names;
    for (const MicroResults& micro : options.micro)
        if (std::ranges::find(names, micro.device.name) == names.end()) names.push_back(micro.device.name);
    missing.push_back(fmt::format("--micro was measured on {}, not on {}: not used here",
                                  fmt::join(names, ", "),
                                  served.hardware.empty() ? "the serving hardware" : served.hardware));
}

void price_curve(std::vector<LimitPoint>& curve, const std::optional<AppliedPrice>& price) {
    if (!price) return;
    for (LimitPoint& point : curve)
        point.usd_per_m_output = usd_per_m_output(price->least_usd_per_s, point.output_tokens_per_s);
}

void hold_against_limit(ReportPoint& point, const LimitInputs& inputs) {
    const auto batch = batch_of(point.result);
    if (!batch) return;
    const auto limit = limit_at(inputs, LimitKind::hard, work_of(point.result), *batch);
    if (!limit) return;
    point.limit_output_tokens_per_s = limit->output_tokens_per_s;
    point.limit_interactivity = limit->interactivity;
    if (point.output_tokens_per_s) point.of_limit = *point.output_tokens_per_s / limit->output_tokens_per_s;
    point.limit_tolerance = edge_tolerance(point.result.totals);
}

}  // namespace paretoken::reports
