#pragma once
// The fields of run.json, begun.json and ended.json.
#include "core/result/result.h"
#include "core/run/judging.h"
#include "core/run/recorded.h"
#include "reports/files/json/archive.h"
#include "reports/files/json/run_json.h"

namespace paretoken::reports {

void fields(auto& a, Is<ModelCardNote> auto& v) {
    a("card", v.spec);
    PARETOKEN_FIELDS(a, v, name, weights, kv, hash);
}

void fields(auto& a, Is<ServerStart> auto& v) {
    PARETOKEN_FIELDS(a, v, command, version, ready_s, restarts, log);
}

void fields(auto& a, Is<Provenance> auto& v) {
    PARETOKEN_FIELDS(a, v, run_id, version, commit);
    a.unless_empty("measured_by", v.measured_by);
    PARETOKEN_FIELDS(a, v, argv, command, started_at, host, host_cpu, host_cores, kernel, clock, url, model,
                     server_kind, hardware, hardware_count, simulator, model_card, metadata, server);
}

void fields(auto& a, Is<SloResult> auto& v) {
    PARETOKEN_FIELDS(a, v, key, p, limit, value, n, n_effective, over, worst, verdict, shown, times_enough,
                     note);
}

void fields(auto& a, Is<ProbeScore> auto& v) {
    PARETOKEN_FIELDS(a.required, v, probe, score, n);
    a("ci95", v.ci95);
}

void fields(auto& a, Is<AlertResult> auto& v) {
    a.required("name", v.name);
    PARETOKEN_FIELDS(a, v, series, severity);
    a.required("state", v.state);
    PARETOKEN_FIELDS(a, v, value, threshold, at_s, note);
}

void fields(auto& a, Is<Asked> auto& v) {
    PARETOKEN_FIELDS(a, v, asked, counted);
}

void fields(auto& a, Is<Workload> auto& v) {
    PARETOKEN_FIELDS(a, v, fingerprint, dataset, endpoint, seed, salt, prompt_form, length_source, text,
                     wanted_input_tokens, wanted_output_tokens, achieved_input_tokens, achieved_output_tokens,
                     input_length, output_length, cached_by_template, repeats_after, class_repeats_after,
                     different_prompts, class_different_prompts, class_prompts_of, repeated_share,
                     prompt_growth, best_possible_cached_ratio);
}

void fields(auto& a, Is<Reason> auto& v) {
    PARETOKEN_FIELDS(a, v, severity, check, text);
}

void fields(auto& a, Is<Validity> auto& v) {
    PARETOKEN_FIELDS(a.required, v, verdict, reasons);
}

void fields(auto& a, Is<SteadyTest> auto& v) {
    PARETOKEN_FIELDS(a, v, series, test, statistic, p, change);
}

void fields(auto& a, Is<Window> auto& v) {
    PARETOKEN_FIELDS(a, v, zero_s, in_step, begin_s, end_s, run_s, steady, overloaded, how, tests);
}

void fields(auto& a, Is<Counts> auto& v) {
    PARETOKEN_FIELDS(a.required, v, requests, ok, failed);
    PARETOKEN_FIELDS(a, v, cancelled, abandoned, warmup, in_window, resent, unstreamed, bunched, early_first,
                     starved, disputed, unseen_output, uncounted_output, disputed_cache, no_finish_reason,
                     without_events, other_models, by_outcome, example_errors);
}

/// One key per window size: {"128": …, "256": …}.
void fields(auto& a, Is<WindowedSums> auto& v) {
    static const auto keys = [] {
        std::array<std::string, kWindows.size()> names;
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("{}", kWindows[i]);
        return names;
    }();
    for (std::size_t i = 0; i < keys.size(); ++i) a(keys[i].c_str(), v.within[i]);
}

void fields(auto& a, Is<Totals> auto& v) {
    PARETOKEN_FIELDS(a, v, seconds, requests, time_in_system_s, prompts, known_prompts, known_cached,
                     fresh_input_tokens, cached_input_tokens, output_tokens, judged, judged_good,
                     good_requests, good_output_tokens, decoded_tokens, decoded_context_tokens,
                     decoded_cached_tokens, prefill_pairs, decoded_context_within, prefill_pairs_within);
}

void fields(auto& a, Is<ServerFigures> auto& v) {
    PARETOKEN_FIELDS(a, v, engine, engines, sources, window, whole_run, asked, accepted_per_position, config,
                     scrapes, failed_scrapes, impossible, note);
}

void fields(auto& a, Is<PowerFigures> auto& v) {
    PARETOKEN_FIELDS(a, v, source, devices, mean_w, energy_j, counter_j, j_per_output_token, j_per_token,
                     output_tokens_per_s_per_w, throttled_share, utilization, readings, note);
}

void fields(auto& a, Is<ClientHealth> auto& v) {
    PARETOKEN_FIELDS(a, v, timing, kernel_stamp_share, loop_lag_p50_s, loop_lag_p99_s, connection_wait_p99_s,
                     slot_wait_p99_s, refill_lag_mean_s, achieved_rate_ratio, user_delay_p50_s,
                     user_delay_p99_s, unstamped_delay_p99_s, grouped_share, late_grouped_share, cpu_share,
                     cpu_windows_above_85, hiccup_share, retransmit_share, clock_jump_max_s,
                     connections_opened, connections_opened_ahead, opening_ahead_s, workers);
}

void fields(auto& a, Is<Series> auto& v) {
    a.required("name", v.name);
    PARETOKEN_FIELDS(a, v, unit, source);
    PARETOKEN_FIELDS(a.required, v, times_s, values);
}

/// The fields of a metric without its key, which is the name of the object in "metrics".
void fields(auto& a, Is<MetricSummary> auto& v) {
    a.required("n", v.n);
    PARETOKEN_FIELDS(a, v, mean, std, min);
    a.percentiles(v.percentiles);
    a("max", v.max);
    a.percentile_notes(v.percentiles);
    a("failed_mass", v.failed_mass);
}

void fields(auto& a, Is<Scope> auto& v) {
    PARETOKEN_FIELDS(a.required, v, counts, throughput);
    PARETOKEN_FIELDS(a, v, whole_run, totals, whole_run_totals);
    a.metrics(v.metrics);
}

void fields(auto& a, Is<RuleResult> auto& v) {
    a.required("name", v.name);
    a("wanted", v.wanted);
    a.required("kept", v.kept);
    a("found", v.found);
}

void fields(auto& a, Is<BenchmarkRules> auto& v) {
    PARETOKEN_FIELDS(a.required, v, benchmark, kept);
    PARETOKEN_FIELDS(a, v, rules, not_checked);
}

void fields(auto& a, Is<JobTokens> auto& v) {
    PARETOKEN_FIELDS(a, v, fresh, cached, output);
}

void fields(auto& a, Is<JobResults> auto& v) {
    a.required("ok", v.ok);
    PARETOKEN_FIELDS(a, v, failed, unfinished, jobs_per_hour, judged, good, good_jobs_per_hour, tokens,
                     continued_ratio, cached_of_continued, e2e_normalized_interactivity_p75,
                     e2e_normalized_interactivity_p90, e2e_interactivity);
    a.metrics(v.metrics);
}

void fields(auto& a, Is<TargetScope> auto& v) {
    a("url", v.url);
    fields(a, as_scope(v));
}

void fields(auto& a, Is<StopReason> auto& v) {
    PARETOKEN_FIELDS(a.required, v, rule, at_s);
    a("text", v.text);
}

void fields(auto& a, Is<Reported> auto& v) {
    a.required("by", v.by);
    PARETOKEN_FIELDS(a, v, requests, failed);
    a.required("figures", v.figures);
}

void fields(auto& a, Is<ShardResult> auto& v) {
    a.required("number", v.number);
    a("host", v.host);
    PARETOKEN_FIELDS(a.required, v, requests, failed);
    a("clock_error_s", v.clock_error_s);
    PARETOKEN_FIELDS(a.required, v, ended, verdict);
    PARETOKEN_FIELDS(a, v, reason, client_part);
}

/// The fields of a run without the state and the schema, which decide whether these fields are read at all.
/// The scope of the whole run has no key of its own: its fields are beside the others.
void fields(auto& a, Is<RunResult> auto& v) {
    PARETOKEN_FIELDS(a, v, concurrency, request_rate, partial, stop);
    PARETOKEN_FIELDS(a.required, v, validity, window);
    fields(a, as_scope(v));
    PARETOKEN_FIELDS(a, v, slo, rules, quality, alerts, classes, targets, turns, jobs, client, server, power);
    a.required("workload", v.workload);
    a.plan(v.plan);
    a.required("provenance", v.provenance);
    PARETOKEN_FIELDS(a, v, series, reported, shards);
}

void fields(auto& a, Is<LoadPart> auto& v) {
    std::optional<Duration> end;
    if (v.end != Duration::max()) end = v.end;
    a.required("begin_s", v.begin);
    a("end_s", end);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(v)>>)
        v.end = end.value_or(Duration::max());
}

