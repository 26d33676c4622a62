#include "experiments/server/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cards/client_ceiling.h"
#include "cards/host.h"
#include "core/error.h"
#include "core/plan/model_mix.h"
#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/text/number_text.h"
#include "experiments/alerting.h"
#include "experiments/server/resolve.h"
#include "experiments/server/target.h"
#include "experiments/watcher.h"
#include "loadgen/probe/endpoint.h"

namespace paretoken::experiments {
namespace {

void check_context(const datasets::Dataset& dataset, const loadgen::EndpointFacts& facts) {
    const auto in = dataset.mean_input_tokens();
    const auto out = dataset.mean_output_tokens();
    if (!facts.context || !in || !out || *in + *out <= static_cast<double>(*facts.context)) return;
    throw UsageError(
        fmt::format("the mean prompt of {:.0f} tokens and the mean answer of {:.0f} together exceed the "
                    "context of {} tokens that {} serves; use shorter prompts (--isl) or answers (--osl), or "
                    "start the server with a longer context",
                    *in, *out, *facts.context, facts.body.model));
}

bool is_of_jobs(const std::string& slo) {
    return metric_named(parse_slo(slo).tag)->of_jobs;
}

/// Refuses a limit on jobs that no request of the load can belong to.
void require_jobs(const Load& load) {
    const auto refuse = [](std::string_view option, const std::string& slo, std::string_view dataset) {
        throw UsageError(
            fmt::format("{} {}: the limit is on jobs of agents, and {} has none; leave it out, or take a "
                        "dataset with jobs (`paretoken help datasets` lists them)",
                        option, slo, dataset));
    };
    bool any = false;
    for (std::size_t i = 0; i < load.datasets.size(); ++i) {
        any = any || load.datasets[i]->has_jobs();
        if (load.datasets[i]->has_jobs()) continue;
        for (const std::string& slo : load.plan.classes[i].goodput)
            if (is_of_jobs(slo)) refuse("--goodput", slo, load.plan.classes[i].dataset.name);
    }
    for (const std::string& slo : load.plan.slos)
        if (!any && is_of_jobs(slo)) refuse("--slo", slo, load.plan.classes.front().dataset.name);
}

/// Returns the ceiling that `calibrate` stored for this host. An unreadable file does not stop a measurement.
std::optional<cards::ClientCeiling> known_ceiling(Watcher& watcher) {
    try {
        return cards::stored_ceiling(cards::default_ceiling_path(), cards::this_host().cpu);
    } catch (const Error& error) {
        watcher.warn(fmt::format("{}; `paretoken calibrate` writes it anew", error.what()));
        return std::nullopt;
    }
}

/// Returns the mean number of output tokens of a request over all classes, by their rates; nothing if a class
/// does not know its own.
std::optional<double> mean_output_tokens_of(const Load& load, double all_per_s) {
    const auto& classes = load.options.classes;
    if (classes.size() == 1) return classes.front().dataset->mean_output_tokens();
    double tokens_per_s = 0;
    for (const loadgen::ClassLoad& of : classes) {
        const auto mean = of.dataset->mean_output_tokens();
        if (!mean) return std::nullopt;
        tokens_per_s += *mean * of.arrivals.rate;
    }
    return all_per_s > 0 ? std::optional(tokens_per_s / all_per_s) : std::nullopt;
}

/// Warns before the clock starts if the load exceeds the ceiling that was found for this host.
void warn_of_shortfalls(const Load& load, Watcher& watcher) {
    const loadgen::CombinedLoad all = combined(load.options.classes);
    cards::IntendedLoad intended{.streams = all.concurrency, .workers = load.options.workers};
    if (all.open_loop) {
        intended.requests_per_s = all.request_rate;
        intended.tokens_per_request = mean_output_tokens_of(load, all.request_rate);
    }
    const auto ceiling = known_ceiling(watcher);
    if (!ceiling) return;
    for (const std::string& shortfall : cards::shortfalls(intended, *ceiling))
        watcher.warn(fmt::format("{} (paretoken calibrate, {})", shortfall, ceiling->measured_at));
}

}  // namespace

const protocol::Protocol& protocol_of(const LoadPlan& plan) {
    if (const protocol::Protocol* known = protocol::protocol_named(plan.endpoint_type)) return *known;
    throw UsageError(fmt::format("--endpoint-type '{}' is not a protocol; known are {}", plan.endpoint_type,
                                 protocol::names_of_protocols()));
}

protocol::BodyOptions body_of(const LoadPlan& plan) {
    protocol::BodyOptions body;
    body.protocol = &protocol_of(plan);
    body.model = parse_model_mix(plan.model).front().model;
    body.ignore_eos = plan.sampling.ignore_eos;
    body.max_completion_tokens = plan.sampling.max_completion_tokens;
    body.temperature = plan.sampling.temperature;
    body.extra_body = plan.sampling.extra_body;
    return body;
}

Load load_of(const LoadPlan& asked, const loadgen::EndpointFacts& facts, const std::string& salt,
             bool outline_content) {
    Load load;
    load.plan = resolved(asked, facts, salt);
    for (std::size_t i = 0; i < load.plan.classes.size(); ++i)
        load.datasets.push_back(dataset_of(load.plan, i, facts.calibration, outline_content));
    require_jobs(load);
    load.options = load_options(load.plan);
    // The name that a server lists is one model, even if it looks like a mix of several.
    const auto models = asked.model.empty() ? std::vector<ModelShare>{{.model = load.plan.model}}
                                            : parse_model_mix(asked.model);
    for (loadgen::ClassLoad& of : load.options.classes) of.models = models;
    for (std::size_t i = 0; i < load.options.classes.size(); ++i) {
        loadgen::ClassLoad& of = load.options.classes[i];
        of.dataset = load.datasets[i].get();
        of.arrivals = loadgen::with_recorded_times(std::move(of.arrivals), *of.dataset);
    }
    load.options.worker.client.body = facts.body;
    load.options.worker.client.body.ignore_eos = load.plan.sampling.ignore_eos;
    return load;
}

void check_context(const Load& load, const loadgen::EndpointFacts& facts) {
    for (const auto& dataset : load.datasets) check_context(*dataset, facts);
}

void refuse_wrong_options(const LoadPlan& asked) {
    require_divisible(with_load(with_dataset(asked)));
    (void)alerting_of(asked);
    (void)protocol_of(asked);
}

std::string early_end_of(const loadgen::ClassLoad& of) {
    constexpr double kWell = .9;  // share of the duration
    const auto rows = of.arrivals.recorded ? of.dataset->size() : std::nullopt;
    if (!rows || *rows == 0) return {};
    constexpr std::string_view kRemedy =
        "nothing follows its last request; --concurrency or --request-rate begin with the first row again";
    const std::string_view unit = of.dataset->has_jobs()            ? "jobs"
                                  : of.dataset->has_conversations() ? "conversations"
                                                                    : "requests";
    if (of.limits.requests && *of.limits.requests > *rows)
        return fmt::format("{} {} are wanted; the trace is replayed at its times and has {} {}, and {}",
                           *of.limits.requests, unit, *rows, unit, kRemedy);
    // Later turns of jobs and conversations follow after the last one has begun.
    if (!of.limits.duration || unit != "requests") return {};
    const Duration last = *of.dataset->recorded_time(*rows - 1) + of.arrivals.spread;
    const double lasts_s = seconds(last) * of.arrivals.time_scale;
    const double wanted_s =
        seconds(*of.limits.duration) + seconds(of.limits.warmup_duration.value_or(Duration{}));
    if (lasts_s >= kWell * wanted_s) return {};
    return fmt::format("{} s are wanted; the trace is replayed at its times and lasts {} s, and {}",
                       number_text(wanted_s), number_text(lasts_s), kRemedy);
}

void warn_of(const Load& load, const Target& target, Watcher& watcher) {
    for (const auto& dataset : load.datasets)
        for (const std::string& note : dataset->notes()) watcher.warn(note);
    if (load.options.classes.size() == 1)
        if (const std::string early = early_end_of(load.options.classes.front()); !early.empty())
            watcher.warn(early);
    if (!target.in_virtual_time()) warn_of_shortfalls(load, watcher);
}

}  // namespace paretoken::experiments
