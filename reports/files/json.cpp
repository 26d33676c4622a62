#include "reports/files/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/error.h"
#include "core/result/alerts.h"
#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/text/json_nesting.h"
#include "core/units.h"
#include "core/version.h"
#include "reports/files/plan_file.h"
#include "reports/files/record_fields.h"
#include "reports/model/front.h"

// How it works: `fields(archive, value)` names every field of a value once. Writer turns it into JSON,
// LineWriter into the text of a line, Reader fills the value from JSON. A field that is missing from this
// list is neither written nor read.

namespace paretoken::reports {
namespace {

using Json = nlohmann::ordered_json;

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T, std::less<>>> = true;

// ---- names of enumerations

void enum_named(std::string_view name, std::optional<Verdict>& value) {
    value = verdict_named(name);
}
void enum_named(std::string_view name, std::optional<Outcome>& value) {
    value = outcome_named(name);
}
void enum_named(std::string_view name, std::optional<TokenSource>& value) {
    value = token_source_named(name);
}
void enum_named(std::string_view name, std::optional<Fact>& value) {
    value = fact_named(name);
}
void enum_named(std::string_view name, std::optional<PointState>& value) {
    value = point_state_named(name);
}
void enum_named(std::string_view name, std::optional<SloVerdict>& value) {
    value = slo_verdict_named(name);
}
void enum_named(std::string_view name, std::optional<AlertState>& value) {
    value = alert_state_named(name);
}
void enum_named(std::string_view name, std::optional<AlertSeverity>& value) {
    value = alert_severity_named(name);
}
void enum_named(std::string_view name, std::optional<AlertComparison>& value) {
    value = alert_comparison_named(name);
}

/// The Scope part of a result, which is const if the result is const.
template <class T>
auto& as_scope(T& result) {
    if constexpr (std::is_const_v<T>)
        return static_cast<const Scope&>(result);
    else
        return static_cast<Scope&>(result);
}

constexpr std::string_view kIntervalSuffix = "_ci95";

// ---- percentile labels: .5 ↔ "p50", .999 ↔ "p999"

std::string percentile_label(double p) {
    std::string digits = fmt::format("{:.6f}", p).substr(2);
    while (digits.size() > 2 && digits.back() == '0') digits.pop_back();
    return "p" + digits;
}

std::optional<double> percentile_labelled(std::string_view label) {
    if (label.size() < 3 || label[0] != 'p') return std::nullopt;
    double value = 0;
    double scale = 1;
    for (const char c : label.substr(1)) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + (c - '0');
        scale *= 10;
    }
    return value / scale;
}

// ---- the fields of every value

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

/// The fields of a run without the state and the schema, which decide whether these fields are read at all.
/// The scope of the whole run has no key of its own: its fields are beside the others.
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
    a("quality", v.quality);
    a("alerts", v.alerts);
    a("classes", v.classes);
    a("targets", v.targets);
    a("turns", v.turns);
    a("client", v.client);
    a("server", v.server);
    a("power", v.power);
    a.required("workload", v.workload);
    a.plan(v.plan);
    a.required("provenance", v.provenance);
    a("series", v.series);
}

// begun.json and ended.json

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
}

template <class Archive>
void fields(Archive& a, Is<SweepPoint> auto& v) {
    a.required("directory", v.directory);
    a("load_label", v.load_label);
    a.required("load", v.load);
    a("cell", v.cell);
    a("repeat", v.repeat);
    a.required("state", v.state);
    a("error", v.error);
    a("requests_per_s", v.requests_per_s);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("interactivity_tok_per_s", v.interactivity_tok_per_s);
    a("ttft_p50_s", v.ttft_p50_s);
    a("ttft_p99_s", v.ttft_p99_s);
    a("tpot_p50_s", v.tpot_p50_s);
    a("itl_p50_s", v.itl_p50_s);
    a("itl_p99_s", v.itl_p99_s);
    a("acceptance", v.acceptance);
    a("cached_share", v.cached_share);
    a("requests", v.requests);
    a("failed", v.failed);
    a("verdict", v.verdict);
    a("slo", v.slo);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<RepeatSpread> auto& v) {
    a.required("mean", v.mean);
    a("std", v.standard_deviation);
    a("ci95", v.ci95);
}

template <class Archive>
void fields(Archive& a, Is<SweepRepeats> auto& v) {
    a("load_label", v.load_label);
    a.required("load", v.load);
    a("cell", v.cell);
    a.required("runs", v.runs);
    a("figures", v.figures);
}

template <class Archive>
void fields(Archive& a, Is<SweepSearch> auto& v) {
    a.required("slo", v.slos);
    a("pass", v.pass);
    a("within", v.within);
    a("within_text", v.within_text);
    a("certify", v.certify);
    a("certify_minutes", v.certify_minutes);
    a("fail", v.fail);
    a("binding", v.binding);
    a("runs", v.runs);
    a("x_max", v.most_requests_per_s);
    a("c_star", v.saturation);
    a("elasticity", v.elasticity);
    a("ended", v.ended);
    a("narrow", v.narrow);
    a("at", v.at);
    a("of_saturation", v.of_saturation);
}

template <class Archive>
void fields(Archive& a, Is<Crossing> auto& v) {
    a.required("load", v.load);
    a("low", v.low);
    a("high", v.high);
    a("below", v.below);
    a("above", v.above);
}

template <class Archive>
void fields(Archive& a, Is<ComparedFigure> auto& v) {
    a.required("figure", v.figure);
    a("loads", v.loads);
    a("crossings", v.crossings);
    a("better", v.better);
}

template <class Archive>
void fields(Archive& a, Is<ComparedCell> auto& v) {
    a("cell", v.cell);
    a("figures", v.figures);
    a("acceptance", v.acceptance);
    a("cached", v.cached);
}

template <class Archive>
void fields(Archive& a, Is<SweepComparison> auto& v) {
    a.required("servers", v.servers);
    a("cells", v.cells);
}

template <class Archive>
void fields(Archive& a, Is<SweepFile> auto& v) {
    a.required("axis", v.axis);
    a("started_at", v.started_at);
    a("command", v.command);
    a.required("options", v.options);
    a.required("points", v.points);
    a("repeats", v.repeats);
    a("search", v.search);
    a("comparison", v.comparison);
}

template <class Archive>
void fields(Archive& a, Is<CacheHits> auto& v) {
    a("expected", v.expected);
    a("usage", v.usage);
    a("server", v.server);
}