void fields(auto& a, Is<LoadShape> auto& v) {
    PARETOKEN_FIELDS(a.required, v, open_loop, stationary);
    PARETOKEN_FIELDS(a, v, constant_rate, concurrency, request_rate, kept_in_flight, virtual_time,
                     keeps_length, ignores_end, routes_to_experts, targets);
}

void fields(auto& a, Is<EarlierRun> auto& v) {
    a.required("directory", v.directory);
    a("cached_share", v.cached_share);
}

void fields(auto& a, Is<Shard> auto& v) {
    PARETOKEN_FIELDS(a.required, v, number, count);
}

void fields(auto& a, Is<Begun> auto& v) {
    PARETOKEN_FIELDS(a.required, v, provenance, workload, shape);
    PARETOKEN_FIELDS(a, v, earlier_runs, server_config, unknown_facts, shard, reported);
    a.plan(v.plan);
}

void fields(auto& a, Is<AlertRule> auto& v) {
    PARETOKEN_FIELDS(a.required, v, name, series, comparison, threshold);
    a("for_s", v.held_for);
    a("over_s", v.over);
    a("severity", v.severity);
}

void fields(auto& a, Is<Judging> auto& v) {
    PARETOKEN_FIELDS(a, v, goodput, class_goodput);
    a("slo", v.slos);
    PARETOKEN_FIELDS(a, v, accept_host_noise, max_failed, percentiles, alerts, baseline);
    a.plan(v.plan);
}

