#include "experiments/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "cards/client_ceiling.h"
#include "cards/host.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/plan/events_kept.h"
#include "core/plan/plan_classes.h"
#include "core/plan/plan_fields.h"
#include "core/plan/shard.h"
#include "core/run/judging.h"
#include "core/run/result_of.h"
#include "datasets/catalog.h"
#include "experiments/alerting.h"
#include "experiments/quality.h"
#include "experiments/server/command_line.h"
#include "experiments/server/companions.h"
#include "experiments/server/load.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/server/server_command.h"
#include "experiments/server/warm_cache.h"
#include "loadgen/http/url.h"
#include "loadgen/probe.h"
#include "loadgen/run.h"
#include "reports/files/events.h"
#include "reports/files/file_io.h"
#include "reports/files/output_directory.h"
#include "reports/files/probe_file.h"
#include "reports/files/recorded_files.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"
#include "reports/files/server_lines.h"
#include "reports/files/shards.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShardsName =
    "shards";  ///< directory of the parts of a load until they are joined

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

/// Warns of rows of the datasets' files that are left out, and the like.
void warn_of_notes(const Load& load, Watcher& watcher) {
    for (const auto& dataset : load.datasets)
        for (const std::string& note : dataset->notes()) watcher.warn(note);
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
    if (load.datasets.size() > 1) return w;  // a mean over classes would depend on their rates
    if (!load.datasets.front()->has_conversations()) w.repeats_after = load.datasets.front()->repeats_after();
    w.wanted_input_tokens = load.datasets.front()->mean_input_tokens();
    w.wanted_output_tokens = load.datasets.front()->mean_output_tokens();
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
    return begun;
}