template <class Archive>
void fields(Archive& a, Is<CacheArm> auto& v) {
    a.required("arm", v.arm);
    a.required("prefix", v.prefix);
    if (v.arm == "shared") a("hit_ratio", v.hit);
    a.required("n", v.n);
    a("failed", v.failed);
    a("prompt_tokens", v.prompt_tokens);
    a("ttft_p50_s", v.ttft_p50_s);
    a("ttft_p50_ci95", v.ttft_p50_ci95);
    a("ttft_p95_s", v.ttft_p95_s);
    a("hit", v.hits);
    a("p_value", v.p_value);
    a("differs_from_cold", v.differs);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("usd_per_m_output", v.usd_per_m_output);
}

template <class Archive>
void fields(Archive& a, Is<FitTerm> auto& v) {
    a.required("value", v.value);
    a.required("ci95", v.ci95);
}

template <class Archive>
void fields(Archive& a, Is<TtftFit> auto& v) {
    a.required("n", v.n);
    a.required("base_s", v.base_s);
    a.required("per_token_s", v.per_token_s);
    a("per_token2_s", v.per_token2_s);
}

template <class Archive>
void fields(Archive& a, Is<CacheLevel> auto& v) {
    a.required("concurrency", v.concurrency);
    a("directory", v.directory);
    a.unless_empty("invalid", v.invalid);
    a("hit", v.hits);
    a("fit", v.fit);
    a("saved_ms_per_1k_cached", v.saved_ms_per_1k_cached);
    a("saved_ms_per_1k_cached_ci95", v.saved_ms_per_1k_cached_ci95);
    a("saved_prompt_tokens", v.saved_prompt_tokens);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a.required("arms", v.arms);
}

template <class Archive>
void fields(Archive& a, Is<WorkingSet> auto& v) {
    a.required("prefix_tokens", v.prefix_tokens);
    a.required("request_tokens", v.request_tokens);
    a.required("held", v.held);
    a("lost", v.lost);
    a.pairs("found", "prefixes", "share", v.found);
}

template <class Archive>
void fields(Archive& a, Is<IdleTime> auto& v) {
    a("held_s", v.held_s);
    a("lost_s", v.lost_s);
    a.pairs("found", "idle_s", "share", v.found);
}

template <class Archive>
void fields(Archive& a, Is<CacheBurst> auto& v) {
    a.required("rate", v.rate);
    a.required("prefixes", v.prefixes);
    a("before", v.before);
    a("during", v.during);
    a("after", v.after);
}

template <class Archive>
void fields(Archive& a, Is<CacheVerdict> auto& v) {
    a.required("code", v.code);
    a.required("text", v.text);
    a("evidence", v.evidence);
}

template <class Archive>
void fields(Archive& a, Is<CacheReport> auto& v) {
    a.required("target", v.target);
    a("model", v.model);
    a("engine", v.engine);
    a("granularity_tokens", v.granularity_tokens);
    a("least_cached_prefix", v.least_cached_prefix);
    a("working_set", v.working_set);
    a("idle_time", v.idle_time);
    a("burst", v.burst);
    a.unless_empty("price", v.price);
    a.required("verdicts", v.verdicts);
    a.required("levels", v.levels);
}

template <class Archive>
void fields(Archive& a, Is<KeptAnswer> auto& v) {
    a.required("index", v.index);
    a("warmup", v.warmup);
    a("text", v.text);
}

template <class Archive>
void fields(Archive& a, Is<ProbeAnswer> auto& v) {
    a.required("question", v.question);
    a("right", v.right);
    a("failed", v.failed);
    a("expected", v.expected);
    a("answer", v.answer);
}

template <class Archive>
void fields(Archive& a, Is<RequestRecord> auto& v) {
    record_fields(a, v);
}

// The report is only written, never read back.

template <class Archive>
void fields(Archive& a, Is<SourcedTerm> auto& v) {
    a("name", v.name);
    a("value", v.value);
    a("unit", v.unit);
    a("source", v.source);
}

template <class Archive>
void fields(Archive& a, Is<PointCost> auto& v) {
    a("usd_per_m_output", v.usd_per_m_output);
    a("usd_per_h", v.usd_per_h);
    a("power", v.power);
    a("power_w", v.power_w);
    a("usd_per_m_output_ci95", v.usd_per_m_output_ci95);
    a("price_band", v.price_band);
    a("usd_per_m_total", v.usd_per_m_total);
    a("usd_per_m_input_split", v.usd_per_m_input_split);
    a("usd_per_m_cached_split", v.usd_per_m_cached_split);
    a("usd_per_m_output_split", v.usd_per_m_output_split);
    a("usd_per_m_goodput", v.usd_per_m_goodput);
}

template <class Archive>
void fields(Archive& a, Is<GapPart> auto& v) {
    a("name", v.name);
    a("ms", v.ms);
    a("usd_per_m", v.usd_per_m);
    a("source", v.source);
    a("remedy", v.remedy);
}

template <class Archive>
void fields(Archive& a, Is<Gap> auto& v) {
    a("step_ms", v.step_ms);
    a("in_flight", v.in_flight);
    a("tokens_per_pass", v.tokens_per_pass);
    a("usd_per_m_output", v.usd_per_m_output);
    a("parts", v.parts);
    a("first_to_fix", v.first_to_fix);
}

template <class Archive>
void fields(Archive& a, Is<Utilisation> auto& v) {
    a("mfu", v.mfu);
    a("mfu_source", v.mfu_source);
    a("mbu", v.mbu);
    a("mbu_source", v.mbu_source);
}

template <class Archive>
void fields(Archive& a, Is<ReportPoint> auto& v) {
    a("directory", v.directory);
    a("load_label", v.load_label);
    a("load", v.load);
    a("open_loop", v.open_loop);
    a("interactivity_tok_per_s", v.interactivity);
    a("certified", v.certified);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("cost", v.cost);
    a("limit_output_tokens_per_s", v.limit_output_tokens_per_s);
    a("limit_interactivity_tok_per_s", v.limit_interactivity);
    a("of_limit", v.of_limit);
    a("limit_tolerance", v.limit_tolerance);
    a("utilisation", v.utilisation);
    a("gap", v.gap);
    a("on_front", v.on_front);
    a("within_noise", v.within_noise);
    a("on_own_front", v.on_own_front);
    a("why_not", v.why_not);
    a("run", v.result);
}

template <class Archive>
void fields(Archive& a, Is<Quality> auto& v) {
    a("score", v.score);
    a("n", v.n);
    a("ci95", v.ci95);
    a("source", v.source);
}

template <class Archive>
void fields(Archive& a, Is<FrontNote> auto& v) {
    a("x", v.x);
    a("y", v.y);
    a("separate", v.separate);
    a("anyway", v.anyway);
    a("over_time", v.over_time);
}