void fields(auto& a, Is<Stopped> auto& v) {
    a.required("rule", v.rule);
    a.required("at_s", v.at);
    a("text", v.text);
}

void fields(auto& a, Is<ProbeOutcome> auto& v) {
    PARETOKEN_FIELDS(a.required, v, probe, asked, answered, right);
    a("failure", v.failure);
}

void fields(auto& a, Is<FileMark> auto& v) {
    PARETOKEN_FIELDS(a.required, v, bytes, sha256);
}

void fields(auto& a, Is<ClientCounters> auto& v) {
    a("chunks", v.chunks);
    a("stamped", v.stamped_chunks);
    a("grouped", v.grouped_chunks);
    a("late_grouped", v.late_grouped_chunks);
}

void fields(auto& a, Is<ConnectionCounts> auto& v) {
    PARETOKEN_FIELDS(a, v, opened, opened_ahead);
    a("opening_ahead_s", v.opening_ahead);
    PARETOKEN_FIELDS(a, v, segments_sent, retransmitted);
}

void fields(auto& a, Is<CpuSample> auto& v) {
    a("at_s", v.at);
    a("share", v.share);
}

void fields(auto& a, Is<Histogram> auto& v) {
    a.histogram(v);
}

void fields(auto& a, Is<ClientReport> auto& v) {
    PARETOKEN_FIELDS(a, v, chunks, connections, read_delay, unstamped_delay);
    a("largest_clock_jump_s", v.largest_clock_jump);
    PARETOKEN_FIELDS(a, v, host_lost_share, cpu);
}

/// The end of a run, and what is known only then. The other observations have files of their own.
void fields(auto& a, Is<Recorded> auto& v) {
    a("stopped", v.observed.stopped);
    a.required("interrupted", v.observed.interrupted);
    a("ran_dry_s", v.observed.ran_dry);
    PARETOKEN_FIELDS(a, v, lost, probe);
    a("failed_scrapes", v.observed.server.failed);
    a("last_scrape_failure", v.observed.server.last_failure);
    a.required("client", v.observed.client);
    a("shards", v.shards);
}

}  // namespace paretoken::reports
