#include "experiments/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "core/error.h"
#include "datasets/catalog.h"

namespace paretoken::experiments {
namespace {

constexpr std::uint64_t kFewestRequests = 100;
constexpr std::uint64_t kRequestsPerSlot = 10;

void name_dataset(RequestClass& of) {
    if (of.dataset.name.empty()) of.dataset.name = of.dataset_path.empty() ? "synthetic" : "custom";
    if (!of.dataset_path.empty() && datasets::file_of(of.dataset, of.dataset_path).empty())
        throw UsageError(fmt::format("--dataset {} reads no file; leave it out to use --dataset-path {}",
                                     of.dataset.name, of.dataset_path));
    if (!of.replies.empty() && !datasets::has_conversations(of.dataset))
        throw UsageError(fmt::format("--replies {}: the requests of dataset '{}' are no conversations",
                                     of.replies, of.dataset.name));
}

Spec arrivals_of(const RequestClass& of) {
    const bool rate = of.request_rate && std::isfinite(*of.request_rate);
    if (rate && of.arrivals) throw UsageError("--request-rate and --arrivals exclude each other");
    if (of.arrivals) return *of.arrivals;
    if (!rate) return {"at_once", {}};
    const std::string text = fmt::format("{}", *of.request_rate);
    if (of.burstiness.value_or(1) == 1) return {"poisson", {{"rate", text}}};
    return {"gamma", {{"rate", text}, {"burstiness", fmt::format("{}", *of.burstiness)}}};
}

bool may_have_conversations(RequestClass of) {
    name_dataset(of);
    return datasets::has_conversations(of.dataset);
}

void check_pacing(const RequestClass& of, std::uint64_t warmups) {
    const loadgen::Arrivals arrivals = loadgen::arrivals_of(*of.arrivals);
    if (arrivals.at_once) return;
    if (arrivals.recorded && warmups > 0)
        throw UsageError("--num-warmups: a trace has no requests besides its own");
    if (of.ramp_up)
        throw UsageError(
            "--ramp-up opens the slots of a closed loop; in an open loop give --arrivals "
            "ramp:from=…,to=…,over=…");
    if (!of.think_time.empty() && !may_have_conversations(of))
        throw UsageError("--think-time pauses the slots of a closed loop; an open loop has its arrivals");
}

/// Takes requests= and duration= out of the further rules and into the limits that every run has. Whether
/// what is left ends every run is returned.
bool read_rules(LoadPlan& plan) {
    bool ends = false;
    std::vector<std::string> others;
    for (const std::string& text : plan.stop.rules) {
        const loadgen::StopRule rule = [&text] {
            try {
                return loadgen::parse_stop_rule(text);
            } catch (const UsageError& error) {
                throw UsageError(fmt::format("--stop {}", error.what()));
            }
        }();
        switch (rule.kind) {
            case loadgen::StopKind::requests:
                plan.stop.requests =
                    std::min(plan.stop.requests.value_or(UINT64_MAX), static_cast<std::uint64_t>(rule.limit));
                continue;
            case loadgen::StopKind::duration:
                plan.stop.duration =
                    std::min(plan.stop.duration.value_or(Duration::max()), from_seconds(rule.limit));
                continue;
            case loadgen::StopKind::tokens:
            case loadgen::StopKind::precision:
                ends = true;
                break;
            case loadgen::StopKind::errors:
            case loadgen::StopKind::slo:
            case loadgen::StopKind::diverging:
                break;
        }
        others.push_back(text);
    }
    plan.stop.rules = std::move(others);
    return ends;
}

/// In flight at once in a closed loop, when --concurrency does not say.
std::uint64_t slots_of(const RequestClass& of, const StopRules& stop) {
    if (!of.request_rate) return 1;
    if (!stop.requests) throw UsageError("--request-rate inf without --concurrency needs --num-prompts");
    return *stop.requests;  // all of them at once
}

}  // namespace

std::string_view name_of(Axis axis) {
    switch (axis) {
        case Axis::concurrency:
            return "concurrency";
        case Axis::request_rate:
            return "request_rate";
    }
    return "";
}

LoadPlan at_level(LoadPlan asked, Axis axis, double level) {
    for (RequestClass& of : asked.classes) {
        switch (axis) {
            case Axis::concurrency:
                of.concurrency = static_cast<std::uint64_t>(level);
                if (asked.stop.requests)
                    asked.stop.requests = std::max(*asked.stop.requests, *of.concurrency);
                break;
            case Axis::request_rate:
                of.request_rate = level;
                break;
        }
    }
    return asked;
}

LoadPlan with_dataset(LoadPlan plan) {
    for (RequestClass& of : plan.classes) {
        name_dataset(of);
        if (of.dataset.name == "synthetic") of.dataset.fields.emplace("isl", "512");
        // Of a file: for rows without a length, whose answers might never end.
        const auto isl = of.dataset.fields.find("isl");
        const bool pairs = isl != of.dataset.fields.end() && isl->second.starts_with("pairs:");
        if (!pairs) of.dataset.fields.emplace("osl", "128");
        if (of.dataset_content.empty() && !datasets::file_of(of.dataset, of.dataset_path).empty())
            of.dataset_content =
                datasets::make_dataset({.spec = of.dataset, .path = of.dataset_path})->content();
    }
    return plan;
}

LoadPlan with_load(LoadPlan plan) {
    const bool ends = read_rules(plan);
    if (plan.warmups > 0 && plan.warmup_duration)
        throw UsageError("--num-warmups and --warmup-duration exclude each other");
    for (RequestClass& of : plan.classes) {
        of.arrivals = arrivals_of(of);
        if (loadgen::arrivals_of(*of.arrivals).at_once && !of.concurrency)
            of.concurrency = slots_of(of, plan.stop);
        check_pacing(of, plan.warmups);
        of.request_rate.reset();
        of.burstiness.reset();
    }
    const bool recorded = loadgen::arrivals_of(*plan.classes.front().arrivals).recorded;
    if (!plan.stop.requests && !plan.stop.duration && !recorded && !ends) {
        const std::uint64_t slots = plan.classes.front().concurrency.value_or(kRequestsPerSlot);
        plan.stop.requests = std::max(kFewestRequests, kRequestsPerSlot * slots);
    }
    return plan;
}

LoadPlan resolved(const LoadPlan& asked, const loadgen::EndpointFacts& facts, const std::string& salt) {
    LoadPlan plan = with_load(with_dataset(asked));
    const bool ids = facts.prompt_form == datasets::PromptForm::token_ids;
    if (plan.prompt_form == "token-ids" && !ids)
        throw UsageError(fmt::format("--prompt-form token-ids: {} takes no token ids in {} requests",
                                     facts.body.model, plan.endpoint_type));
    plan.prompt_form = ids ? "token-ids" : "text";
    plan.model = facts.body.model;
    plan.sampling.ignore_eos = facts.body.ignore_eos;
    plan.sampling.temperature = facts.body.temperature;
    plan.sampling.max_completion_tokens = facts.body.max_completion_tokens;
    plan.refused = facts.refused;
    if (plan.salt.empty()) plan.salt = salt;
    return plan;
}

std::optional<std::uint64_t> most_in_flight(const LoadPlan& plan) {
    const auto& cap = plan.classes.front().concurrency;
    if (!cap || !plan.stop.requests) return cap;
    return std::min(*cap, std::max(*plan.stop.requests, plan.warmups));
}

std::unique_ptr<datasets::Dataset> dataset_of(const LoadPlan& resolved,
                                              const std::optional<datasets::Calibration>& calibration) {
    const RequestClass& of = resolved.classes.front();
    return datasets::make_dataset({.spec = of.dataset,
                                   .seed = resolved.seed,
                                   .salt = resolved.salt,
                                   .form = resolved.prompt_form == "token-ids"
                                               ? datasets::PromptForm::token_ids
                                               : datasets::PromptForm::text,
                                   .calibration = calibration,
                                   .vocabulary = std::nullopt,
                                   .path = of.dataset_path,
                                   .salt_prompts = resolved.salt_prompts,
                                   .live_replies = of.replies != "recorded"});
}

loadgen::LoadOptions load_options(const LoadPlan& resolved) {
    const RequestClass& of = resolved.classes.front();
    loadgen::LoadOptions load;
    load.arrivals = loadgen::arrivals_of(of.arrivals.value());
    load.concurrency = of.concurrency;
    load.pacing.prefills = of.prefill_concurrency;
    load.pacing.ramp_up = of.ramp_up.value_or(Duration{});
    if (!of.think_time.empty()) load.pacing.think_time.emplace(of.think_time);
    load.limits = {.warmups = resolved.warmups,
                   .requests = resolved.stop.requests,
                   .duration = resolved.stop.duration,
                   .warmup_duration = resolved.warmup_duration};
    for (const std::string& rule : resolved.stop.rules) load.rules.push_back(loadgen::parse_stop_rule(rule));
    load.workers = resolved.workers;
    for (const auto& cap : {of.concurrency, of.prefill_concurrency}) {
        if (cap) load.workers = static_cast<std::uint32_t>(std::min<std::uint64_t>(load.workers, *cap));
    }
    load.seed = resolved.seed;
    load.worker.client.ignore_eos_accepted = resolved.sampling.ignore_eos;
    load.worker.client.request_timeout = resolved.request_timeout;
    load.worker.kernel_stamps = !resolved.user_timestamps;
    load.worker.spin = resolved.spin;
    load.worker.keep_alive = !resolved.no_keepalive;
    load.worker.keep_answers = resolved.keep_answers;
    load.worker.grace = resolved.grace;
    return load;
}

std::string fresh_salt() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace paretoken::experiments