template <class Archive>
void fields(Archive& a, Is<LimitPoint> auto& v) {
    a("batch", v.batch);
    a("interactivity_tok_per_s", v.interactivity);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("usd_per_m_output", v.usd_per_m_output);
}

template <class Archive>
void fields(Archive& a, Is<Configuration> auto& v) {
    a("title", v.title);
    a("name", v.name);
    a("model", v.model);
    a("labels", v.labels);
    a("served", v.served);
    a("precision", v.precision);
    a("quality", v.quality);
    a("price_basis", v.price_basis);
    a("hardware", v.hardware);
    a("workload", v.workload);
    a("answer", v.answer);
    a("points", v.points);
    a("hard_limit", v.hard_limit);
    a("datasheet", v.datasheet);
    a("size_aware", v.size_aware);
    a("no_overlap", v.no_overlap);
    a("reachable", v.reachable);
    a("limit_terms", v.limit_terms);
    a("dropped_terms", v.dropped_terms);
    a("missing", v.missing);
    a("errors", v.errors);
}

template <class Archive>
void fields(Archive& a, Is<Estimate> auto& v) {
    a("point", v.point);
    a("load_label", v.load_label);
    a("of_limit", v.of_limit);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("interactivity_tok_per_s", v.interactivity);
    a("usd_per_m_output", v.usd_per_m_output);
}

template <class Archive>
void fields(Archive& a, Is<WhatIf> auto& v) {
    a("asked", v.asked);
    a("configuration", v.configuration);
    a("title", v.title);
    a("gpus", v.gpus);
    a("points", v.points);
    a("why_not", v.why_not);
}

template <class Archive>
void fields(Archive& a, Is<ApiLine> auto& v) {
    a("name", v.name);
    a("as_of", v.as_of);
    a("input", v.input);
    a("cached", v.cached);
    a("output", v.output);
    a("usd_per_m_at_mix", v.usd_per_m_at_mix);
    a("usd_per_m_with_writes", v.usd_per_m_with_writes);
    a("break_even_tokens_per_month", v.break_even_tokens_per_month);
}

template <class Archive>
void fields(Archive& a, Is<CostSheet> auto& v) {
    a("configuration", v.configuration);
    a("load_label", v.load_label);
    a("input_tokens", v.input_tokens);
    a("output_tokens", v.output_tokens);
    a("cached_share", v.hit);
    a("usd_per_m_total", v.usd_per_m_total);
    a("usd_per_month", v.usd_per_month);
    a("output_tokens_per_usd", v.output_tokens_per_usd);
    a("target_usd_per_m", v.target_usd_per_m);
    a("needed_output_tokens_per_s", v.needed_output_tokens_per_s);
    a("apis", v.apis);
}

template <class Archive>
void fields(Archive& a, Is<PriceNote> auto& v) {
    a("card", v.card);
    a("as_of", v.as_of);
    a("source", v.source);
    a("basis", v.basis);
    a("power", v.power);
    a("currency", v.currency);
    a("rates", v.rates);
}

template <class Archive>
void fields(Archive& a, Is<PicturePoint> auto& v) {
    a("x", v.x);
    a("y", v.y);
    a("valid", v.valid);
    a("row", v.row);
    a("note", v.note);
    a("interval", v.interval);
}

template <class Archive>
void fields(Archive& a, Is<PictureSeries> auto& v) {
    a("name", v.name);
    a("points", v.points);
    a.unless_empty("style", v.style);
}

template <class Archive>
void fields(Archive& a, Is<PictureLine> auto& v) {
    a("name", v.name);
    a("y", v.y);
}

template <class Archive>
void fields(Archive& a, Is<PictureMark> auto& v) {
    a("name", v.name);
    a("x", v.x);
}

template <class Archive>
void fields(Archive& a, Is<Picture> auto& v) {
    a("id", v.id);
    a("title", v.title);
    a("x_title", v.x_title);
    a("y_title", v.y_title);
    a("series", v.series);
    a("lines", v.lines);
    a("marks", v.marks);
    if (v.linear_x) a("linear_x", v.linear_x);
}

template <class Archive>
void fields(Archive& a, Is<LayerOperation> auto& v) {
    a("name", v.name);
    a("group", v.group);
    a("seconds", v.seconds);
}

template <class Archive>
void fields(Archive& a, Is<LayerStack> auto& v) {
    a("name", v.name);
    a("operations", v.operations);
    a("seconds", v.seconds);
    a("valid", v.valid);
}

template <class Archive>
void fields(Archive& a, Is<CeilingRow> auto& v) {
    a("name", v.name);
    a("value", v.value);
    a("unit", v.unit);
    a("valid", v.valid);
    a("note", v.note);
}

template <class Archive>
void fields(Archive& a, Is<DevicePicture> auto& v) {
    a("title", v.title);
    a("charts", v.pictures);
    a("layers", v.layers);
    a("ceilings", v.ceilings);
}

template <class Archive>
void fields(Archive& a, Is<SearchPicture> auto& v) {
    a("directory", v.directory);
    a("slos", v.slos);
    a("text", v.text);
    a("certify", v.certify);
    a("narrow", v.narrow);
    a("charts", v.pictures);
}

/// The charts are left out, because they show the same figures.
template <class Archive>
void fields(Archive& a, Is<CachePicture> auto& v) {
    a("directory", v.directory);
    fields(a, v.report);
}

template <class Archive>
void fields(Archive& a, Is<Choice> auto& v) {
    a("configuration", v.configuration);
    a("load_label", v.load_label);
    a("usd_per_m_output", v.usd_per_m_output);
    a("output_tokens_per_s", v.output_tokens_per_s);
    a("interactivity", v.interactivity);
    a("margins", v.margins);
    a("why_not", v.why_not);
    a("shown", v.shown);
    a("within", v.within);
    a("missed", v.missed);
    a("command", v.command);
}

template <class Archive>
void fields(Archive& a, Is<ChoiceTable> auto& v) {
    a("slos", v.slos);
    a("ranked", v.ranked);
}

template <class Archive>
void fields(Archive& a, Is<ReportModel> auto& v) {
    a("title", v.title);
    a("generated_at", v.generated_at);
    a("version", v.version);
    a("configurations", v.configurations);
    a("front", v.front);
    a("searches", v.searches);
    a("caches", v.caches);
    a("choice", v.choice);
    a("split_source", v.split_source);
    a("cost", v.cost);
    a("measurement_usd", v.measurement_usd);
    a("what_ifs", v.what_ifs);
    a("devices", v.devices);
    a("price", v.price);
    a("notes", v.notes);
}