/// Returns what the results of a plan with classes are judged by.
Judging judging_of(const LoadPlan& plan, const Alerting& alerting) {
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

/// Ends a load when the server that was started for it has ended, or when the outer interruption requests it.
class WhileServed {
  public:
    WhileServed(CommandServer* server, const loadgen::Interruption& outer) {
        passed_on_.follow(outer);
        if (server != nullptr)
            watch_ = std::jthread([this, server](const std::stop_token& over) { watch(*server, over); });
    }

    loadgen::Interruption interruption() const { return passed_on_.interruption(); }

  private:
    void watch(CommandServer& server, const std::stop_token& over) {
        constexpr auto kPoll = std::chrono::milliseconds(100);
        while (!over.stop_requested() && !server.has_ended()) std::this_thread::sleep_for(kPoll);
        if (!over.stop_requested()) passed_on_.interrupt();
    }

    loadgen::PassedOn passed_on_;
    std::jthread watch_;  // last: it ends before what it uses
};

/// Tells the watcher of a load's begin and end, even if an exception ends it.
class Watching {
  public:
    Watching(Watcher& watcher, const std::string& label, const loadgen::Progress& progress,
             const loadgen::Limits& limits)
        : watcher_(watcher) {
        watcher_.load_begins(label, progress, limits);
    }
    ~Watching() { watcher_.load_ends(); }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;

  private:
    Watcher& watcher_;
};

/// Returns the plan with the URL of the server that a command started for it.
LoadPlan at_url(LoadPlan asked, const CommandServer* server) {
    if (server != nullptr) asked.targets = {server->url()};
    return asked;
}

/// Returns the command after a run, with the port of the server filled in.
std::string after_run_command(const LoadPlan& plan) {
    const std::string& url = plan.targets.front();
    return command_with_values(plan.server.after_run_command,
                               {{"port", std::to_string(http::parse_url(url).port)}});
}

/// Writes the end of the records and the result, as far as the disk allows. Returns what failed.
std::string written(const RunResult& result, const Recorded& recorded, const fs::path& directory) {
    try {
        reports::write_ended(directory, recorded);
        reports::write_run(directory, result);
    } catch (const RuntimeError& error) {
        return recorded.lost.empty() ? error.what() : recorded.lost;
    }
    return recorded.lost;
}

/// Returns the outcome of a probe, and writes its answers. `failure` becomes why the file could not be
/// written, and stays unchanged if it was.
ProbeOutcome kept_outcome(const Quality& quality, const fs::path& directory, std::string& failure) {
    try {
        reports::write_probe_file(directory / reports::kProbeFileName, quality.answers);
    } catch (const RuntimeError& error) {
        failure = error.what();
    }
    return quality.outcome;
}

/// Gives a load the part of this process, and lets it hear of the others.
void make_together(Load& load, Shard part, Companions& others) {
    load.options.shard = part;
    load.options.decides = others.leads();
    load.options.exchange = [&others](loadgen::StopMonitor& monitor, loadgen::Progress& progress) {
        others.exchange(monitor, progress);
    };
    load.when_over = [&others] { others.load_ends(); };
}

/// Measures what this process makes of a load. `together`: its part of a load that it makes with others.
Measured measured_here(const Target& target, const LoadPlan& asked, const std::optional<Shard>& together,
                       const fs::path& directory, const Invocation& invocation, Watcher& watcher,
                       const loadgen::Interruption& interruption) {
    Load load = target.load_for(asked);
    Companions* const others = together ? target.companions() : nullptr;
    if (together) make_together(load, *together, *others);
    warn_of_notes(load, watcher);
    if (!target.in_virtual_time()) warn_of_shortfalls(load, watcher);
    CommandServer* const server = target.started_server();
    const bool leads = load.options.shard.number == 0;
    if (leads && load.plan.server.reset_cache) target.reset_cache();
    const Alerting alerting = alerting_of(load.plan);
    Recorded recorded{.begun = begun_of(load, target, invocation, directory)};
    const Judging judging = judging_of(load.plan, alerting);
    if (const std::string doubt = baseline_doubt(alerting, recorded.begun.workload); !doubt.empty())
        watcher.warn(doubt);
    if (leads && !target.in_virtual_time())
        recorded.begun.earlier_runs =
            earlier_runs_of(recorded.begun, load.plan, target.opened_at(), directory);
    reports::remove_run(directory);
    reports::write_begun(directory, recorded.begun, judging);
    target.get_ready(load);
    if (others != nullptr) load.options.began = others->begin();
    reports::RecordWriter records(reports::record_files_in(directory), *load.options.began,
                                  {.events = parse_events_kept(load.plan.events),
                                   .waits = target.in_virtual_time(),
                                   .answers = load.plan.keep_answers,
                                   .trace_ids = load.plan.traceparent});
    RedactingSink sink(records, target.secrets());

    reports::ServerLines server_lines(directory / reports::kServerFileName, *load.options.began);
    load.on_scrape = [&](ServerScrape scrape) {
        redact(scrape, target.secrets());
        server_lines.add(scrape);
    };
    load.on_power = [&](const std::string& source, const PowerReading& reading) {
        server_lines.add(source, reading);
    };

    loadgen::Progress progress;
    {
        std::optional<Watching> watching;  // virtual time is short, and its runs may go on side by side
        if (!target.in_virtual_time())
            watching.emplace(watcher, reports::load_label_of(recorded.begun), progress,
                             combined(load.options.classes).limits);
        const WhileServed while_served(server, interruption);
        std::optional<loadgen::OnInterruption> passes_on;
        if (others != nullptr)
            passes_on.emplace(
                while_served.interruption(), [others] { others->stop_starting(); },
                [others] { others->cut_off(); });
        recorded.observed = target.make(load, sink, progress, while_served.interruption());
    }
    recorded.lost = fmt::format("{}", fmt::join(records.finish(), "; "));
    // The events are read back from the disk, so that a run of any length fits into memory.
    recorded.events = std::make_shared<reports::EventsFile>(reports::record_files_in(directory).events,
                                                            *load.options.began);
    std::string answers_not_written;
    if (leads && !load.plan.probe.empty() && !recorded.observed.interrupted) {
        const WhileServed while_served(server, interruption);
        const auto quality = quality_of(target, asked, while_served.interruption());
        recorded.observed.interrupted = !quality.has_value();
        if (quality) recorded.probe = kept_outcome(*quality, directory, answers_not_written);
    }
    redact(recorded, target.secrets());
    RunResult result = result_of(recorded, judging);
    redact(result, target.secrets());
    std::string failure = written(result, recorded, directory);
    if (failure.empty()) failure = std::move(answers_not_written);
    if (result.partial && server != nullptr && server->has_ended())
        throw ServerFailed(target.secrets().redacted(server->how_it_ended()));
    return {std::move(result), directory, std::move(failure)};
}

/// Makes the part of this process, lets the others send theirs, and joins all into one run.
Measured measured_together(const Target& target, const LoadPlan& asked, Shard part, const fs::path& directory,
                           const Invocation& invocation, Watcher& watcher,
                           const loadgen::Interruption& interruption) {
    const fs::path parts = directory / kShardsName;
    fs::remove_all(parts);
    reports::remove_run(directory);
    const Measured own = measured_here(target, asked, part, parts / std::to_string(part.number), invocation,
                                       watcher, interruption);
    if (!own.not_written.empty()) throw RuntimeError(own.not_written);
    Companions::Gathered gathered = target.companions()->gather(parts);
    gathered.directories.push_back(own.directory);
    RunResult joined = reports::join_shards(gathered.directories, directory, gathered.clock_errors_s);
    // The parts of a load that lacks one can be joined with it, if it is found.
    if (gathered.directories.size() == part.count) fs::remove_all(parts);
    return {std::move(joined), directory, ""};
}

/// Measures a load with others, as the one that decides or as another one.
Measured measured_with(Companions& others, const Target& target, const LoadPlan& asked,
                       const fs::path& directory, const Invocation& invocation, Watcher& watcher,
                       const loadgen::Interruption& interruption) {
    const Shard part = others.divide(asked);
    const auto together = part.count > 1 ? std::optional(part) : std::nullopt;
    if (!others.leads() || !together)
        return measured_here(target, asked, together, directory, invocation, watcher, interruption);
    try {
        return measured_together(target, asked, part, directory, invocation, watcher, interruption);
    } catch (...) {
        others.abandon();
        throw;
    }
}

}  // namespace

