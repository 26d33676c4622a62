#include "experiments/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "cards/client_ceiling.h"
#include "cards/host.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/plan/events_kept.h"
#include "core/plan/plan_fields.h"
#include "core/result/summary.h"
#include "core/result/validity.h"
#include "datasets/catalog.h"
#include "experiments/alerting.h"
#include "experiments/quality.h"
#include "experiments/target/command_line.h"
#include "experiments/target/redaction.h"
#include "experiments/target/resolve.h"
#include "experiments/target/server_command.h"
#include "experiments/target/warm_cache.h"
#include "loadgen/http/url.h"
#include "reports/files/events.h"
#include "reports/files/output_directory.h"
#include "reports/files/probe_file.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"
#include "reports/files/server_lines.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

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
    const bool made_up = std::any_of(classes.begin(), classes.end(), [](const RequestClass& of) {
        return datasets::makes_prompts(of.dataset);
    });
    if (!made_up) return {};
    if (form == datasets::PromptForm::token_ids) return "random token ids";
    if (load.plan.text.empty()) return "random words";
    return fmt::format("{} ({})", fs::path(load.plan.text).filename().string(), load.plan.text_content);
}

/// Warns of text unlike that in real use, if the server drafts tokens or the model routes to experts.
std::optional<Reason> artificial_text(const RunResult& result, const LoadPlan& plan) {
    const bool random = result.workload.text.starts_with("random");
    if (!random && !plan.sampling.ignore_eos) return std::nullopt;
    const auto drafts = [](const std::map<std::string, double>& figures) {
        const auto found = figures.find("draft_tokens");
        return found != figures.end() && found->second > 0;
    };
    const bool speculation =
        result.server && (drafts(result.server->window) || drafts(result.server->whole_run));
    const bool experts = !plan.model_card.empty() && cards::model_card(plan.model_card).moe.has_value();
    if (!speculation && !experts) return std::nullopt;
    const std::string_view what =
        speculation ? "the server uses speculative decoding" : "the model routes tokens to experts";
    const std::string_view why =
        random ? "the prompts are random; --text FILE cuts them from prose"
               : "the answers continue after their end of text; --no-ignore-eos lets them end";
    return Reason{Verdict::warn, "artificial_text",
                  fmt::format("{}, so that its speed depends on the text, but {}", what, why)};
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
    w.wanted_input_tokens = load.datasets.front()->mean_input_tokens();
    w.wanted_output_tokens = load.datasets.front()->mean_output_tokens();
    return w;
}

RunResult begun(const Load& load, const Target& target, const Invocation& invocation,
                const fs::path& directory) {
    RunResult result;
    result.provenance = provenance_of(target, load.plan, invocation);
    if (const CommandServer* const server = target.started_server()) {
        result.provenance.server = server->start();
        result.provenance.server->log = server->log().lexically_relative(directory).string();
    }
    result.plan = echo_of(load.plan);
    result.workload = workload_of(load, target);
    const loadgen::CombinedLoad all = combined(load.options.classes);
    result.concurrency = all.concurrency;
    if (all.open_loop) result.request_rate = all.request_rate;
    redact(result, target.secrets());
    return result;
}

/// Ends a load when the server that was started for it has ended, or when the outer interruption requests it.
class WhileServed {
  public:
    WhileServed(CommandServer* server, const loadgen::Interruption& outer)
        : forward_stop_(outer.stop_starting, [this] { stop_.request_stop(); }),
          forward_cut_(outer.cut_off, [this] { cut_.request_stop(); }) {
        if (server != nullptr)
            watch_ = std::jthread([this, server](const std::stop_token& over) { watch(*server, over); });
    }

    loadgen::Interruption interruption() const { return {stop_.get_token(), cut_.get_token()}; }

  private:
    void watch(CommandServer& server, const std::stop_token& over) {
        constexpr auto kPoll = std::chrono::milliseconds(100);
        while (!over.stop_requested() && !server.has_ended()) std::this_thread::sleep_for(kPoll);
        if (over.stop_requested()) return;
        stop_.request_stop();
        cut_.request_stop();
    }