// ---- value → JSON

class Writer {
  public:
    /// Points in time are written in seconds since `epoch`.
    explicit Writer(TimePoint epoch = {}) : epoch_(epoch) {}

    Json take() { return std::move(object_); }

    template <class T>
    void operator()(const char* key, const T& value) {
        if constexpr (kIsOptional<T>) {
            if (value) (*this)(key, *value);
        } else {
            object_[key] = json_of(value, epoch_);
        }
    }
    template <class T>
    void required(const char* key, const T& value) {
        (*this)(key, value);
    }

    void unless_empty(const char* key, const std::string& text) {
        if (!text.empty()) (*this)(key, text);
    }
    /// Writes a map as an array of objects with two keys.
    template <class X>
    void pairs(const char* key, const char* first, const char* second, const std::map<X, double>& map) {
        Json array = Json::array();
        for (const auto& [x, y] : map) array.push_back({{first, json_of(x)}, {second, json_of(y)}});
        object_[key] = std::move(array);
    }

    /// Writes the plan with the JSON types of its fields.
    void plan(const PlanEcho& echo) { object_["plan"] = Json::parse(echo_json(echo)); }

    void metrics(const std::vector<MetricSummary>& metrics) {
        Json object = Json::object();
        for (const MetricSummary& metric : metrics) object[metric.key] = json_of(metric);
        object_["metrics"] = std::move(object);
    }
    void percentiles(const std::vector<PercentileValue>& percentiles) {
        for (const PercentileValue& percentile : percentiles)
            object_[percentile_label(percentile.p)] = percentile.value ? json_of(*percentile.value) : Json();
    }
    void percentile_notes(const std::vector<PercentileValue>& percentiles) {
        Json intervals = Json::object();
        Json certified = Json::object();
        for (const PercentileValue& percentile : percentiles) {
            if (percentile.ci95) intervals[percentile_label(percentile.p)] = json_of(*percentile.ci95);
            certified[percentile_label(percentile.p)] = percentile.certified;
        }
        object_["ci95"] = std::move(intervals);
        object_["certified"] = std::move(certified);
        percentile_note("instrument", percentiles, &PercentileValue::instrument);
        percentile_note("effective_n", percentiles, &PercentileValue::effective_n);
        percentile_note("enough_n", percentiles, &PercentileValue::enough_n);
        percentile_note("decided", percentiles, &PercentileValue::decided);
    }
    /// Writes a member of the percentiles that have it; nothing if none has it.
    template <class T>
    void percentile_note(const char* name, const std::vector<PercentileValue>& percentiles,
                         std::optional<T> PercentileValue::*member) {
        Json notes = Json::object();
        for (const PercentileValue& percentile : percentiles)
            if (percentile.*member) notes[percentile_label(percentile.p)] = json_of(*(percentile.*member));
        if (!notes.empty()) object_[name] = std::move(notes);
    }

    void histogram(const Histogram& histogram) {
        Json buckets = Json::object();
        for (const auto& [bucket, count] : histogram.buckets()) buckets[std::to_string(bucket)] = count;
        object_["buckets"] = std::move(buckets);
        (*this)("sum_s", histogram.sum());
        (*this)("max_s", histogram.max());
    }

    template <class T>
    static Json json_of(const T& value, TimePoint epoch = {}) {
        if constexpr (std::same_as<T, TimePoint>) {
            return seconds(value - epoch);
        } else if constexpr (std::same_as<T, Duration>) {
            return seconds(value);
        } else if constexpr (std::is_enum_v<T>) {
            return std::string(name_of(value));
        } else if constexpr (std::same_as<T, double>) {
            return std::isfinite(value) ? Json(value) : Json();
        } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
            return value;
        } else if constexpr (std::same_as<T, Interval>) {
            return Json::array({json_of(value.low), json_of(value.high)});
        } else if constexpr (std::same_as<T, Figures>) {
            Json object = Json::object();
            for (const FigureValue& figure : value.values) {
                object[figure.key] = json_of(figure.value);
                if (figure.ci95) object[figure.key + std::string(kIntervalSuffix)] = json_of(*figure.ci95);
            }
            return object;
        } else if constexpr (kIsVector<T>) {
            Json array = Json::array();
            for (const auto& element : value) array.push_back(json_of(element, epoch));
            return array;
        } else if constexpr (kIsMap<T>) {
            Json object = Json::object();
            for (const auto& [key, element] : value) object[key] = json_of(element, epoch);
            return object;
        } else {
            Writer writer(epoch);
            fields(writer, value);
            return writer.take();
        }
    }

  private:
    TimePoint epoch_;
    Json object_ = Json::object();
};

