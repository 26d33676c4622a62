#include "core/run/result_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/result/metrics.h"
#include "core/result/overload.h"
#include "core/result/slo.h"
#include "core/result/summary.h"
#include "core/run/benchmark_rules.h"
#include "core/run/client_health.h"
#include "core/run/job_results.h"
#include "core/run/power_figures.h"
#include "core/run/prompt_growth.h"
#include "core/run/server_figures.h"
#include "core/statistics.h"
#include "core/validity/validity.h"

namespace paretoken {
namespace {

/// Returns the limits on each request, or those on each job.
std::vector<Slo> goodput_slos_of(const std::vector<std::string>& texts, bool of_jobs) {
    std::vector<Slo> slos;
    for (const std::string& text : texts)
        if (Slo slo = parse_goodput_slo(text); metric_named(slo.tag)->of_jobs == of_jobs)
            slos.push_back(std::move(slo));
    return slos;
}

std::vector<Slo> request_slos_of(const std::vector<std::string>& texts) {
    return goodput_slos_of(texts, false);
}

/// Returns how late events were read. The gap before a read that was late and brought k events is spread over
/// k values. At least one of the true ones is not smaller, so that at most k − 1 are.
LateReading late_reading_of(const ClientReport& client) {
    constexpr double kFewUnstamped = 0.01;
    const auto events = static_cast<double>(client.chunks.chunks);
    if (events <= 0) return {};
    LateReading late{.share = static_cast<double>(client.chunks.late_grouped_chunks) / events};
    if (static_cast<double>(client.chunks.stamped_chunks) < (1 - kFewUnstamped) * events)
        late.delay_s = seconds(client.unstamped_delay.percentile(.99));
    return late;
}

RunSummary summary_of(const Recorded& recorded, const Judging& judging) {
    const LoadShape& shape = recorded.begun.shape;
    SummaryOptions options{.open_loop = shape.open_loop,
                           .stationary = shape.stationary,
                           .constant_rate = spans_of(shape.constant_rate, recorded.observed.began),
                           .concurrency = shape.kept_in_flight,
                           .last_dispatch = recorded.observed.ran_dry,
                           .slos = request_slos_of(judging.goodput),
                           .percentiles = judging.percentiles,
                           .unknown = Facts(recorded.begun.unknown_facts),
                           .late_reading = late_reading_of(recorded.observed.client)};
    for (const auto& [name, texts] : judging.class_goodput)
        options.class_slos.emplace(name, request_slos_of(texts));
    const NoEvents none;
    const EventSource& events = recorded.events ? *recorded.events : none;
    return summarize(recorded.observed.records, events, options);
}

JobJudging job_judging_of(const Judging& judging) {
    JobJudging jobs{.slos = goodput_slos_of(judging.goodput, true), .percentiles = judging.percentiles};
    for (const auto& [name, texts] : judging.class_goodput)
        jobs.class_slos.emplace(name, goodput_slos_of(texts, true));
    return jobs;
}

std::optional<double> mean_of(const RequestTable& records,
                              std::optional<std::int64_t> (*value)(const RequestRecord&)) {
    double sum = 0;
    double n = 0;
    for (const RequestRecord& r : records) {
        if (r.warmup || r.outcome != Outcome::ok) continue;
        if (const auto v = value(r)) {
            sum += static_cast<double>(*v);
            ++n;
        }
    }
    if (n == 0) return std::nullopt;
    return sum / n;
}

/// Returns the mean lengths over the requests that have both.
std::optional<Asked> asked_of(const RequestTable& records,
                              std::optional<std::int64_t> (*asked)(const RequestRecord&),
                              std::optional<std::int64_t> (*counted)(const RequestRecord&)) {
    Asked sum;
    double n = 0;
    for (const RequestRecord& r : records) {
        if (r.warmup || r.outcome != Outcome::ok) continue;
        const auto wanted = asked(r);
        const auto got = counted(r);
        if (!wanted || !got) continue;
        sum.asked += static_cast<double>(*wanted);
        sum.counted += static_cast<double>(*got);
        ++n;
    }
    if (n == 0) return std::nullopt;
    return Asked{sum.asked / n, sum.counted / n};
}

bool knows(const Begun& begun, Fact fact) {
    return !Facts(begun.unknown_facts).overlaps({fact});
}

/// Returns the number of different prompts among the first `sent` of `rows`, which hold `different` ones. For
/// a part of the rows it is an estimate, as if rows were drawn at random and each prompt was equally
/// frequent.
double different_among(double sent, double rows, double different) {
    if (sent >= rows || different >= rows) return std::min(sent, different);
    return different * (1 - std::pow(1 - sent / rows, rows / different));
}

/// Returns the share of the openings whose prompts were sent before. Each class begins with the first row of
/// its file, which several classes may have.
std::optional<double> repeated_share_of(const Workload& workload, const RequestTable& records) {
    if (!workload.repeats_after && workload.class_repeats_after.empty()) return std::nullopt;
    std::map<std::string, std::uint64_t> openings;
    std::uint64_t all = 0;
    for (const RequestRecord& record : records) {
        if (!is_opening(record)) continue;
        ++all;
        const bool has_class = workload.class_repeats_after.contains(record.request_class);
        if (has_class || workload.repeats_after) ++openings[has_class ? record.request_class : std::string()];
    }
    if (all == 0) return std::nullopt;
    std::map<std::string, double> different;  // by the first class of a file
    double again = 0;
    for (const auto& [name, sent] : openings) {
        const auto at = workload.class_repeats_after.find(name);
        const bool has_class = at != workload.class_repeats_after.end();
        const std::uint64_t rows = has_class ? at->second : *workload.repeats_after;
        const auto own = workload.class_different_prompts.find(name);
        const std::uint64_t prompts = own != workload.class_different_prompts.end() ? own->second
                                      : has_class                                   ? rows
                                                  : workload.different_prompts.value_or(rows);
        const auto first = workload.class_prompts_of.find(name);
        double& seen = different[first == workload.class_prompts_of.end() ? name : first->second];
        const double mine = different_among(static_cast<double>(sent), static_cast<double>(rows),
                                            static_cast<double>(prompts));
        again += static_cast<double>(sent) - std::max(mine - seen, 0.0);
        seen = std::max(seen, mine);
    }
    return again / static_cast<double>(all);
}

/// Returns the workload with the lengths that were achieved.
Workload workload_of(const Begun& begun, const RequestTable& records) {
    const auto prompt = [](const RequestRecord& r) { return r.usage.prompt; };
    const auto output = [](const RequestRecord& r) -> std::optional<std::int64_t> {
        return output_tokens_of(r);
    };
    Workload workload = begun.workload;
    workload.achieved_input_tokens = mean_of(records, prompt);
    if (knows(begun, Fact::output_tokens)) workload.achieved_output_tokens = mean_of(records, output);
    workload.input_length = asked_of(
        records, [](const RequestRecord& r) { return r.wanted_input_tokens; }, prompt);
    workload.prompt_growth = prompt_growth_of(records);
    workload.repeated_share = repeated_share_of(workload, records);
    if (begun.shape.keeps_length && knows(begun, Fact::output_tokens))
        workload.output_length = asked_of(
            records, [](const RequestRecord& r) { return r.wanted_output_tokens; }, output);
    return workload;
}

std::vector<TargetScope> targets_of(std::vector<Scope> scopes, const std::vector<std::string>& urls) {
    std::vector<TargetScope> targets;
    for (Scope& scope : scopes) {
        const std::size_t number = targets.size();
        static_cast<Scope&>(targets.emplace_back()) = std::move(scope);
        if (number < urls.size()) targets.back().url = urls[number];
    }
    return targets;
}

/// Returns the sums of tokens over all requests of the run, including warm-up; nothing if it is unknown how
/// many tokens the server processed for one of them until `read`, when its counters were read last. They are
/// not read after the last answer if the run was killed.
std::map<std::string, double> asked_of_server(const RequestTable& records, TimePoint read) {
    double output = 0;
    double prompt = 0;
    double count = 0;
    bool prompts_known = true;
    for (const RequestRecord& r : records) {
        if (r.outcome != Outcome::ok || r.last_event.value_or(r.closed) > read) return {};
        output += static_cast<double>(output_tokens_of(r));
        prompt += static_cast<double>(r.usage.prompt.value_or(0));
        prompts_known = prompts_known && r.usage.prompt.has_value();
        ++count;
    }
    std::map<std::string, double> asked{{"generation_tokens", output}, {"requests", count}};
    if (prompts_known) asked["prompt_tokens"] = prompt;
    return asked;
}

/// Returns the server's own metrics, and the tokens that were asked of it.
std::optional<ServerFigures> server_of(const Recorded& recorded, TimeSpan window) {
    auto server = server_figures(recorded.observed.server, window);
    if (!server) return server;
    // Other shards ask the same server, so that a shard does not know what was asked of it.
    const std::vector<ServerScrape>& scrapes = recorded.observed.server.scrapes;
    if (!recorded.begun.shard && !scrapes.empty())
        server->asked = asked_of_server(recorded.observed.records, scrapes.back().at);
    if (!knows(recorded.begun, Fact::output_tokens)) server->asked.erase("generation_tokens");
    if (!recorded.observed.server.scrapes.empty())
        server->config.insert(recorded.begun.server_config.begin(), recorded.begun.server_config.end());
    return server;
}

/// Returns the series that do not follow from the requests.
std::vector<Series> telemetry_of(const Observations& observed, TimePoint zero) {
    std::vector<Series> all = server_series(observed.server.scrapes, zero);
    const auto add_kept = [&](const ServerScrapes& scraped) {
        for (Series& series : kept_series_of(scraped, zero)) all.push_back(std::move(series));
    };
    add_kept(observed.server);
    for (const ServerScrapes& exporter : observed.exporters) add_kept(exporter);
    if (auto power = power_series(observed.power, zero)) all.push_back(std::move(*power));
    return all;
}

ClientHealth client_of(const Recorded& recorded, TimeSpan window) {
    const LoadShape& shape = recorded.begun.shape;
    ClientHealth health =
        health_of(recorded.observed.records, recorded.observed.client, shape.open_loop, window);
    if (shape.virtual_time) health.timing = "virtual";
    if (!knows(recorded.begun, Fact::sent)) health.achieved_rate_ratio.reset();
    return health;
}

/// Returns the power without the figures per token whose number of tokens is not known.
std::optional<PowerFigures> power_of(const Recorded& recorded, TimeSpan window, const Scope& scope) {
    auto power = power_figures(recorded.observed.power, window, scope.totals);
    if (!power) return power;
    if (!scope.throughput.at(figure::kOutputTokens))
        power->j_per_output_token = power->output_tokens_per_s_per_w = std::nullopt;
    if (!scope.throughput.at(figure::kTotalTokens)) power->j_per_token.reset();
    return power;
}

/// Returns the facts that the limits on requests need.
Facts needs_of_slos(const Recorded& recorded, const Judging& judging) {
    const bool open_loop = recorded.begun.shape.open_loop;
    Facts needs = needs_of(request_slos_of(judging.goodput), open_loop);
    for (const auto& [name, texts] : judging.class_goodput)
        needs.add(needs_of(request_slos_of(texts), open_loop));
    RequestSlos own;
    for (const RequestRecord& record : recorded.observed.records)
        if (!record.slo.empty()) needs.add(needs_of(own.of(record.slo), open_loop));
    return needs;
}

std::string clock_of(const ClientHealth& client) {
    if (client.timing == "virtual") return "virtual time";
    return client.timing == "kernel" ? "kernel receive stamps" : "user-space reads";
}

std::optional<ProbeScore> score_of(const std::optional<ProbeOutcome>& probe) {
    if (!probe || probe->answered == 0) return std::nullopt;
    const auto n = static_cast<double>(probe->answered);
    const double score = static_cast<double>(probe->right) / n;
    return ProbeScore{
        .probe = probe->probe, .score = score, .n = probe->answered, .ci95 = wilson_interval(score, n)};
}

/// Returns what is to be said about questions whose requests failed; empty if none did.
std::string unanswered_of(const std::optional<ProbeOutcome>& probe) {
    if (!probe || probe->answered == probe->asked) return "";
    return fmt::format("{} of the {} questions of --probe got no answer, and count in no score: {}.",
                       probe->asked - probe->answered, probe->asked, probe->failure);
}

std::optional<StopReason> stop_of(const Observations& observed, double zero_s) {
    if (!observed.stopped) return std::nullopt;
    return StopReason{.rule = observed.stopped->rule,
                      .at_s = seconds(observed.stopped->at - observed.began) - zero_s,
                      .text = observed.stopped->text};
}

/// Takes over what a summary of another program tells of its requests.
void add_reported(RunResult& result, const Reported& reported) {
    result.reported = reported;
    result.counts.requests = reported.requests.value_or(0);
    result.counts.failed = std::min(reported.failed.value_or(0), result.counts.requests);
    result.counts.ok = result.counts.requests - result.counts.failed;
    result.workload.achieved_input_tokens = reported.at("isl_mean_tokens");
    result.workload.achieved_output_tokens = reported.at("osl_mean_tokens");
}

void withhold_percentiles(Scope& scope) {
    for (MetricSummary& metric : scope.metrics) {
        metric.mean = metric.std = metric.min = metric.max = std::nullopt;
        for (PercentileValue& percentile : metric.percentiles) percentile = {.p = percentile.p};
    }
}

/// Removes the percentiles of a load that the server does not keep up with, because its waiting times depend
/// on how long the load lasted.
void withhold_percentiles(RunResult& result) {
    withhold_percentiles(static_cast<Scope&>(result));
    for (auto& [name, scope] : result.classes) withhold_percentiles(scope);
    for (Scope& scope : result.turns) withhold_percentiles(scope);
    for (TargetScope& target : result.targets) withhold_percentiles(static_cast<Scope&>(target));
}

}  // namespace

// If the load diverged, the percentiles, means, standard deviations, minima and maxima of all metrics are
// left out, because they would depend on the length of the run.
RunResult result_of(const Recorded& recorded, const Judging& judging) {
    const Begun& begun = recorded.begun;
    const Observations& observed = recorded.observed;
    RunSummary summary = summary_of(recorded, judging);
    const TimeSpan window = summary.window;
    const Facts unknown(begun.unknown_facts);

    RunResult result;
    result.provenance = begun.provenance;
    result.plan = begun.plan;
    result.plan.insert(judging.plan.begin(), judging.plan.end());
    result.workload = workload_of(begun, observed.records);
    result.concurrency = begun.shape.concurrency;
    if (begun.shape.open_loop) result.request_rate = begun.shape.request_rate;
    result.partial = observed.interrupted || !recorded.ended;

    static_cast<Scope&>(result) = static_cast<Scope&&>(summary);
    result.window = std::move(summary.window_report);
    result.window.zero_s = observed.records.empty() ? 0 : seconds(summary.run.begin - observed.began);
    result.classes = std::move(summary.classes);
    result.turns = std::move(summary.turns);
    auto jobs = job_summary_of(observed.records, window, job_judging_of(judging));
    if (jobs) {
        result.jobs = std::move(jobs->results);
        std::move(jobs->metrics.begin(), jobs->metrics.end(), std::back_inserter(result.metrics));
    }
    result.targets = targets_of(std::move(summary.targets), begun.shape.targets);
    result.series = std::move(summary.series);
    if (auto live = live_jobs_series(observed.records, summary.run))
        result.series.push_back(std::move(*live));

    result.client = client_of(recorded, window);
    const std::string& other = result.provenance.measured_by;
    result.provenance.clock = other.empty() ? clock_of(result.client) : "that of " + other;
    result.server = server_of(recorded, window);
    result.power = power_of(recorded, window, result);
    for (Series& series : telemetry_of(observed, observed.began + from_seconds(result.window.zero_s)))
        result.series.push_back(std::move(series));
    result.quality = score_of(recorded.probe);
    result.stop = stop_of(observed, result.window.zero_s);
    result.shards = recorded.shards;
    if (begun.reported) add_reported(result, *begun.reported);
    result.validity = validity_of(
        result,
        {.max_failed = judging.max_failed,
         .accept_host_noise = judging.accept_host_noise,
         .ended = recorded.ended,
         .part = begun.shard ? fmt::format("{}/{}", begun.shard->number, begun.shard->count) : std::string(),
         .lost = recorded.lost,
         .unanswered = unanswered_of(recorded.probe),
         .ignores_end = begun.shape.ignores_end,
         .routes_to_experts = begun.shape.routes_to_experts,
         .earlier_runs = begun.earlier_runs,
         .unknown = unknown,
         .needs_of_slos = unknown.empty() ? Facts{} : needs_of_slos(recorded, judging)});
    if (result.stop && result.stop->rule == kDiverging) withhold_percentiles(result);
    const std::vector<Slo> slos = parse_slos(judging.slos);
    result.slo = percentile_verdicts(result, observed.records, window, slos, unknown);
    if (jobs) count_jobs_over(result.slo, slos, jobs->jobs);
    result.rules = benchmark_rules_of(result);
    result.alerts = judged_alerts(result, judging.alerts, judging.baseline);
    return result;
}

}  // namespace paretoken
