#include "experiments/server/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "cards/gpu.h"
#include "cards/host.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/plan/hang_up.h"
#include "core/plan/model_mix.h"
#include "core/plan/plan_classes.h"
#include "core/plan/plan_fields.h"
#include "core/plan/session_names.h"
#include "core/plan/shard.h"
#include "core/random.h"
#include "datasets/begun_inside.h"
#include "datasets/catalog.h"
#include "datasets/files/row_file.h"
#include "datasets/questions.h"
#include "datasets/recognise.h"
#include "datasets/synthetic/prose.h"
#include "loadgen/load_options.h"
#include "loadgen/probe/endpoint.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::experiments {
namespace {

void name_dataset(RequestClass& of) {
    if (of.dataset.name.empty()) {
        const Spec found =
            parse_spec(of.dataset_path.empty() ? "synthetic" : datasets::format_to_read(of.dataset_path));
        of.dataset.name = found.name;
        of.dataset.fields.insert(found.fields.begin(), found.fields.end());
    }
    if (!of.dataset_path.empty() && datasets::file_of(of.dataset, of.dataset_path).empty())
        throw UsageError(fmt::format("--dataset {} reads no file; leave it out to use --dataset-path {}",
                                     of.dataset.name, of.dataset_path));
    if (!of.replies.empty() && !datasets::has_conversations(of.dataset))
        throw UsageError(fmt::format("--replies {}: the requests of dataset '{}' are not conversations",
                                     of.replies, of.dataset.name));
    const std::pair<const char*, bool> of_pauses[] = {{"--tool-scale", of.tool_scale.has_value()},
                                                      {"--tool-time", !of.tool_time.empty()},
                                                      {"--idle-cap", of.idle_cap.has_value()},
                                                      {"--idle-job-cap", of.idle_job_cap.has_value()},
                                                      {"--idle-system-cap", of.idle_system_cap.has_value()}};
    for (const auto& [option, given] : of_pauses)
        if (given && !datasets::has_conversations(of.dataset))
            throw UsageError(
                fmt::format("{}: dataset '{}' has single requests, and no pauses between turns; leave it out",
                            option, of.dataset.name));
}

/// Sets the lengths of a dataset that is not a file, if they were not given, and checks its fields.
void check_generated(Spec& dataset) {
    if (dataset.name == "synthetic") dataset.fields.emplace("isl", "512");
    const auto isl = dataset.fields.find("isl");
    const bool pairs = isl != dataset.fields.end() && isl->second.starts_with("pairs:");
    if (!pairs) dataset.fields.emplace("osl", "128");
    (void)datasets::make_dataset({.spec = dataset});
}

void refuse_token_ids(const datasets::Dataset& dataset, const std::string& path,
                      const std::string& endpoint_type) {
    const auto line = dataset.line_of_token_ids();
    const protocol::Protocol* const protocol = protocol::protocol_named(endpoint_type);
    if (!line || protocol == nullptr || protocol->takes_token_ids) return;
    datasets::RowPlace{path, *line}.refuse(fmt::format(
        "the prompt is token ids, which {} requests do not take; give --endpoint-type completions, "
        "or write texts",
        endpoint_type));
}

/// Checks and hashes the file of a dataset. If some of its rows have no number of output tokens, their
/// answers might never end; osl, which is for these rows, gets its default. Sets the number of rows.
void read_file(RequestClass& of, const std::string& endpoint_type, std::optional<std::uint64_t>& rows) {
    const bool own_replies = of.replies.empty();
    if (own_replies) of.replies = datasets::usual_replies(of.dataset);
    const bool live = of.replies != "recorded";
    const auto dataset =
        datasets::make_dataset({.spec = of.dataset, .path = of.dataset_path, .live_replies = live});
    refuse_token_ids(*dataset, datasets::file_of(of.dataset, of.dataset_path), endpoint_type);
    if (own_replies && !dataset->has_conversations()) of.replies.clear();
    if (!of.replies.empty() && !dataset->has_conversations())
        throw UsageError(
            fmt::format("--replies {}: no conversation of {} has a second turn{}; leave --replies out",
                        of.replies, datasets::file_of(of.dataset, of.dataset_path),
                        of.dataset.name == "sharegpt" ? " (sharegpt:turns=N takes N turns of each)" : ""));
    of.dataset_content = dataset->content();
    rows = dataset->size();
    if (!dataset->mean_output_tokens()) of.dataset.fields.emplace("osl", "128");
}

/// Returns the number of rows of a file that was read; nothing if there is none, or it was read before.
std::optional<std::uint64_t> set_dataset(RequestClass& of, const std::string& endpoint_type) {
    std::optional<std::uint64_t> rows;
    name_dataset(of);
    if (datasets::file_of(of.dataset, of.dataset_path).empty())
        check_generated(of.dataset);
    else if (of.dataset_content.empty())
        read_file(of, endpoint_type, rows);
    return rows;
}

Spec arrivals_of(const RequestClass& of) {
    const bool rate = of.request_rate && std::isfinite(*of.request_rate);
    if (rate && of.arrivals) throw UsageError("--request-rate and --arrivals exclude each other");
    if (of.burstiness && of.arrivals)
        throw UsageError(
            fmt::format("--burstiness {0} applies only to --request-rate; with --arrivals, write --arrivals "
                        "gamma:rate=…,burstiness={0}",
                        *of.burstiness));
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
        throw UsageError("--num-warmups: a trace has no requests in addition to its own");
    if (!of.ramp_up.empty())
        throw UsageError(
            "--ramp-up opens the slots of a closed loop; in an open loop give --arrivals "
            "ramp:from=…,to=…,over=…");
    if (!of.think_time.empty() && !may_have_conversations(of))
        throw UsageError("--think-time pauses the slots of a closed loop; an open loop has its arrivals");
}

void check_text(const LoadPlan& plan) {
    if (plan.text.empty()) return;
    if (plan.prompt_form == "token-ids")
        throw UsageError(
            "--text cuts prompts from a text, but --prompt-form token-ids sends token ids; leave one out");
    const bool any = std::ranges::any_of(
        plan.classes, [](const RequestClass& of) { return datasets::makes_prompts(of.dataset); });
    if (!any)
        throw UsageError(
            fmt::format("--text: dataset '{}' has prompts of its own", plan.classes.front().dataset.name));
}

void check_salt_prompts(const LoadPlan& plan) {
    const bool any = std::ranges::any_of(
        plan.classes, [](const RequestClass& of) { return !datasets::makes_prompts(of.dataset); });
    if (plan.salt_prompts && !any)
        throw UsageError(
            fmt::format("--salt-prompts: it is for prompts of a file, and those of dataset '{}' are made for "
                        "each run, with a new salt; leave it out",
                        plan.classes.front().dataset.name));
}

void check_session_tokens(const LoadPlan& plan) {
    const bool any = std::ranges::any_of(plan.classes, may_have_conversations);
    if (!plan.session_tokens.empty() && !any)
        throw UsageError(
            fmt::format("--session-token: dataset '{}' has single requests, and no later ones that could "
                        "return a token; leave it out",
                        plan.classes.front().dataset.name));
}

/// Moves requests= and duration= from the further rules to the limits that every run has. Returns whether
/// one of the remaining rules ends every run.
bool read_rules(LoadPlan& plan) {
    bool ends = false;
    std::vector<std::string> others;
    for (const std::string& text : plan.stop.rules) {
        const loadgen::StopRule rule = naming("--stop", [&] { return loadgen::parse_stop_rule(text); });
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

/// Returns the number of requests in flight in a closed loop without --concurrency.
std::uint64_t slots_of(const RequestClass& of, const StopRules& stop) {
    if (!of.request_rate) return 1;
    if (!stop.requests) throw UsageError("--request-rate inf without --concurrency needs --num-prompts");
    return *stop.requests;  // all of them at once
}

/// Returns the seed of a class. A class with a name has its own seed, independent of other classes.
std::uint64_t seed_of(const LoadPlan& plan, const RequestClass& of) {
    return of.name.empty() ? plan.seed : derived_seed(plan.seed, "class " + of.name);
}

bool is_open(const RequestClass& of) {
    return !loadgen::arrivals_of(*of.arrivals).at_once;
}

/// Sets the end of a load of several classes. Classes in open loops have shares of the requests; a class in a
/// closed loop has none and needs a time.
LoadPlan with_end_of_classes(LoadPlan plan, bool ends) {
    if (plan.warmups > 0) throw UsageError("--num-warmups: with several classes give --warmup-duration");
    const bool open = std::ranges::all_of(plan.classes, is_open);
    if (!open && plan.stop.requests)
        throw UsageError(
            "--num-prompts is divided among classes by their rates, but a class in a closed loop has no "
            "rate; give --duration instead");
    if (plan.stop.requests || plan.stop.duration || ends) return plan;
    if (!open) throw UsageError("with a class in a closed loop --duration is needed");
    plan.stop.requests = UsualLength{}.fewest * plan.classes.size();
    return plan;
}

/// Returns the number of the run's requests that a class starts, in proportion to its rate.
std::optional<std::uint64_t> requests_of(const LoadPlan& plan, const loadgen::Arrivals& arrivals) {
    if (!plan.stop.requests || arrivals.at_once || arrivals.recorded) return std::nullopt;
    double rates = 0;
    for (const RequestClass& of : plan.classes) rates += loadgen::arrivals_of(*of.arrivals).rate;
    const double share = static_cast<double>(*plan.stop.requests) * arrivals.rate / rates;
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(share)));
}

loadgen::Pacing pacing_of(const RequestClass& of) {
    loadgen::Pacing pacing;
    pacing.requests = of.max_in_flight;
    pacing.prefills = of.prefill_concurrency;
    const bool closed_loop = loadgen::arrivals_of(of.arrivals.value()).at_once;
    if (of.ramp_up != "auto" && !of.ramp_up.empty())
        pacing.ramp_up = parse_duration(of.ramp_up);
    else if (closed_loop && of.think_time.empty())
        pacing.ramp_up.reset();
    if (!of.think_time.empty()) pacing.think_time.emplace(of.think_time);
    pacing.tool_scale = of.tool_scale.value_or(1);
    if (!of.tool_time.empty()) pacing.tool_time.emplace(of.tool_time);
    pacing.idle_cap = of.idle_cap;
    pacing.idle_job_cap = of.idle_job_cap;
    pacing.idle_system_cap = of.idle_system_cap;
    if (!of.cancel.empty()) pacing.hang_up = parse_hang_up(of.cancel);
    return pacing;
}

loadgen::ClassLoad class_load(const LoadPlan& plan, const RequestClass& of) {
    loadgen::ClassLoad load{.name = of.name,
                            .arrivals = loadgen::arrivals_of(of.arrivals.value()),
                            .concurrency = of.concurrency,
                            .pacing = pacing_of(of),
                            .limits = {.warmups = plan.warmups,
                                       .requests = plan.stop.requests,
                                       .duration = plan.stop.duration,
                                       .warmup_duration = plan.warmup_duration},
                            .seed = seed_of(plan, of),
                            .priority = of.priority};
    if (plan.classes.size() > 1) load.limits.requests = requests_of(plan, load.arrivals);
    return load;
}

bool has_own_load(const RequestClass& of) {
    return !of.name.empty() && (of.arrivals || of.request_rate || of.concurrency);
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
        if (has_own_load(of)) continue;
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

void require_class_to_vary(const LoadPlan& asked, Axis axis) {
    const std::vector<RequestClass> classes = with_classes(asked).classes;
    if (std::ranges::all_of(classes, has_own_load))
        throw UsageError(fmt::format(
            "every --class gives its own load (rate, arrivals or concurrency), so that a sweep over {} "
            "would measure the same load at each level; leave the load out of the class that is to vary",
            name_of(axis)));
}

// The default lengths are 512 prompt tokens for the dataset synthetic, and 128 output tokens, for a file only
// if some of its rows have no such number.
LoadPlan with_dataset(LoadPlan plan) {
    plan = with_classes(std::move(plan));
    // Questions or a card that cannot be read end the command before anything is measured.
    if (!plan.probe.empty()) static_cast<void>(datasets::questions_of(plan.probe));
    if (!plan.model_card.empty()) static_cast<void>(cards::model_card(plan.model_card));
    if (!plan.gpu.empty()) cards::require_known_gpu(plan.gpu, cards::this_host().cpu);
    for (RequestClass& of : plan.classes) {
        try {
            const auto rows = set_dataset(of, plan.endpoint_type);
            if (plan.stop.all_rows && !plan.stop.requests) plan.stop.requests = rows;
        } catch (const UsageError& error) {
            if (of.name.empty()) throw;
            throw UsageError(fmt::format("--class {}: {}", of.name, error.what()));
        }
    }
    if (plan.stop.all_rows && (!plan.stop.requests || plan.classes.size() > 1))
        throw UsageError("--num-prompts all: only a single dataset that is a file has a number of rows");
    check_text(plan);
    check_salt_prompts(plan);
    check_session_tokens(plan);
    if (!plan.text.empty() && plan.text_content.empty())
        plan.text_content = datasets::Prose(plan.text).content();
    return plan;
}

std::optional<Duration> recorded_length(const LoadPlan& asked) {
    const RequestClass& of = asked.classes.front();
    const bool has_load = of.arrivals || of.request_rate || of.concurrency || asked.warmups > 0;
    if (asked.classes.size() > 1 || has_load || datasets::file_of(of.dataset, of.dataset_path).empty())
        return std::nullopt;
    const auto dataset = datasets::make_dataset({.spec = of.dataset, .path = of.dataset_path});
    const auto rows = dataset->size();
    return rows && *rows > 0 ? dataset->recorded_time(*rows - 1) : std::nullopt;
}

void require_rate_for_burstiness(const LoadPlan& asked) {
    for (const RequestClass& of : with_classes(asked).classes)
        if (of.burstiness && !of.arrivals && !(of.request_rate && std::isfinite(*of.request_rate)))
            throw UsageError(
                fmt::format("--burstiness {}: it shapes the gaps between the requests of an open loop, and "
                            "this load has no rate; give --request-rate, or leave --burstiness out",
                            *of.burstiness));
}

std::uint64_t usual_requests(const LoadPlan& plan, const UsualLength& length) {
    std::uint64_t most = length.fewest;
    double rate = 0;
    for (const RequestClass& of : plan.classes) {
        most = std::max(most, length.rounds * std::max(length.fewest_slots, of.concurrency.value_or(0)));
        rate += of.request_rate.value_or(of.arrivals ? loadgen::arrivals_of(*of.arrivals).rate : 0);
    }
    constexpr double kMost = 20'000;
    return std::max(most,
                    static_cast<std::uint64_t>(std::ceil(std::min(rate * kUsualSecondsOfArrivals, kMost))));
}

/// The number of jobs that a generated dataset states (agents:jobs=12), and at least one per slot.
std::optional<std::uint64_t> stated_jobs(const RequestClass& of) {
    const auto jobs = of.dataset.fields.find("jobs");
    if (jobs == of.dataset.fields.end()) return std::nullopt;
    return std::max(parse_count(jobs->second), of.concurrency.value_or(0));
}

/// Refuses a start inside jobs where it has no meaning.
void check_start_inside(const RequestClass& of, const LoadPlan& plan) {
    if (of.start_inside.empty()) return;
    static_cast<void>(datasets::parse_begin_shares(of.start_inside));
    if (!loadgen::arrivals_of(*of.arrivals).at_once)
        throw UsageError(
            "--start-inside: it fills the slots of a closed loop; in an open loop jobs begin at their start");
    if (plan.warmups > 0 || plan.warmup_duration)
        throw UsageError(
            "--start-inside: its primer turns are the warm-up; leave --num-warmups and --warmup-duration "
            "out");
}

LoadPlan with_load(LoadPlan plan) {
    plan = with_classes(std::move(plan));
    const bool ends = read_rules(plan);
    if (plan.classes.size() > 1 && plan.classes.front().idle_system_cap)
        throw UsageError("--idle-system-cap: it is for a load of one class");
    if (plan.warmups > 0 && plan.warmup_duration)
        throw UsageError("--num-warmups and --warmup-duration exclude each other");
    if (!plan.require.empty() && plan.slos.empty())
        throw UsageError(
            fmt::format("--require {}: give the limits to meet, e.g. --slo ttft_p95:800", plan.require));
    for (RequestClass& of : plan.classes) {
        if (!of.name.empty() && !has_own_load(of))
            throw UsageError(
                fmt::format("--class {}: a class needs a load: rate=, arrivals= or concurrency=", of.name));
        of.arrivals = arrivals_of(of);
        // Before the rows of the dataset are counted, their number of slots is not known.
        const bool waits_for_rows = of.request_rate && plan.stop.all_rows && !plan.stop.requests;
        if (loadgen::arrivals_of(*of.arrivals).at_once && !of.concurrency && !waits_for_rows) {
            of.concurrency = slots_of(of, plan.stop);
            if (of.ramp_up.empty()) of.ramp_up = "0s";
        }
        check_pacing(of, plan.warmups);
        check_start_inside(of, plan);
        of.request_rate.reset();
        of.burstiness.reset();
    }
    if (plan.classes.size() > 1) return with_end_of_classes(std::move(plan), ends);
    const bool recorded = loadgen::arrivals_of(*plan.classes.front().arrivals).recorded;
    if (!plan.stop.requests && !plan.stop.all_rows && !plan.stop.duration && !recorded && !ends)
        plan.stop.requests = stated_jobs(plan.classes.front()).value_or(usual_requests(plan));
    return plan;
}

std::string model_served(const LoadPlan& asked, const loadgen::EndpointFacts& facts) {
    return parse_model_mix(asked.model).size() == 1 ? facts.body.model : asked.model;
}

LoadPlan resolved(const LoadPlan& asked, const loadgen::EndpointFacts& facts, const std::string& salt) {
    LoadPlan plan = with_load(with_dataset(asked));
    const bool ids = facts.prompt_form == datasets::PromptForm::token_ids;
    if (plan.prompt_form == "token-ids" && !ids)
        throw UsageError(fmt::format("--prompt-form token-ids: {} takes no token ids in {} requests",
                                     facts.body.model, plan.endpoint_type));
    plan.prompt_form = ids ? "token-ids" : "text";
    plan.model = model_served(plan, facts);
    plan.sampling.ignore_eos = plan.sampling.ignore_eos && facts.body.ignore_eos;
    plan.sampling.temperature = facts.body.temperature;
    plan.sampling.max_completion_tokens = facts.body.max_completion_tokens;
    plan.refused = facts.refused;
    if (plan.salt.empty()) plan.salt = salt;
    return plan;
}

std::optional<std::uint64_t> most_in_flight(const LoadPlan& plan) {
    std::optional<std::uint64_t> cap = 0;
    for (const RequestClass& of : plan.classes)
        cap = cap && of.concurrency ? std::optional(*cap + *of.concurrency) : std::nullopt;
    if (!cap || !plan.stop.requests) return cap;
    return std::min(*cap, std::max(*plan.stop.requests, plan.warmups));
}

std::unique_ptr<datasets::Dataset> dataset_of(const LoadPlan& resolved, std::size_t request_class,
                                              const std::optional<datasets::Calibration>& calibration,
                                              bool outline_content) {
    const RequestClass& of = resolved.classes[request_class];
    auto dataset = datasets::make_dataset(
        {.spec = of.dataset,
         .seed = seed_of(resolved, of),
         .salt = resolved.salt,
         .form = resolved.prompt_form == "token-ids" ? datasets::PromptForm::token_ids
                                                     : datasets::PromptForm::text,
         .calibration = calibration,
         .vocabulary = std::nullopt,
         .path = of.dataset_path,
         .prose = resolved.text.empty() ? nullptr : std::make_shared<const datasets::Prose>(resolved.text),
         .salt_prompts = resolved.salt_prompts,
         .outline_content = outline_content,
         .live_replies = of.replies != "recorded"});
    if (of.start_inside.empty()) return dataset;
    return datasets::begun_inside(std::move(dataset), datasets::parse_begin_shares(of.start_inside),
                                  seed_of(resolved, of), of.concurrency.value_or(0));
}

loadgen::LoadOptions load_options(const LoadPlan& resolved) {
    loadgen::LoadOptions load;
    load.classes.clear();
    for (const RequestClass& of : resolved.classes) load.classes.push_back(class_load(resolved, of));
    for (const std::string& rule : resolved.stop.rules) load.rules.push_back(loadgen::parse_stop_rule(rule));
    load.workers = resolved.workers;
    if (resolved.fleet.rendezvous.empty()) load.shard = shard_of(resolved);
    for (const RequestClass& any : resolved.classes) {
        for (const Cap& cap : caps_of(any)) {
            const std::uint64_t most = std::max<std::uint64_t>(1, cap.most / load.shard.count);
            load.workers = static_cast<std::uint32_t>(std::min<std::uint64_t>(load.workers, most));
        }
    }
    for (const RequestClass& any : resolved.classes)
        if (any.idle_system_cap) load.workers = 1;  // one worker must know that nothing is in flight
    load.worker.client.ignore_eos_accepted = resolved.sampling.ignore_eos;
    load.worker.client.request_timeout = resolved.request_timeout;
    load.worker.client.traceparent = resolved.traceparent;
    load.worker.session_headers = session_headers_of(resolved.session_headers);
    for (const std::string& text : resolved.session_fields)
        load.worker.session_fields.push_back(parse_session_name(text));
    for (const std::string& text : resolved.session_tokens)
        load.worker.session_tokens.push_back(parse_session_token(text));
    load.worker.kernel_stamps = !resolved.user_timestamps;
    load.worker.spin = resolved.spin;
    load.worker.keep_alive = !resolved.no_keepalive;
    load.worker.preconnect = !resolved.no_preconnect;
    load.worker.keep_answers = resolved.keep_answers;
    load.worker.grace = resolved.grace;
    return load;
}

void require_divisible(const LoadPlan& plan) {
    const Shard shard = shard_of(plan);
    if (shard.count == 1) return;
    if (plan.classes.front().idle_system_cap)
        throw UsageError(
            "--idle-system-cap: no shard knows when nothing is in flight in all of them; make the load in "
            "one process, or cut single pauses (--idle-cap)");
    if (!plan.fleet.rendezvous.empty()) return;
    for (const RequestClass& of : plan.classes)
        for (const Cap& cap : caps_of(of))
            if (cap.most < shard.count)
                throw UsageError(fmt::format(
                    "{0} {1}: {1} in flight cannot be divided between {2} shards; raise it, or take "
                    "fewer shards",
                    cap.option, cap.most, shard.count));
    for (const std::string& text : plan.stop.rules) {
        const loadgen::StopRule rule = loadgen::parse_stop_rule(text);
        if (rule.off) continue;
        throw UsageError(
            fmt::format("--stop {}: it counts the requests of all shards, which do not hear of each other; "
                        "let them meet (--rendezvous), or take --num-prompts or --duration",
                        text));
    }
}

std::string salt_for(const LoadPlan& asked) {
    const bool meets = !asked.fleet.rendezvous.empty();
    return shard_of(asked).count > 1 && !meets ? "shards-" + asked.fleet.start_at : fresh_salt();
}

bool shares_nothing(const LoadPlan& resolved) {
    const bool is_random = std::ranges::all_of(
        resolved.classes, [](const RequestClass& of) { return of.dataset.name == "synthetic"; });
    return is_random && resolved.text.empty();  // pieces of one text may begin alike
}

std::string fresh_salt() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace paretoken::experiments
