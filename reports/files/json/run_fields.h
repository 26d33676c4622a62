#pragma once
// The fields of run.json, begun.json and ended.json.
#include "core/result/result.h"
#include "core/run/judging.h"
#include "core/run/recorded.h"
#include "reports/files/json/archive.h"
#include "reports/files/json/run_json.h"

namespace paretoken::reports {

template <class Archive>
void fields(Archive& a, Is<ModelCardNote> auto& v) {
    a("card", v.spec);
    a("name", v.name);
    a("weights", v.weights);
    a("kv", v.kv);
    a("hash", v.hash);
}

template <class Archive>
void fields(Archive& a, Is<ServerStart> auto& v) {
    a("command", v.command);
    a("version", v.version);
    a("ready_s", v.ready_s);
    a("restarts", v.restarts);
    a("log", v.log);
}

template <class Archive>
void fields(Archive& a, Is<Provenance> auto& v) {
    a("run_id", v.run_id);
    a("version", v.version);
    a("commit", v.commit);
    a.unless_empty("measured_by", v.measured_by);
    a("argv", v.argv);
    a("command", v.command);
    a("started_at", v.started_at);
    a("host", v.host);
    a("host_cpu", v.host_cpu);
    a("host_cores", v.host_cores);
    a("kernel", v.kernel);
    a("clock", v.clock);
    a("url", v.url);
    a("model", v.model);
    a("server_kind", v.server_kind);
    a("hardware", v.hardware);
    a("hardware_count", v.hardware_count);
    a("simulator", v.simulator);
    a("model_card", v.model_card);
    a("metadata", v.metadata);
    a("server", v.server);
}

template <class Archive>
void fields(Archive& a, Is<SloResult> auto& v) {
    a("key", v.key);
    a("p", v.p);
    a("limit", v.limit);
    a("value", v.value);
    a("n", v.n);
    a("n_effective", v.n_effective);
    a("over", v.over);
    a("worst", v.worst);
    a("verdict", v.verdict);
    a("shown", v.shown);
    a("times_enough", v.times_enough);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<ProbeScore> auto& v) {
    a.required("probe", v.probe);
    a.required("score", v.score);
    a.required("n", v.n);
    a("ci95", v.ci95);
}

template <class Archive>
void fields(Archive& a, Is<AlertResult> auto& v) {
    a.required("name", v.name);
    a("series", v.series);
    a("severity", v.severity);
    a.required("state", v.state);
    a("value", v.value);
    a("threshold", v.threshold);
    a("at_s", v.at_s);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<Asked> auto& v) {
    a("asked", v.asked);
    a("counted", v.counted);
}

template <class Archive>
void fields(Archive& a, Is<Workload> auto& v) {
    a("fingerprint", v.fingerprint);
    a("dataset", v.dataset);
    a("endpoint", v.endpoint);
    a("seed", v.seed);
    a("salt", v.salt);
    a("prompt_form", v.prompt_form);
    a("length_source", v.length_source);
    a("text", v.text);
    a("wanted_input_tokens", v.wanted_input_tokens);
    a("wanted_output_tokens", v.wanted_output_tokens);
    a("achieved_input_tokens", v.achieved_input_tokens);
    a("achieved_output_tokens", v.achieved_output_tokens);
    a("input_length", v.input_length);
    a("output_length", v.output_length);
    a("cached_by_template", v.cached_by_template);
}

template <class Archive>
void fields(Archive& a, Is<Reason> auto& v) {
    a("severity", v.severity);
    a("check", v.check);
    a("text", v.text);
}

template <class Archive>
void fields(Archive& a, Is<Validity> auto& v) {
    a.required("verdict", v.verdict);
    a.required("reasons", v.reasons);
}

template <class Archive>
void fields(Archive& a, Is<SteadyTest> auto& v) {
    a("series", v.series);
    a("test", v.test);
    a("statistic", v.statistic);
    a("p", v.p);
    a("change", v.change);
}

template <class Archive>
void fields(Archive& a, Is<Window> auto& v) {
    a("zero_s", v.zero_s);
    a("in_step", v.in_step);
    a("begin_s", v.begin_s);
    a("end_s", v.end_s);
    a("run_s", v.run_s);
    a("steady", v.steady);
    a("overloaded", v.overloaded);
    a("how", v.how);
    a("tests", v.tests);
}

template <class Archive>
void fields(Archive& a, Is<Counts> auto& v) {
    a.required("requests", v.requests);
    a.required("ok", v.ok);
    a.required("failed", v.failed);
    a("cancelled", v.cancelled);
    a("abandoned", v.abandoned);
    a("warmup", v.warmup);
    a("in_window", v.in_window);
    a("resent", v.resent);
    a("unstreamed", v.unstreamed);
    a("bunched", v.bunched);
    a("disputed", v.disputed);
    a("unseen_output", v.unseen_output);
    a("disputed_cache", v.disputed_cache);
    a("without_events", v.without_events);
    a("other_models", v.other_models);
    a("by_outcome", v.by_outcome);
    a("example_errors", v.example_errors);
}

/// One key per window size: {"128": …, "256": …}.
template <class Archive>
void fields(Archive& a, Is<WindowedSums> auto& v) {
    static const auto keys = [] {
        std::array<std::string, kWindows.size()> names;
        for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("{}", kWindows[i]);
        return names;
    }();
    for (std::size_t i = 0; i < keys.size(); ++i) a(keys[i].c_str(), v.within[i]);
}

template <class Archive>
void fields(Archive& a, Is<Totals> auto& v) {
    a("seconds", v.seconds);
    a("requests", v.requests);
    a("time_in_system_s", v.time_in_system_s);
    a("prompts", v.prompts);
    a("known_prompts", v.known_prompts);
    a("known_cached", v.known_cached);
    a("fresh_input_tokens", v.fresh_input_tokens);
    a("cached_input_tokens", v.cached_input_tokens);
    a("output_tokens", v.output_tokens);
    a("judged", v.judged);
    a("judged_good", v.judged_good);
    a("good_requests", v.good_requests);
    a("good_output_tokens", v.good_output_tokens);
    a("decoded_tokens", v.decoded_tokens);
    a("decoded_context_tokens", v.decoded_context_tokens);
    a("decoded_cached_tokens", v.decoded_cached_tokens);
    a("prefill_pairs", v.prefill_pairs);
    a("decoded_context_within", v.decoded_context_within);
    a("prefill_pairs_within", v.prefill_pairs_within);
}

template <class Archive>
void fields(Archive& a, Is<ServerFigures> auto& v) {
    a("engine", v.engine);
    a("engines", v.engines);
    a("sources", v.sources);
    a("window", v.window);
    a("whole_run", v.whole_run);
    a("asked", v.asked);
    a("accepted_per_position", v.accepted_per_position);
    a("config", v.config);
    a("scrapes", v.scrapes);
    a("failed_scrapes", v.failed_scrapes);
    a("impossible", v.impossible);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<PowerFigures> auto& v) {
    a("source", v.source);
    a("devices", v.devices);
    a("mean_w", v.mean_w);
    a("energy_j", v.energy_j);
    a("counter_j", v.counter_j);
    a("j_per_output_token", v.j_per_output_token);
    a("j_per_token", v.j_per_token);
    a("output_tokens_per_s_per_w", v.output_tokens_per_s_per_w);
    a("throttled_share", v.throttled_share);
    a("utilization", v.utilization);
    a("readings", v.readings);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<ClientHealth> auto& v) {
    a("timing", v.timing);
    a("kernel_stamp_share", v.kernel_stamp_share);
    a("loop_lag_p50_s", v.loop_lag_p50_s);
    a("loop_lag_p99_s", v.loop_lag_p99_s);
    a("connection_wait_p99_s", v.connection_wait_p99_s);
    a("slot_wait_p99_s", v.slot_wait_p99_s);
    a("refill_lag_mean_s", v.refill_lag_mean_s);
    a("achieved_rate_ratio", v.achieved_rate_ratio);
    a("user_delay_p50_s", v.user_delay_p50_s);
    a("user_delay_p99_s", v.user_delay_p99_s);
    a("unstamped_delay_p99_s", v.unstamped_delay_p99_s);
    a("grouped_share", v.grouped_share);
    a("late_grouped_share", v.late_grouped_share);
    a("cpu_share", v.cpu_share);
    a("cpu_windows_above_85", v.cpu_windows_above_85);
    a("hiccup_share", v.hiccup_share);
    a("retransmit_share", v.retransmit_share);
    a("clock_jump_max_s", v.clock_jump_max_s);
    a("connections_opened", v.connections_opened);
    a("connections_opened_ahead", v.connections_opened_ahead);
    a("opening_ahead_s", v.opening_ahead_s);
    a("workers", v.workers);
}

template <class Archive>
void fields(Archive& a, Is<Series> auto& v) {
    a.required("name", v.name);
    a("unit", v.unit);
    a("source", v.source);
    a.required("times_s", v.times_s);
    a.required("values", v.values);
}

/// The fields of a metric without its key, which is the name of the object in "metrics".
template <class Archive>
void fields(Archive& a, Is<MetricSummary> auto& v) {
    a.required("n", v.n);
    a("mean", v.mean);
    a("std", v.std);
    a("min", v.min);
    a.percentiles(v.percentiles);
    a("max", v.max);
    a.percentile_notes(v.percentiles);
    a("failed_mass", v.failed_mass);
}

template <class Archive>
void fields(Archive& a, Is<Scope> auto& v) {
    a.required("counts", v.counts);
    a.required("throughput", v.throughput);
    a("whole_run", v.whole_run);
    a("totals", v.totals);
    a("whole_run_totals", v.whole_run_totals);
    a.metrics(v.metrics);
}

template <class Archive>
void fields(Archive& a, Is<RuleResult> auto& v) {
    a.required("name", v.name);
    a("wanted", v.wanted);
    a.required("kept", v.kept);
    a("found", v.found);
}

template <class Archive>
void fields(Archive& a, Is<BenchmarkRules> auto& v) {
    a.required("benchmark", v.benchmark);
    a.required("kept", v.kept);
    a("rules", v.rules);
    a("not_checked", v.not_checked);
}

template <class Archive>
void fields(Archive& a, Is<JobTokens> auto& v) {
    a("fresh", v.fresh);
    a("cached", v.cached);
    a("output", v.output);
}

template <class Archive>
void fields(Archive& a, Is<JobResults> auto& v) {
    a.required("ok", v.ok);
    a("failed", v.failed);
    a("unfinished", v.unfinished);
    a("jobs_per_hour", v.jobs_per_hour);
    a("judged", v.judged);
    a("good", v.good);
    a("good_jobs_per_hour", v.good_jobs_per_hour);
    a("tokens", v.tokens);
    a("continued_ratio", v.continued_ratio);
    a("cached_of_continued", v.cached_of_continued);
    a("e2e_normalized_interactivity_p75", v.e2e_normalized_interactivity_p75);
    a("e2e_normalized_interactivity_p90", v.e2e_normalized_interactivity_p90);
    a("e2e_interactivity", v.e2e_interactivity);
    a.metrics(v.metrics);
}

template <class Archive>
void fields(Archive& a, Is<TargetScope> auto& v) {
    a("url", v.url);
    fields(a, as_scope(v));
}

template <class Archive>
void fields(Archive& a, Is<StopReason> auto& v) {
    a.required("rule", v.rule);
    a.required("at_s", v.at_s);
    a("text", v.text);
}

template <class Archive>
void fields(Archive& a, Is<Reported> auto& v) {
    a.required("by", v.by);
    a("requests", v.requests);
    a("failed", v.failed);
    a.required("figures", v.figures);
}

/// The fields of a run without the state and the schema, which decide whether these fields are read at all.
/// The scope of the whole run has no key of its own: its fields are beside the others.
template <class Archive>
void fields(Archive& a, Is<ShardResult> auto& v) {
    a.required("number", v.number);
    a("host", v.host);
    a.required("requests", v.requests);
    a.required("failed", v.failed);
    a("clock_error_s", v.clock_error_s);
    a.required("ended", v.ended);
    a.required("verdict", v.verdict);
    a("reason", v.reason);
}

template <class Archive>
void fields(Archive& a, Is<RunResult> auto& v) {
    a("concurrency", v.concurrency);
    a("request_rate", v.request_rate);
    a("partial", v.partial);
    a("stop", v.stop);
    a.required("validity", v.validity);
    a.required("window", v.window);
    fields(a, as_scope(v));
    a("slo", v.slo);
    a("rules", v.rules);
    a("quality", v.quality);
    a("alerts", v.alerts);
    a("classes", v.classes);
    a("targets", v.targets);
    a("turns", v.turns);
    a("jobs", v.jobs);
    a("client", v.client);
    a("server", v.server);
    a("power", v.power);
    a.required("workload", v.workload);
    a.plan(v.plan);
    a.required("provenance", v.provenance);
    a("series", v.series);
    a("reported", v.reported);
    a("shards", v.shards);
}

template <class Archive>
void fields(Archive& a, Is<LoadPart> auto& v) {
    std::optional<Duration> end;
    if (v.end != Duration::max()) end = v.end;
    a.required("begin_s", v.begin);
    a("end_s", end);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(v)>>)
        v.end = end.value_or(Duration::max());
}