/// Bytes that are not UTF-8 (a server's error text may hold anything) become U+FFFD, so that the file stays
/// JSON.
std::string text_of(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// ---- value → one line of text

/// Writes lines of requests.jsonl fast, without building a tree. Absent and empty values are left out.
class LineWriter {
  public:
    LineWriter(std::string& out, TimePoint epoch) : out_(out), epoch_(epoch) { out_ += '{'; }
    void close() { out_ += '}'; }

    template <class T>
    void operator()(const char* key, const T& value) {
        if constexpr (kIsOptional<T>) {
            if (value) (*this)(key, *value);
        } else if constexpr (std::is_enum_v<T>) {
            add_text(key, name_of(value));
        } else if constexpr (std::same_as<T, std::string>) {
            if (!value.empty()) add_text(key, value);
        } else if constexpr (std::same_as<T, bool>) {
            if (value) add(key, "true");
        } else if constexpr (std::same_as<T, TimePoint>) {
            add(key, seconds(value - epoch_));
        } else if constexpr (std::same_as<T, Duration>) {
            add(key, seconds(value));
        } else {
            static_assert(std::integral<T>);
            add(key, value);
        }
    }
    template <class T>
    void required(const char* key, const T& value) {
        (*this)(key, value);
    }
    template <class T, class Part>
    void part(const char* key, const std::optional<T>& whole, Part T::*member) {
        if (whole) (*this)(key, (*whole).*member);
    }

  private:
    void separate() {
        if (out_.back() != '{') out_ += ',';
    }
    template <class T>
    void add(const char* key, const T& value) {
        separate();
        fmt::format_to(std::back_inserter(out_), "\"{}\":{}", key, value);
    }
    void add_text(const char* key, std::string_view text) {
        separate();
        fmt::format_to(std::back_inserter(out_), "\"{}\":", key);
        const auto is_plain = [](unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
        if (std::all_of(text.begin(), text.end(), is_plain))
            fmt::format_to(std::back_inserter(out_), "\"{}\"", text);
        else
            out_ += text_of(Json(text), -1);
    }

    std::string& out_;
    TimePoint epoch_;
};

// ---- JSON → value

/// What the error says of a file that cannot be a result of this program.
constexpr std::string_view kForeign =
    "the file was not written by paretoken, or was changed: restore it, or measure again";

/// Fills values from JSON. An absent value stays as it was; a value of another type throws a UsageError with
/// the file and the path of the key.
class Reader {
  public:
    Reader(const Json& object, std::string where, std::string prefix, TimePoint epoch)
        : object_(object), where_(std::move(where)), prefix_(std::move(prefix)), epoch_(epoch) {
        if (!object.is_object()) refuse(object, prefix_, "an object");
    }

    template <class T>
    void operator()(const char* key, T& value) const {
        if (const auto found = object_.find(key); found != object_.end()) fill(*found, path_of(key), value);
    }
    template <class T>
    void required(const char* key, T& value) const {
        require(key);
        (*this)(key, value);
    }
    template <class T, class Part>
    void part(const char* key, std::optional<T>& whole, Part T::*member) const {
        if (!object_.contains(key)) return;
        if (!whole) whole.emplace();
        (*this)(key, (*whole).*member);
    }

    void unless_empty(const char* key, std::string& text) const { (*this)(key, text); }
    template <class X>
    void pairs(const char* key, const char* first, const char* second, std::map<X, double>& map) const {
        const auto found = object_.find(key);
        if (found == object_.end()) return;
        if (!found->is_array()) refuse(*found, path_of(key), "an array");
        map.clear();
        for (std::size_t i = 0; i < found->size(); ++i) {
            const Reader pair((*found)[i], where_, fmt::format("{}[{}]", path_of(key), i), epoch_);
            X x{};
            double y = 0;
            pair.required(first, x);
            pair.required(second, y);
            if constexpr (std::same_as<X, double>)
                if (!std::isfinite(x)) refuse((*found)[i].at(first), pair.path_of(first), "a number");
            map[x] = y;
        }
    }

    void histogram(Histogram& histogram) const {
        std::map<std::string, std::uint64_t> named;
        Duration sum{};
        Duration max{};
        (*this)("buckets", named);
        (*this)("sum_s", sum);
        (*this)("max_s", max);
        std::map<std::uint32_t, std::uint64_t> buckets;
        for (const auto& [name, count] : named) {
            std::uint32_t bucket = 0;
            const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), bucket);
            if (error == std::errc{} && end == name.data() + name.size()) buckets[bucket] = count;
        }
        histogram = Histogram::restored(buckets, sum, max);
    }

    void plan(PlanEcho& echo) const {
        require("plan");
        const Json& object = object_.at("plan");
        if (!object.is_object()) refuse(object, path_of("plan"), "an object");
        for (const auto& [key, value] : object.items())
            echo[key] = value.is_string() ? value.template get<std::string>() : value.dump();
    }

    void metrics(std::vector<MetricSummary>& metrics) const {
        require("metrics");
        const Json& object = object_.at("metrics");
        if (!object.is_object()) refuse(object, path_of("metrics"), "an object");
        metrics.clear();
        for (const auto& [key, summary] : object.items()) {
            metrics.emplace_back().key = key;
            fill(summary, path_of("metrics." + key), metrics.back());
        }
    }
    void percentiles(std::vector<PercentileValue>& percentiles) const {
        for (const auto& [key, value] : object_.items())
            if (const std::optional<double> p = percentile_labelled(key)) {
                percentiles.emplace_back().p = *p;
                fill(value, path_of(key), percentiles.back().value);
            }
    }
    void percentile_notes(std::vector<PercentileValue>& percentiles) const {
        percentile_note<Interval>("ci95", percentiles, &PercentileValue::ci95);
        percentile_note<bool>("certified", percentiles, &PercentileValue::certified);
        percentile_note<double>("effective_n", percentiles, &PercentileValue::effective_n);
        percentile_note<std::uint64_t>("enough_n", percentiles, &PercentileValue::enough_n);
        percentile_note<Interval>("decided", percentiles, &PercentileValue::decided);
        percentile_note<double>("instrument", percentiles, &PercentileValue::instrument);
    }
    /// Sets a member, a T or an optional one, of the percentiles that the object `name` has.
    template <class T, class Member>
    void percentile_note(const char* name, std::vector<PercentileValue>& percentiles,
                         Member PercentileValue::*member) const {
        std::map<std::string, T> notes;
        (*this)(name, notes);
        for (PercentileValue& percentile : percentiles)
            if (const auto found = notes.find(percentile_label(percentile.p)); found != notes.end())
                percentile.*member = found->second;
    }

  private:
    std::string path_of(const std::string& key) const { return prefix_.empty() ? key : prefix_ + "." + key; }

    /// Refuses a file without this key.
    void require(const char* key) const {
        if (!object_.contains(key))
            throw UsageError(fmt::format("{}: key \"{}\" is missing; {}", where_, path_of(key), kForeign));
    }

    [[noreturn]] void refuse(const Json& json, const std::string& path, std::string_view expected) const {
        throw UsageError(fmt::format("{}: {} is {}, {} was expected; {}", where_,
                                     path.empty() ? "the content" : fmt::format("key \"{}\"", path),
                                     kind_of(json), expected, kForeign));
    }
    static std::string kind_of(const Json& json) {
        const std::string name = json.type_name();
        if (name == "null") return name;
        return (name == "array" || name == "object" ? "an " : "a ") + name;
    }

    template <class T>
    void fill(const Json& json, const std::string& path, T& value) const {
        if constexpr (kIsOptional<T>) {
            if (json.is_null())
                value.reset();
            else
                fill(json, path, value.emplace());
        } else if constexpr (std::is_enum_v<T>) {
            if (!json.is_string()) refuse(json, path, "a string");
            std::optional<T> named;
            enum_named(json.get_ref<const std::string&>(), named);
            if (!named)
                throw UsageError(
                    fmt::format("{}: key \"{}\" is \"{}\", which this version of paretoken does not know; "
                                "use the version that wrote the file",
                                where_, path, json.get_ref<const std::string&>()));
            value = *named;
        } else if constexpr (std::same_as<T, std::string>) {
            if (!json.is_string()) refuse(json, path, "a string");
            value = json.get<std::string>();
        } else if constexpr (std::same_as<T, bool>) {
            if (!json.is_boolean()) refuse(json, path, "true or false");
            value = json.get<bool>();
        } else if constexpr (std::same_as<T, double>) {
            if (!json.is_number() && !json.is_null()) refuse(json, path, "a number");
            value = json.is_null() ? kInfinity : json.get<double>();
        } else if constexpr (std::integral<T>) {
            fill_integer(json, path, value);
        } else if constexpr (std::same_as<T, TimePoint>) {
            value = epoch_ + duration_of(json, path);
        } else if constexpr (std::same_as<T, Duration>) {
            value = duration_of(json, path);
        } else if constexpr (std::same_as<T, Interval>) {
            if (!json.is_array() || json.size() != 2) refuse(json, path, "an array of two numbers");
            fill(json[0], path + "[0]", value.low);
            fill(json[1], path + "[1]", value.high);
        } else if constexpr (std::same_as<T, Figures>) {
            fill_figures(json, path, value);
        } else if constexpr (kIsVector<T>) {
            if (!json.is_array()) refuse(json, path, "an array");
            value.clear();
            for (std::size_t i = 0; i < json.size(); ++i)
                fill(json[i], fmt::format("{}[{}]", path, i), value.emplace_back());
        } else if constexpr (kIsMap<T>) {
            if (!json.is_object()) refuse(json, path, "an object");
            value.clear();
            for (const auto& [key, element] : json.items()) fill(element, path + "." + key, value[key]);
        } else {
            Reader reader(json, where_, path, epoch_);
            fields(reader, value);
        }
    }
    void fill_figures(const Json& json, const std::string& path, Figures& figures) const {
        if (!json.is_object()) refuse(json, path, "an object");
        figures.values.clear();
        for (const auto& [key, element] : json.items()) {
            if (key.ends_with(kIntervalSuffix)) continue;
            FigureValue figure{key, 0, std::nullopt};
            fill(element, path + "." + key, figure.value);
            const std::string interval = key + std::string(kIntervalSuffix);
            if (json.contains(interval)) fill(json.at(interval), path + "." + interval, figure.ci95);
            figures.values.push_back(std::move(figure));
        }
    }
    template <class T>
    void fill_integer(const Json& json, const std::string& path, T& value) const {
        const bool fits =
            std::is_unsigned_v<T>
                ? json.is_number_unsigned() && json.get<std::uint64_t>() <= std::numeric_limits<T>::max()
                : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
        if (!fits) refuse(json, path, std::is_unsigned_v<T> ? "a whole number ≥ 0" : "a whole number");
        value = json.get<T>();
    }
    Duration duration_of(const Json& json, const std::string& path) const {
        constexpr double kLongest = 9e9;  // seconds; more would overflow 64 bits of nanoseconds
        if (!json.is_number() || std::abs(json.get<double>()) > kLongest)
            refuse(json, path, "a time in seconds");
        return from_seconds(json.get<double>());
    }

    const Json& object_;
    std::string where_;
    std::string prefix_;
    TimePoint epoch_;
};