    std::stop_source stop_;
    std::stop_source cut_;
    std::stop_callback<std::function<void()>> forward_stop_;
    std::stop_callback<std::function<void()>> forward_cut_;
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

/// Returns the quantities of a scrape in the form of a line of server.jsonl.
std::map<std::string, double> fields_of(const scrape::ServerScrape& scrape) {
    std::map<std::string, double> fields = scrape.values;
    for (const auto& [key, sums] : scrape.histograms) {
        fields[key + "_s_sum"] = sums.sum;
        fields[key + "_s_count"] = sums.count;
    }
    fields.insert(scrape.kept.begin(), scrape.kept.end());
    return fields;
}

/// Returns the quantities of a reading of power in the form of a line of server.jsonl.
std::map<std::string, double> fields_of(const cards::PowerSample& sample) {
    std::map<std::string, double> fields;
    const auto add = [&fields](const char* key, const std::optional<double>& value) {
        if (value) fields[key] = *value;
    };
    add("power_w", sample.watts);
    add("energy_counter_j", sample.counter_j);
    add("gpu_utilization", sample.utilization);
    add("sm_clock_hz", sample.sm_clock_hz);
    add("memory_clock_hz", sample.memory_clock_hz);
    add("temperature_c", sample.temperature_c);
    add("gpu_memory_bytes", sample.memory_bytes);
    if (sample.throttled) fields["throttled"] = *sample.throttled ? 1 : 0;
    return fields;
}

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

/// Closes the records and writes the result, as far as the disk allows. Returns what failed.
std::string written(RunResult& result, reports::RecordWriter& records, const fs::path& directory) {
    std::string failure = fmt::format("{}", fmt::join(records.finish(), "; "));
    if (!failure.empty()) {
        result.validity.verdict = Verdict::invalid;
        result.validity.reasons.push_back(
            {.severity = Verdict::invalid, .check = "records_lost", .text = failure + "."});
    }
    try {
        reports::write_run(directory, result);
    } catch (const RuntimeError& error) {
        if (failure.empty()) failure = error.what();
    }
    return failure;
}

/// Adds the score of the questions to the result, if any was answered. Warns of those whose requests failed,
/// which are no wrong answers. Returns why the file of the answers could not be written; empty: it
/// was.
std::string add_quality(const Quality& quality, const fs::path& directory, RunResult& result) {
    if (quality.score.n > 0) result.quality = quality.score;
    std::string failure;
    try {
        reports::write_probe_file(directory / reports::kProbeFileName, quality.answers);
    } catch (const RuntimeError& error) {
        failure = error.what();
    }
    if (quality.failure.empty()) return failure;
    result.validity.reasons.push_back(
        {.severity = Verdict::warn,
         .check = "probe_failed",
         .text =
             fmt::format("{} of the {} questions of --probe got no answer, and count in no score: {}.",
                         quality.answers.size() - quality.score.n, quality.answers.size(), quality.failure)});
    result.validity.verdict = std::max(result.validity.verdict, Verdict::warn);
    return failure;
}

/// Returns the SLOs of a plan with a single class; several classes have SLOs of their own.
std::vector<Slo> common_slos(const LoadPlan& plan) {
    return plan.classes.size() > 1 ? std::vector<Slo>{} : slos_of(plan.classes.front().goodput);
}

std::map<std::string, std::vector<Slo>> class_slos(const LoadPlan& plan) {
    std::map<std::string, std::vector<Slo>> slos;
    if (plan.classes.size() == 1) return slos;
    for (const RequestClass& of : plan.classes) slos.emplace(of.name, slos_of(of.goodput));
    return slos;
}

}  // namespace