template <class Archive>
void fields(Archive& a, Is<LoadShape> auto& v) {
    a.required("open_loop", v.open_loop);
    a.required("stationary", v.stationary);
    a("constant_rate", v.constant_rate);
    a("concurrency", v.concurrency);
    a("request_rate", v.request_rate);
    a("kept_in_flight", v.kept_in_flight);
    a("virtual_time", v.virtual_time);
    a("keeps_length", v.keeps_length);
    a("ignores_end", v.ignores_end);
    a("routes_to_experts", v.routes_to_experts);
    a("targets", v.targets);
}

template <class Archive>
void fields(Archive& a, Is<EarlierRun> auto& v) {
    a.required("directory", v.directory);
    a("cached_share", v.cached_share);
}

template <class Archive>
void fields(Archive& a, Is<Shard> auto& v) {
    a.required("number", v.number);
    a.required("count", v.count);
}

template <class Archive>
void fields(Archive& a, Is<Begun> auto& v) {
    a.required("provenance", v.provenance);
    a.required("workload", v.workload);
    a.required("shape", v.shape);
    a("earlier_runs", v.earlier_runs);
    a("server_config", v.server_config);
    a("unknown_facts", v.unknown_facts);
    a("shard", v.shard);
    a("reported", v.reported);
    a.plan(v.plan);
}