Json parsed(std::string_view text, const std::string& where) {
    if (nests_deeper_than(kDeepestJson, text)) {
        throw UsageError(fmt::format("{}: nested deeper than {} levels; {}", where, kDeepestJson, kForeign));
    }
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        throw UsageError(
            fmt::format("{}: invalid JSON at byte {}; the file is cut off, or was not written by paretoken",
                        where, error.byte));
    } catch (const Json::out_of_range&) {
        throw UsageError(fmt::format("{}: a number is beyond what a double holds; {}", where, kForeign));
    }
}

void expect(const Json& json, const char* key, std::string_view expected, const std::string& where) {
    std::string found = "missing";
    if (json.is_object() && json.contains(key))
        found = json.at(key).dump(-1, ' ', true, Json::error_handler_t::replace);
    if (found != fmt::format("\"{}\"", expected))
        throw UsageError(
            fmt::format("{}: key \"{}\" is {}, and this version of paretoken reads \"{}\"; use the version "
                        "that wrote the file, or measure again",
                        where, key, found, expected));
}

/// Reads a T from `json`, which holds the fields of T.
template <class T>
T read_fields(const Json& json, const std::string& where, TimePoint epoch = {}) {
    T value;
    Reader reader(json, where, "", epoch);
    fields(reader, value);
    return value;
}

}  // namespace

// ---- run.json

std::string run_json(const RunResult& result) {
    Json json = {{"schema", std::string(kRunSchema)}, {"definitions", std::string(kDefinitions)}};
    json.update(Writer::json_of(result));
    return text_of(json, 1) + "\n";
}

RunResult parse_run_json(std::string_view text, const std::string& where) {
    constexpr std::string_view kBefore = "paretoken/run/2";  // had "state", and else the same keys
    const Json json = parsed(text, where);
    const bool is_before = json.is_object() && json.value("schema", Json()) == kBefore;
    if (is_before && json.value("state", Json()) != "finished")
        throw UsageError(
            fmt::format("{}: the run was killed, and its records are those of an earlier version; use the "
                        "version that wrote them, or measure again",
                        where));
    if (!is_before) expect(json, "schema", kRunSchema, where);
    expect(json, "definitions", kDefinitions, where);
    return read_fields<RunResult>(json, where);
}

// ---- begun.json and ended.json

std::string begun_json(const Begun& begun, const Judging& judging) {
    Json json = {{"schema", std::string(kBegunSchema)}, {"definitions", std::string(kDefinitions)}};
    json.update(Writer::json_of(begun));
    json["judging"] = Writer::json_of(judging);
    return text_of(json, 1) + "\n";
}

BegunFile parse_begun_json(std::string_view text, const std::string& where) {
    const Json json = parsed(text, where);
    expect(json, "schema", kBegunSchema, where);
    expect(json, "definitions", kDefinitions, where);
    BegunFile file;
    file.begun = read_fields<Begun>(json, where);
    Reader(json, where, "", {}).required("judging", file.judging);
    return file;
}

std::string ended_json(const Recorded& recorded, const std::map<std::string, FileMark>& files) {
    Json json = {{"schema", std::string(kEndedSchema)},
                 {"run_id", recorded.begun.provenance.run_id},
                 {"files", Writer::json_of(files)}};
    json.update(Writer::json_of(recorded, recorded.observed.began));
    return text_of(json, -1) + "\n";
}

std::map<std::string, FileMark> parse_ended_json(std::string_view text, const std::string& where,
                                                 Recorded& recorded) {
    const Json json = parsed(text, where);
    expect(json, "schema", kEndedSchema, where);
    Reader reader(json, where, "", recorded.observed.began);
    fields(reader, recorded);
    std::string run_id;
    reader.required("run_id", run_id);
    if (run_id != recorded.begun.provenance.run_id)
        throw UsageError(fmt::format(
            "{} is of the run {}, and the begun.json beside it of the run {}: they are files of two "
            "runs; restore the file that was replaced",
            where, run_id, recorded.begun.provenance.run_id));
    std::map<std::string, FileMark> files;
    reader.required("files", files);
    return files;
}