Measured measure(const Target& target, const LoadPlan& asked, const fs::path& directory,
                 const Invocation& invocation, Watcher& watcher, const loadgen::Interruption& interruption) {
    Load load = target.load_for(at_url(asked, target.started_server()));
    warn_of_notes(load, watcher);
    if (!target.in_virtual_time()) warn_of_shortfalls(load, watcher);
    CommandServer* const server = target.started_server();
    if (load.plan.server.reset_cache) target.reset_cache();
    const Alerting alerting = alerting_of(load.plan);
    RunResult result = begun(load, target, invocation, directory);
    if (const std::string doubt = baseline_doubt(alerting, result.workload); !doubt.empty())
        watcher.warn(doubt);
    const auto earlier = target.in_virtual_time()
                             ? std::vector<EarlierRun>{}
                             : earlier_runs_of(result, load.plan, target.opened_at(), directory);
    reports::remove_run(directory);
    reports::write_running(directory, result.provenance, result.plan, result.workload, result.concurrency,
                           result.request_rate);
    if (!load.options.began) load.options.began = Clock::now();
    reports::RecordWriter records(reports::record_files_in(directory), *load.options.began,
                                  {.events = parse_events_kept(load.plan.events),
                                   .waits = target.in_virtual_time(),
                                   .answers = load.plan.keep_answers,
                                   .trace_ids = load.plan.traceparent});
    RedactingSink sink(records, target.secrets());

    reports::ServerLines server_lines(directory / reports::kServerFileName, *load.options.began);
    load.on_scrape = [&](const scrape::ServerScrape& scrape) {
        server_lines.add(scrape.at, fields_of(scrape), scrape.place);
    };
    load.on_power = [&](const power::PowerReading& reading) {
        server_lines.add(reading.at, fields_of(reading.sample));
    };

    loadgen::Progress progress;
    loadgen::LoadOutcome outcome;
    {
        std::optional<Watching> watching;  // virtual time is short, and its runs may go on side by side
        if (!target.in_virtual_time())
            watching.emplace(watcher, reports::load_label_of(result), progress,
                             combined(load.options.classes).limits);
        const WhileServed while_served(server, interruption);
        outcome = target.make(load, sink, progress, while_served.interruption());
    }
    // The events are read back from the disk, so that a run of any length fits into memory.
    records.finish();
    const reports::EventsFile events(reports::record_files_in(directory).events, *load.options.began);
    loadgen::fold_into(result, outcome, events, load.options,
                       {.slos = common_slos(load.plan),
                        .class_slos = class_slos(load.plan),
                        .targets = target.urls(),
                        .validity = {.max_failed = load.plan.max_failed}});
    judge_percentiles(result, outcome.records, outcome.began, percentile_slos_of(load.plan));
    std::string answers_not_written;
    if (!load.plan.probe.empty() && !result.partial) {
        const WhileServed while_served(server, interruption);
        const auto quality = quality_of(target, at_url(asked, server), while_served.interruption());
        result.partial = !quality.has_value();
        if (quality) answers_not_written = add_quality(*quality, directory, result);
    }
    result.alerts = judged_alerts(result, alerting.rules, alerting.baseline);
    if (target.in_virtual_time()) {
        result.client.timing = "virtual";
    } else {
        for (auto& reason : {artificial_text(result, load.plan), warm_cache(earlier, result)}) {
            if (!reason) continue;
            result.validity.verdict = std::max(result.validity.verdict, reason->severity);
            result.validity.reasons.push_back(*reason);
        }
    }
    result.provenance.clock = target.clock(result.client);
    redact(result, target.secrets());
    std::string failure = written(result, records, directory);
    if (failure.empty()) failure = std::move(answers_not_written);
    if (result.partial && server != nullptr && server->has_ended())
        throw ServerFailed(target.secrets().redacted(server->how_it_ended()));
    if (!result.partial && !load.plan.server.after_run_command.empty())
        run_to_end(after_run_command(load.plan), load.plan.server.environment);
    return {std::move(result), directory, std::move(failure)};
}

RunResult judge_anew(const fs::path& directory, const LoadPlan& asked) {
    RunResult result = reports::read_run_directory(directory);
    const reports::RecordFiles files = reports::record_files_in(directory);
    const RequestTable requests = reports::read_requests(files.lines);
    paretoken::judge_anew(result, requests, reports::EventsFile(files.events, {}), TimePoint{},
                          common_slos(with_classes(asked)), class_slos(with_classes(asked)));
    judge_percentiles(result, requests, TimePoint{}, percentile_slos_of(asked));
    const Alerting alerting = alerting_of(asked);
    result.alerts = judged_alerts(result, alerting.rules, alerting.baseline);
    result.validity = judged_anew(result, {.max_failed = asked.max_failed});
    const PlanEcho echo = echo_of(with_classes(asked));
    for (const PlanField& field : plan_fields()) {
        if (field.kind != FieldKind::judging) continue;
        const auto is_its = [&](const auto& entry) {
            return entry.first == field.name || entry.first.ends_with(fmt::format(".{}", field.name));
        };
        std::erase_if(result.plan, is_its);
        std::copy_if(echo.begin(), echo.end(), std::inserter(result.plan, result.plan.end()), is_its);
    }
    reports::write_run(directory, result);
    return result;
}

std::vector<Slo> slos_of(const std::vector<std::string>& texts) {
    std::vector<Slo> slos;
    slos.reserve(texts.size());
    for (const std::string& text : texts) slos.push_back(parse_request_slo(text));
    return slos;
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

void require_slos(const RunResult& result) {
    for (const SloVerdict bad : {SloVerdict::fail, SloVerdict::insufficient}) {
        std::string texts;
        for (std::size_t i = 0; i < result.slo.size(); ++i)
            if (result.slo[i].verdict == bad) texts += (texts.empty() ? "" : "; ") + slo_text(result.slo[i]);
        if (texts.empty()) continue;
        throw Error(bad == SloVerdict::fail ? ExitCode::gate_failed : ExitCode::gate_inconclusive, texts);
    }
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