template <class Archive>
void fields(Archive& a, Is<AlertRule> auto& v) {
    a.required("name", v.name);
    a.required("series", v.series);
    a.required("comparison", v.comparison);
    a.required("threshold", v.threshold);
    a("for_s", v.held_for);
    a("over_s", v.over);
    a("severity", v.severity);
}

template <class Archive>
void fields(Archive& a, Is<Judging> auto& v) {
    a("goodput", v.goodput);
    a("class_goodput", v.class_goodput);
    a("slo", v.slos);
    a("accept_host_noise", v.accept_host_noise);
    a("max_failed", v.max_failed);
    a("percentiles", v.percentiles);
    a("alerts", v.alerts);
    a("baseline", v.baseline);
    a.plan(v.plan);
}

template <class Archive>
void fields(Archive& a, Is<Stopped> auto& v) {
    a.required("rule", v.rule);
    a.required("at_s", v.at);
    a("text", v.text);
}

template <class Archive>
void fields(Archive& a, Is<ProbeOutcome> auto& v) {
    a.required("probe", v.probe);
    a.required("asked", v.asked);
    a.required("answered", v.answered);
    a.required("right", v.right);
    a("failure", v.failure);
}

template <class Archive>
void fields(Archive& a, Is<FileMark> auto& v) {
    a.required("bytes", v.bytes);
    a.required("sha256", v.sha256);
}