// ---- sweep.json

std::string sweep_json(const SweepFile& sweep) {
    Json json = {{"schema", std::string(kSweepSchema)}};
    json.update(Writer::json_of(sweep));
    return text_of(json, 1) + "\n";
}

SweepFile parse_sweep_json(std::string_view text, const std::string& where) {
    const Json json = parsed(text, where);
    expect(json, "schema", kSweepSchema, where);
    return read_fields<SweepFile>(json, where);
}

// ---- cache.json

std::string cache_json(const CacheReport& report) {
    Json json = {{"schema", std::string(kCacheSchema)}, {"version", version()}};
    json.update(Writer::json_of(report));
    return text_of(json, 1) + "\n";
}

CacheReport parse_cache_json(std::string_view text, const std::string& where) {
    const Json json = parsed(text, where);
    expect(json, "schema", kCacheSchema, where);
    return read_fields<CacheReport>(json, where);
}

// ---- requests.jsonl

void append_record_line(std::string& out, const RequestRecord& record, TimePoint epoch,
                        const std::string& trace_id) {
    LineWriter writer(out, epoch);
    fields(writer, record);
    writer("trace_id", trace_id);
    writer.close();
}

void append_answer_line(std::string& out, const RequestRecord& record) {
    LineWriter writer(out, {});
    writer("index", record.index);
    writer("id", record.id);
    writer("warmup", record.warmup);
    writer.part("conversation", record.turn, &Turn::conversation);
    writer.part("turn", record.turn, &Turn::number);
    writer("text", record.answer);
    writer.close();
}

RequestRecord parse_record_line(std::string_view line, TimePoint epoch, const std::string& where) {
    auto record = read_fields<RequestRecord>(parsed(line, where), where, epoch);
    try {
        if (!record.slo.empty()) (void)RequestSlos().of(record.slo);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}: \"slo\": {}", where, error.what()));
    }
    return record;
}

KeptAnswer parse_answer_line(std::string_view line, const std::string& where) {
    return read_fields<KeptAnswer>(parsed(line, where), where);
}

void append_probe_line(std::string& out, const ProbeAnswer& answer) {
    LineWriter writer(out, {});
    fields(writer, answer);
    writer.close();
}

ProbeAnswer parse_probe_line(std::string_view line, const std::string& where) {
    return read_fields<ProbeAnswer>(parsed(line, where), where);
}

bool is_complete_json(std::string_view text) {
    return Json::accept(text);
}

// ---- the report

std::string report_json(const ReportModel& model) {
    Json json = {{"schema", std::string(kReportSchema)}, {"definitions", std::string(kDefinitions)}};
    json.update(Writer::json_of(model));
    for (Json& configuration : json["configurations"])
        for (Json& point : configuration["points"]) point["run"].erase("series");
    return text_of(json, 1) + "\n";
}

namespace {

Json value_or_null(const std::optional<double>& value) {
    return value ? Writer::json_of(*value) : Json();
}

/// [p50, p95, p99] of one metric, and for each of them whether it has enough samples.
Json percentiles_of(const RunResult& run, std::string_view key) {
    Json values = Json::array();
    Json certified = Json::array();
    for (const double p : {.5, .95, .99}) {
        const MetricSummary* metric = run.metric(key);
        const PercentileValue* value = metric ? metric->at(p) : nullptr;
        values.push_back(value ? value_or_null(value->value) : Json());
        certified.push_back(value && value->certified);
    }
    return {{"values", values}, {"certified", certified}};
}

/// One array for every pair of axes: [1] on the front, [0] unfit for it, or [2, within noise, configuration,
/// point] with the point that dominates it.
Json chart_places(const ReportPoint& point) {
    Json places = Json::array();
    for (const FrontPlace& place : point.places) {
        if (place.dominated_by)
            places.push_back({2, place.within_noise ? 1 : 0, place.dominated_by->configuration,
                              place.dominated_by->point});
        else
            places.push_back({place.on_front ? 1 : 0});
    }
    return places;
}

Json chart_xs(const ReportPoint& point) {
    Json xs = Json::array();
    for (const FrontX& x : front_xs()) xs.push_back(value_or_null(front_value(point, x)));
    return xs;
}

/// The axes that the page can draw the front with.
Json chart_axes(const FrontNote& front) {
    Json xs = Json::array();
    for (const FrontX& x : front_xs()) {
        xs.push_back(
            {{"name", x.name}, {"title", x.title}, {"short", x.brief}, {"more", x.higher_is_better}});
        const auto limit = std::find_if(front.limits.begin(), front.limits.end(),
                                        [&](const AxisLimit& one) { return one.x == x.name; });
        if (limit != front.limits.end())
            xs.back()["limit"] = {{"value", Writer::json_of(limit->value)}, {"text", limit->text}};
    }
    Json ys = Json::array();
    for (const FrontY& y : front_ys())
        ys.push_back(
            {{"name", y.name}, {"title", y.title}, {"short", y.brief}, {"more", y.higher_is_better}});
    return {
        {"xs", xs}, {"ys", ys}, {"x", front.over_time ? std::string(kDateAxis) : front.x}, {"y", front.y}};
}

/// The distinct commands of all runs, so that each is written once; a run holds the index of its command.
class Commands {
  public:
    std::size_t place_of(const std::string& command) {
        const auto [found, is_new] = places_.try_emplace(command, places_.size());
        if (is_new) list_.push_back(command);
        return found->second;
    }
    const Json& list() const { return list_; }

