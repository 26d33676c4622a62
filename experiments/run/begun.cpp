#include "experiments/run/begun.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cards/model.h"
#include "core/plan/plan_classes.h"
#include "core/plan/plan_fields.h"
#include "core/run/result_of.h"
#include "datasets/catalog.h"
#include "experiments/alerting.h"
#include "experiments/server/load.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/server/server_command.h"
#include "experiments/server/target.h"
#include "experiments/server/warm_cache.h"
#include "experiments/watcher.h"
#include "loadgen/probe/endpoint.h"
#include "loadgen/run.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

std::string length_source_of(const Target& target) {
    if (target.in_virtual_time()) return "exact";
    const loadgen::EndpointFacts& facts = target.facts();
    if (facts.prompt_form == datasets::PromptForm::token_ids) return "token ids";
    return facts.calibration ? facts.calibration->source : "uncalibrated";
}

std::string description_of(const Load& load) {
    if (load.datasets.size() == 1) return load.datasets.front()->description();
    std::string text;
    for (const loadgen::ClassLoad& of : load.options.classes)
        text += fmt::format("{}{} {}", text.empty() ? "" : "; ", of.name, of.dataset->description());
    return text;
}

std::string text_of(const Load& load, datasets::PromptForm form) {
    const auto& classes = load.plan.classes;
    const bool made_up = std::ranges::any_of(
        classes, [](const RequestClass& of) { return datasets::makes_prompts(of.dataset); });
    if (!made_up) return {};
    if (form == datasets::PromptForm::token_ids) return "random token ids";
    if (load.plan.text.empty()) return "random words";
    return fmt::format("{} ({})", fs::path(load.plan.text).filename().string(), load.plan.text_content);
}

Workload workload_of(const Load& load, const Target& target) {
    Workload w;
    w.fingerprint = workload_fingerprint(load.plan);
    w.dataset = description_of(load);
    w.endpoint = load.plan.endpoint_type;
    w.seed = load.plan.seed;
    w.salt = load.plan.salt;
    w.prompt_form = datasets::name_of(target.facts().prompt_form);
    w.length_source = length_source_of(target);
    w.text = text_of(load, target.facts().prompt_form);
    if (shares_nothing(load.plan)) w.cached_by_template = target.facts().cached_by_template;
    if (load.datasets.size() > 1) {                  // a mean over classes would depend on their rates
        std::map<std::string, std::string> classes;  // the first class by the content of its file
        for (const loadgen::ClassLoad& of : load.options.classes) {
            const auto openings = of.dataset->repeats_after();
            if (!openings) continue;
            w.class_repeats_after.emplace(of.name, *openings);
            if (const auto different = of.dataset->different_prompts())
                w.class_different_prompts.emplace(of.name, *different);
            const auto [first, is_new] = classes.emplace(of.dataset->content(), of.name);
            if (!is_new) w.class_prompts_of.emplace(of.name, first->second);
        }
        return w;
    }
    w.repeats_after = load.datasets.front()->repeats_after();
    w.different_prompts = load.datasets.front()->different_prompts();
    w.wanted_input_tokens = load.datasets.front()->mean_input_tokens();
    w.wanted_output_tokens = load.datasets.front()->mean_output_tokens();
    w.best_possible_cached_ratio = load.datasets.front()->best_possible_hit();
    return w;
}

bool judges(const PlanField& field) {
    return field.kind == FieldKind::judging;
}

LoadShape shape_of(const Load& load, const Target& target) {
    LoadShape shape = loadgen::shape_of(load.options);
    shape.virtual_time = target.in_virtual_time();
    shape.ignores_end = load.plan.sampling.ignore_eos;
    shape.routes_to_experts =
        !load.plan.model_card.empty() && cards::model_card(load.plan.model_card).moe.has_value();
    shape.targets = target.urls();
    return shape;
}

/// Returns what the results of a plan with classes are judged by.
Judging judging_by(const LoadPlan& plan, const Alerting& alerting) {
    Judging judging{.slos = plan.slos,
                    .accept_host_noise = !plan.host_noise.empty(),
                    .max_failed = plan.max_failed,
                    .alerts = alerting.rules,
                    .baseline = alerting.baseline,
                    .plan = echo_of(plan, judges)};
    if (plan.classes.size() == 1)
        judging.goodput = plan.classes.front().goodput;
    else
        for (const RequestClass& of : plan.classes) judging.class_goodput.emplace(of.name, of.goodput);
    return judging;
}

}  // namespace

Begun begun_of(const Load& load, const Target& target, const Invocation& invocation,
               const fs::path& directory) {
    Begun begun{.provenance = provenance_of(target, load.plan, invocation),
                .plan = echo_of(load.plan, [](const PlanField& field) { return !judges(field); }),
                .workload = workload_of(load, target),
                .shape = shape_of(load, target),
                .server_config = target.facts().server_config};
    if (load.options.shard.count > 1) begun.shard = load.options.shard;
    if (const CommandServer* const server = target.started_server()) {
        begun.provenance.server = server->start();
        begun.provenance.server->log = server->log().lexically_relative(directory).string();
    }
    redact(begun, target.secrets());
    if (load.options.shard.number == 0 && !target.in_virtual_time())
        begun.earlier_runs = earlier_runs_of(begun, load.plan, target.opened_at(), directory);
    return begun;
}

Judging judging_of(const LoadPlan& plan, const Workload& workload, Watcher& watcher) {
    const Alerting alerting = alerting_of(plan);
    if (const std::string doubt = baseline_doubt(alerting, workload); !doubt.empty()) watcher.warn(doubt);
    return judging_by(plan, alerting);
}

RunResult judge_anew(const fs::path& directory, const LoadPlan& asked) {
    const reports::StoredRun stored = reports::read_recorded(directory);
    const LoadPlan plan = with_classes(asked);
    const Judging judging = judging_by(plan, alerting_of(plan));
    RunResult result = result_of(stored.recorded, judging);
    reports::write_begun(directory, stored.recorded.begun, judging);
    reports::write_run(directory, result);
    return result;
}

}  // namespace paretoken::experiments