template <class Archive>
void fields(Archive& a, Is<ClientCounters> auto& v) {
    a("chunks", v.chunks);
    a("stamped", v.stamped_chunks);
    a("grouped", v.grouped_chunks);
    a("late_grouped", v.late_grouped_chunks);
}

template <class Archive>
void fields(Archive& a, Is<ConnectionCounts> auto& v) {
    a("opened", v.opened);
    a("opened_ahead", v.opened_ahead);
    a("opening_ahead_s", v.opening_ahead);
    a("segments_sent", v.segments_sent);
    a("retransmitted", v.retransmitted);
}

template <class Archive>
void fields(Archive& a, Is<CpuSample> auto& v) {
    a("at_s", v.at);
    a("share", v.share);
}

template <class Archive>
void fields(Archive& a, Is<Histogram> auto& v) {
    a.histogram(v);
}

template <class Archive>
void fields(Archive& a, Is<ClientReport> auto& v) {
    a("chunks", v.chunks);
    a("connections", v.connections);
    a("read_delay", v.read_delay);
    a("unstamped_delay", v.unstamped_delay);
    a("largest_clock_jump_s", v.largest_clock_jump);
    a("host_lost_share", v.host_lost_share);
    a("cpu", v.cpu);
}

/// The end of a run, and what is known only then. The other observations have files of their own.
template <class Archive>
void fields(Archive& a, Is<Recorded> auto& v) {
    a("stopped", v.observed.stopped);
    a.required("interrupted", v.observed.interrupted);
    a("ran_dry_s", v.observed.ran_dry);
    a("lost", v.lost);
    a("probe", v.probe);
    a("failed_scrapes", v.observed.server.failed);
    a("last_scrape_failure", v.observed.server.last_failure);
    a.required("client", v.observed.client);
    a("shards", v.shards);
}

}  // namespace paretoken::reports