  private:
    std::map<std::string, std::size_t> places_;
    Json list_ = Json::array();
};

Json chart_point(const ReportPoint& point, Commands& commands) {
    const auto& cost = point.cost;
    const auto interval = point.result.throughput.interval(figure::kOutputTokens);
    return {{"label", point.load_label},
            {"load", Writer::json_of(point.load)},
            {"open", point.open_loop},
            {"xs", chart_xs(point)},
            {"places", chart_places(point)},
            {"tps", value_or_null(point.output_tokens_per_s)},
            {"tpsCi", interval ? Writer::json_of(*interval) : Json()},
            {"usd", cost ? Writer::json_of(cost->usd_per_m_output) : Json()},
            {"usdCi",
             cost && cost->usd_per_m_output_ci95 ? Writer::json_of(*cost->usd_per_m_output_ci95) : Json()},
            {"limitTps", value_or_null(point.limit_output_tokens_per_s)},
            {"ofLimit", value_or_null(point.of_limit)},
            {"band", cost && cost->price_band ? Writer::json_of(*cost->price_band) : Json()},
            {"certified", point.certified},
            {"invalid", point.result.validity.verdict == Verdict::invalid},
            {"slo", point.limits ? Json(name_of(*point.limits)) : Json()},
            {"whyNot", point.why_not.starts_with("dominated by") ? "" : point.why_not},
            {"at", point.result.provenance.started_at},
            {"gpus", std::max<std::uint32_t>(point.result.provenance.hardware_count, 1)},
            {"command", commands.place_of(point.result.provenance.command)},
            {"ttft", percentiles_of(point.result, headline_key("ttft", point.open_loop))},
            {"itl", percentiles_of(point.result, "itl_s")}};
}

Json chart_curve(const std::vector<LimitPoint>& points) {
    Json curve = Json::array();
    for (const LimitPoint& point : points)
        curve.push_back({{"x", Writer::json_of(point.interactivity)},
                         {"tps", Writer::json_of(point.output_tokens_per_s)},
                         {"usd", value_or_null(point.usd_per_m_output)},
                         {"batch", Writer::json_of(point.batch)}});
    return curve;
}

Json chart_configuration(const Configuration& configuration, Commands& commands) {
    Json points = Json::array();
    for (const ReportPoint& point : configuration.points) {
        points.push_back(chart_point(point, commands));
        if (!point.reached) points.back()["hidden"] = true;
    }
    bool open_loop = false;
    bool closed_loop = false;
    for (const ReportPoint& point : configuration.points) (point.open_loop ? open_loop : closed_loop) = true;
    return {{"title", configuration.title},
            {"name", configuration.name.empty() ? configuration.title : configuration.name},
            {"workload", configuration.workload},
            {"points", points},
            {"limit", chart_curve(configuration.hard_limit)},
            {"datasheet", chart_curve(configuration.datasheet)},
            {"sizeAware", chart_curve(configuration.size_aware)},
            {"reachable", chart_curve(configuration.reachable)},
            {"openLoop", open_loop},
            {"closedLoop", closed_loop}};
}

/// Estimates have an x only for interactivity; no other axis is estimated.
Json chart_what_if(const WhatIf& what_if) {
    Json points = Json::array();
    for (const Estimate& estimate : what_if.points)
        points.push_back({{"label", estimate.load_label},
                          {"x", value_or_null(estimate.interactivity)},
                          {"tps", Writer::json_of(estimate.output_tokens_per_s)},
                          {"usd", value_or_null(estimate.usd_per_m_output)},
                          {"ofLimit", Writer::json_of(estimate.of_limit)}});
    return {{"configuration", what_if.configuration},
            {"asked", what_if.asked},
            {"title", what_if.title},
            {"gpus", what_if.gpus},
            {"points", points}};
}

/// A number rounded to four significant digits, because a page holds many numbers.
Json brief(double value) {
    if (!std::isfinite(value)) return {};
    const double rounded = std::stod(fmt::format("{:.4g}", value));
    constexpr double kMostExact = 1e15;
    const bool is_whole = std::floor(rounded) == rounded && std::abs(rounded) < kMostExact;
    return is_whole ? Json(static_cast<std::int64_t>(rounded)) : Json(rounded);
}

/// Whether a point says nothing but its place.
bool is_bare(const PicturePoint& point) {
    return point.valid && point.row.empty() && point.note.empty() && !point.interval;
}

/// A series. If its points say nothing but their places, they are two lists of numbers, because a page may
/// have many of them.
Json chart_series(const PictureSeries& series) {
    Json json = {{"name", series.name}, {"style", series.style}};
    if (!std::all_of(series.points.begin(), series.points.end(), is_bare)) {
        json["points"] = Writer::json_of(series.points);
        return json;
    }
    Json xs = Json::array();
    Json ys = Json::array();
    for (const PicturePoint& point : series.points) {
        xs.push_back(brief(point.x));
        ys.push_back(brief(point.y));
    }
    json["xs"] = std::move(xs);
    json["ys"] = std::move(ys);
    return json;
}

Json chart_picture(const Chart& chart) {
    const Picture& picture = chart.picture;
    Json series = Json::array();
    for (const PictureSeries& one : picture.series) series.push_back(chart_series(one));
    return {{"id", chart.id},
            {"xTitle", picture.x_title},
            {"yTitle", picture.y_title},
            {"series", std::move(series)},
            {"lines", Writer::json_of(picture.lines)},
            {"marks", Writer::json_of(picture.marks)},
            {"linearX", picture.linear_x},
            {"logFrom", chart.log_from}};
}

Json chart_bars(const BarChart& chart) {
    Json bars = Json::array();
    for (const Bar& bar : chart.bars.bars)
        bars.push_back({{"name", bar.name}, {"title", bar.title}, {"total", Writer::json_of(bar.total)}});
    Json parts = Json::array();
    for (const BarPart& part : chart.bars.parts) {
        Json lengths = Json::array();
        for (const std::optional<double>& length : part.lengths) lengths.push_back(value_or_null(length));
        parts.push_back({{"name", part.name},
                         {"group", part.group},
                         {"colour", part.colour},
                         {"lengths", std::move(lengths)}});
    }
    return {{"id", chart.id},
            {"unit", chart.bars.unit},
            {"xTitle", chart.bars.x_title},
            {"bars", std::move(bars)},
            {"parts", std::move(parts)}};
}

}  // namespace

std::string chart_json(const ReportModel& model, const std::vector<Section>& sections) {
    Commands commands;
    Json configurations = Json::array();
    for (const Configuration& configuration : model.configurations)
        configurations.push_back(chart_configuration(configuration, commands));
    Json what_ifs = Json::array();
    for (const WhatIf& what_if : model.what_ifs) what_ifs.push_back(chart_what_if(what_if));
    Json pictures = Json::array();
    for (const Chart* chart : charts_of(sections)) pictures.push_back(chart_picture(*chart));
    Json bars = Json::array();
    for (const BarChart* chart : bar_charts_of(sections)) bars.push_back(chart_bars(*chart));
    const std::string text = text_of({{"axes", chart_axes(model.front)},
                                      {"configurations", configurations},
                                      {"commands", commands.list()},
                                      {"whatIfs", what_ifs},
                                      {"pictures", pictures},
                                      {"bars", bars}},
                                     -1);
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text) {
        if (c == '<')
            safe += "\\u003c";
        else
            safe += c;
    }
    return safe;
}

}  // namespace paretoken::reports