Measured measure(const Target& target, const LoadPlan& asked, const fs::path& directory,
                 const Invocation& invocation, Watcher& watcher, const loadgen::Interruption& interruption) {
    Companions* const others = target.companions();
    LoadPlan plan = at_url(asked, target.started_server());
    if (others != nullptr && plan.salt.empty()) plan.salt = fresh_salt();  // all make the same prompts
    Measured measured =
        others != nullptr
            ? measured_with(*others, target, plan, directory, invocation, watcher, interruption)
            : measured_here(target, plan, std::nullopt, directory, invocation, watcher, interruption);
    const bool leads = others != nullptr ? others->leads() : shard_of(plan).number == 0;
    if (leads && !measured.result.partial && !plan.server.after_run_command.empty())
        run_to_end(after_run_command(plan), plan.server.environment);
    return measured;
}

RunResult judge_anew(const fs::path& directory, const LoadPlan& asked) {
    const reports::StoredRun stored = reports::read_recorded(directory);
    const LoadPlan plan = with_classes(asked);
    const Judging judging = judging_of(plan, alerting_of(plan));
    RunResult result = result_of(stored.recorded, judging);
    reports::write_begun(directory, stored.recorded.begun, judging);
    reports::write_run(directory, result);
    return result;
}

std::vector<Slo> percentile_slos_of(const LoadPlan& plan) {
    std::vector<Slo> slos;
    slos.reserve(plan.slos.size());
    for (const std::string& text : plan.slos) slos.push_back(parse_slo(text));
    return slos;
}

void require_valid(const Measured& measured) {
    if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
    const RunResult& result = measured.result;
    if (result.partial)
        throw RuntimeError(
            fmt::format("interrupted; the partial result is in {}", measured.directory.string()));
    if (result.validity.verdict != Verdict::invalid) return;
    std::string reasons;
    for (const Reason& reason : result.validity.reasons) {
        if (reason.severity != Verdict::invalid) continue;
        reasons += (reasons.empty() ? "" : "; ") + reason.text;
    }
    throw Error(ExitCode::measurement_invalid, fmt::format("the measurement is invalid: {}", reasons));
}

void require_slos(const RunResult& result, bool met) {
    const auto texts_of = [&](auto wanted) {
        std::string texts;
        for (const SloResult& slo : result.slo)
            if (wanted(slo)) texts += (texts.empty() ? "" : "; ") + slo_text(slo);
        return texts;
    };
    const std::string missed =
        texts_of([](const SloResult& slo) { return slo.verdict == SloVerdict::missed && slo.shown; });
    if (!missed.empty()) throw Error(ExitCode::gate_failed, missed);
    const std::string open = texts_of([&](const SloResult& slo) {
        return slo.verdict == SloVerdict::within ? met : slo.verdict != SloVerdict::met;
    });
    if (!open.empty()) throw Error(ExitCode::gate_inconclusive, open);
}

void require_whole(const Measured& run, const Target& target, const std::string& then) {
    if (!run.not_written.empty()) throw RuntimeError(run.not_written);
    if (run.result.partial) throw RuntimeError("interrupted; " + then);
    if (run.result.counts.ok == 0) target.require_answer();
}

void require_descriptors(std::uint64_t streams) {
    constexpr std::uint64_t kBesidesStreams = 64;  // files, timers, pipes, and those of the simulated server
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const std::uint64_t needed = streams + kBesidesStreams;
    if (needed <= limit.rlim_cur) return;
    throw RuntimeError(
        fmt::format("{} requests in flight need {} file descriptors, and this process may open {}; lower "
                    "--concurrency, or raise the limit (ulimit -n {})",
                    streams, needed, static_cast<std::uint64_t>(limit.rlim_cur), needed));
}

}  // namespace paretoken::experiments
