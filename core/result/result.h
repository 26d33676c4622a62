#pragma once
// The result of one run as one plain value. Everything past it (files, tables, reports, gates) is a pure
// function of it; run.json is its image. A quantity that was not measured is absent, never zero.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/evidence/steadiness.h"
#include "core/result/figures.h"
#include "core/result/totals.h"
#include "core/units.h"

namespace paretoken {

/// The model card that a run was told to be of: enough to find it again and to notice that it has changed.
struct ModelCardNote {
    std::string
        spec;  ///< as it was given: "llama-3.1-8b:weights=int4", or a path; empty: a simulated server's own
    std::string name;     ///< of the card
    std::string weights;  ///< number format of the weights
    std::string kv;       ///< number format of the KV cache
    std::string hash;     ///< of everything that a report computes with

    bool operator==(const ModelCardNote&) const = default;
};

/// How the server was started that a command started for the measurement.
struct ServerStart {
    std::string command;         ///< as it was started, placeholders filled in, secrets hidden
    std::string version = {};    ///< as the server tells it; empty when it does not
    double ready_s = 0;          ///< from its start until it was ready
    std::uint64_t restarts = 0;  ///< starts before this one, of the same measurement
    std::string log = {};        ///< file with its output, relative to the run's directory

    bool operator==(const ServerStart&) const = default;
};

/// The origin of a result: program, host, server, time, and the command that repeats it.
struct Provenance {
    std::string version;
    std::string commit;
    std::vector<std::string> argv;
    std::string command;     ///< argv as one line that a shell takes
    std::string started_at;  ///< UTC, "2026-11-21T09:38:00Z"
    std::string host;        ///< name of the machine that made the load
    std::string host_cpu;    ///< its CPU model
    std::uint32_t host_cores = 0;
    std::string kernel;
    std::string clock;  ///< "kernel receive stamps" or "user-space reads"
    std::string url;
    std::string model;        ///< the id requests asked for
    std::string server_kind;  ///< "vllm", "llama.cpp", "paretoken-sim", … or empty
    std::string hardware;     ///< what served: --gpu, "sim:PROFILE", else the host's CPU for a local server
    std::uint32_t hardware_count = 1;
    std::map<std::string, double> simulator;  ///< terms of the profile's own limit; empty for a real server
    std::optional<ModelCardNote> model_card = {};
    std::map<std::string, std::string> metadata;  ///< --metadata K=V
    std::optional<ServerStart> server = {};       ///< absent where the server was there already

    bool operator==(const Provenance&) const = default;
};

/// The plan as asked for, in the words of the command line (effective values, aliases resolved, secrets
/// hidden).
using PlanEcho = std::map<std::string, std::string>;

/// A mean length in tokens, as asked for and as the server counted it.
struct Asked {
    double asked = 0;
    double counted = 0;

    bool operator==(const Asked&) const = default;
};

/// The description of the load's requests. Runs are comparable when their fingerprints are equal; the salt
/// and the load level are not part of a fingerprint.
struct Workload {
    std::string fingerprint;  ///< 16 hex digits over everything below
    std::string dataset;      ///< "synthetic:isl=512,osl=128"
    std::string endpoint;     ///< "chat" or "completions"
    std::uint64_t seed = 0;
    std::string salt;
    std::string prompt_form;    ///< "token ids" or "text"
    std::string length_source;  ///< "token ids", "/tokenize", "usage" or "uncalibrated"
    /// The material of generated prompts: "random words", "random token ids", or the name of a text file and
    /// the hash of its content. Empty where the dataset holds all prompts.
    std::string text = {};
    std::optional<double> wanted_input_tokens;  ///< means
    std::optional<double> wanted_output_tokens;
    std::optional<double> achieved_input_tokens;
    std::optional<double> achieved_output_tokens;
    /// Means of what the server counted and of what was asked for, over the same requests; a deviation is a
    /// server that counts otherwise or does otherwise than it was told. Absent where no length was asked for.
    std::optional<Asked> input_length;
    std::optional<Asked> output_length;
    /// Cached prompt tokens of a request that shares nothing but the chat template with those before it, as
    /// two probes with salts of their own were told. Absent where requests are made to share more, or usage
    /// does not tell.
    std::optional<double> cached_by_template = {};

    bool operator==(const Workload&) const = default;
};

enum class Verdict : std::uint8_t { valid, warn, invalid };
std::string_view name_of(Verdict verdict);
std::optional<Verdict> verdict_named(std::string_view name);

struct Reason {
    Verdict severity = Verdict::warn;
    std::string check;  ///< stable name, e.g. "loop_lag"
    std::string text;   ///< one sentence with the figures

    bool operator==(const Reason&) const = default;
};

struct Validity {
    Verdict verdict = Verdict::valid;
    std::vector<Reason> reasons;

    bool operator==(const Validity&) const = default;
};

/// The stretch that the headline figures are taken from, in seconds since the run's start: when the first
/// measured request was due.
struct Window {
    double begin_s = 0;
    double end_s = 0;
    double run_s = 0;     ///< the whole run, first dispatch to last byte
    bool steady = false;  ///< false: no steady state was found and the window is the whole run
    bool overloaded =
        false;        ///< an open loop whose queue grew: the server does not keep up with the arrivals
    std::string how;  ///< one sentence
    std::vector<SteadyTest> tests{};  ///< for trends and shifts of the series of which the window is judged
    double zero_s = 0;  ///< the run's start in the seconds of requests.jsonl: warm-up lies before it

    bool operator==(const Window&) const = default;
};

struct Counts {
    std::uint64_t requests = 0;  ///< without warm-up and cancelled ones
    std::uint64_t ok = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t abandoned = 0;  ///< of the requests, those that users hung up on
    std::uint64_t warmup = 0;
    std::uint64_t in_window = 0;  ///< scheduled inside the window
    std::uint64_t resent = 0;
    std::uint64_t without_events = 0;  ///< answered with output, but no events were kept: in no pooled metric
    std::uint64_t unstreamed = 0;      ///< ok, but in one piece although a stream was asked for
    std::map<std::string, std::uint64_t> by_outcome;    ///< failures: outcome name → requests
    std::map<std::string, std::string> example_errors;  ///< outcome name → the first error text seen

    bool operator==(const Counts&) const = default;
};

struct PercentileValue {
    double p = 0;                 ///< .5, .75, .9, .95, .99, .999
    std::optional<double> value;  ///< nothing when it falls among failures
    /// Absent when the evidence is insufficient. An end among failures is +infinity (null in JSON).
    std::optional<Interval> ci95 = {};
    /// The effective sample is large enough to certify this percentile, were none over a limit; never when it
    /// is not for a lower percentile.
    bool certified = false;
    std::optional<double> effective_n =
        {};  ///< independent samples that say as much (core/evidence/evidence.h)
    std::optional<std::uint64_t> enough_n =
        {};  ///< without `ci95`: requests (pooled: values) that would be enough
    /// Limits that the values decide at 99 %: one below `low` is missed, one at or above `high` is met,
    /// between them the evidence is insufficient. The other way round where higher is better.
    std::optional<Interval> decided = {};

    bool operator==(const PercentileValue&) const = default;
};

/// Whether a percentile meets a limit, at 99 % confidence on the effective sample.
enum class SloVerdict : std::uint8_t { pass, fail, insufficient };

/// The verdict of a run on a limit on a percentile.
struct SloResult {
    std::string key;                         ///< "ttft_p95"
    double p = 0;                            ///< .95
    double limit = 0;                        ///< in the metric's unit
    std::optional<double> value = {};        ///< of the percentile; nothing when it falls among failures
    std::uint64_t n = 0;                     ///< requests of the window, failures included
    std::optional<double> n_effective = {};  ///< independent samples that say as much
    std::uint64_t over = 0;                  ///< of the n, those that miss the limit
    SloVerdict verdict = SloVerdict::insufficient;

    bool operator==(const SloResult&) const = default;
};

struct MetricSummary {
    std::string key;             ///< "ttft_s"
    std::uint64_t n = 0;         ///< with failures, for per-request metrics
    std::optional<double> mean;  ///< of successes
    std::optional<double> std;
    std::optional<double> min;
    std::optional<double> max;
    std::vector<PercentileValue> percentiles;
    double failed_mass = 0;  ///< share of n that failed

    bool operator==(const MetricSummary&) const = default;

    const PercentileValue* at(double p) const;  ///< nothing when that percentile is not held
};

/// How many questions of a probe were answered as expected.
struct ProbeScore {
    std::string
        probe;  ///< which questions: "recall:ctx=4096,n=40", or a file's name and the hash of its content
    double score = 0;     ///< share of right answers
    std::uint64_t n = 0;  ///< questions
    Interval ci95 = {};   ///< of the score (Wilson 1927)

    bool operator==(const ProbeScore&) const = default;
};

/// The client's own figures: whether it was the bottleneck.
struct ClientHealth {
    std::string timing;                        ///< "kernel" or "user"
    std::optional<double> kernel_stamp_share;  ///< of events
    std::optional<double> loop_lag_p50_s;      ///< loop part of send_lag
    std::optional<double> loop_lag_p99_s;
    std::optional<double> connection_wait_p99_s;
    std::optional<double> slot_wait_p99_s;
    std::optional<double> refill_lag_mean_s;    ///< closed loop
    std::optional<double> achieved_rate_ratio;  ///< open loop
    std::optional<double> user_delay_p50_s;     ///< read − kernel stamp
    std::optional<double> user_delay_p99_s;
    std::optional<double> unstamped_delay_p99_s;  ///< estimate for events without a stamp
    std::optional<double> grouped_share;          ///< events that shared a read with the one before
    std::optional<double> late_grouped_share;     ///< events grouped because the client read late
    std::optional<double> cpu_share;              ///< busiest worker, of one core
    std::optional<double> cpu_windows_above_85;   ///< share of 100 ms windows
    std::optional<double> hiccup_share;           ///< time a meter thread lost to the host
    std::optional<double> retransmit_share;       ///< TCP segments
    std::optional<double> clock_jump_max_s;  ///< largest jump of the realtime clock against the monotonic one
    std::uint64_t connections_opened = 0;
    std::uint32_t workers = 0;

    bool operator==(const ClientHealth&) const = default;
};

/// A quantity over time, in seconds since the run's start (Window::zero_s). `times_s` and `values` are
/// equally long; times ascend, and a moment without a value is left out.
struct Series {
    std::string name;    ///< "output_tokens_per_s"
    std::string unit;    ///< "tok/s"
    std::string source;  ///< "requests", or what was scraped or read
    std::vector<double> times_s;
    std::vector<double> values;

    bool operator==(const Series&) const = default;
};

/// The server's own figures from /metrics while the load was made. Keys are quantities, e.g. "running"
/// (mean of a gauge), "running_max", "generation_tokens" (growth of a counter), "queue_mean_s" (mean of what
/// was added to a histogram), "prefix_hit_ratio". Of several engines counters and numbers of requests are
/// sums, shares are means, and "running_imbalance" is the largest engine's mean ÷ the mean of all.
struct ServerFigures {
    std::string engine;                          ///< "vllm", "sglang", "trtllm", "tgi", "llamacpp", or empty
    std::optional<std::uint64_t> engines = {};   ///< whose figures these are; absent for one
    std::map<std::string, std::string> sources;  ///< quantity → the metric that it was read from
    std::map<std::string, double> window;
    std::map<std::string, double> whole_run;
    std::map<std::string, double> asked;  ///< what this client's requests add up to, warm-up included
    /// Share of the window's passes whose i-th drafted token was accepted; empty where it is not told.
    std::vector<double> accepted_per_position = {};
    std::map<std::string, std::string> config = {};  ///< the server's own settings, secrets hidden
    std::uint64_t scrapes = 0;
    std::uint64_t failed_scrapes = 0;
    std::string note;  ///< why there is nothing more, one sentence

    bool operator==(const ServerFigures&) const = default;
};

/// How an alert stands. Unknown: its series was not measured, or it needs a baseline and none was given.
enum class AlertState : std::uint8_t { inactive, pending, firing, unknown };

enum class AlertSeverity : std::uint8_t { warn, fail };

/// The result of an alert during a run.
struct AlertResult {
    std::string name;    ///< of the rule: "kv_cache_full"
    std::string series;  ///< "kv_usage"
    AlertSeverity severity = AlertSeverity::warn;
    AlertState state = AlertState::unknown;  ///< firing: it fired at some time of the run
    /// The series' worst value while the alert fired, otherwise its last one. Nothing: the series was not
    /// measured, or the value falls among failures.
    std::optional<double> value = {};
    std::optional<double> threshold = {};  ///< that values were held against, the baseline counted in
    std::optional<double> at_s = {};       ///< when it fired first, since the run's start
    std::string note = {};                 ///< one sentence: why the state is unknown

    bool operator==(const AlertResult&) const = default;
};

/// The electrical power of what served, over the window. A quantity that could not be read is absent.
struct PowerFigures {
    std::string source;                         ///< "nvml", "rapl", "dcgm"
    std::optional<std::uint32_t> devices = {};  ///< that were read: GPUs or CPU packages
    std::optional<double> mean_w = {};          ///< all devices together
    std::optional<double> energy_j = {};        ///< absent where readings are missing for more than 3 s
    std::optional<double> counter_j = {};       ///< energy by the driver's own counter
    std::optional<double> j_per_output_token = {};
    std::optional<double> j_per_token = {};  ///< input and output tokens
    std::optional<double> output_tokens_per_s_per_w = {};
    std::optional<double> throttled_share = {};  ///< readings at which a device's clocks were held down
    std::optional<double> utilization = {};      ///< mean share of the time that a GPU was busy
    std::uint64_t readings = 0;                  ///< of the whole run
    std::string note = {};                       ///< one sentence: why something is absent or doubtful

    bool operator==(const PowerFigures&) const = default;
};

/// The results for a set of requests: the whole run, a class, a target, or a turn of conversations.
struct Scope {
    Counts counts;
    std::vector<MetricSummary> metrics;  ///< in the order of the metric table
    Totals totals;                       ///< of the window
    Totals whole_run_totals;
    Figures throughput;  ///< of the window, with intervals where it is steady
    Figures whole_run;

    bool operator==(const Scope&) const = default;

    const MetricSummary* metric(std::string_view key) const;  ///< nothing when it was not measured
    /// Nothing when it was not measured or falls among failures.
    std::optional<double> percentile(std::string_view key, double p) const;
};

/// Why nothing more was started.
struct StopReason {
    std::string rule;  ///< "requests", "duration", "diverging", …, or "interrupted"
    double at_s = 0;   ///< since the run's start
    std::string text;  ///< one sentence

    bool operator==(const StopReason&) const = default;
};

/// A run with longer conversations has no scope of its own for later turns.
inline constexpr std::size_t kMostTurnScopes = 16;

/// The results for one of several servers.
struct TargetScope : Scope {
    std::string url;

    bool operator==(const TargetScope&) const = default;
};

/// The result of a run is the scope of all its requests, and what is said of the run as a whole.
struct RunResult : Scope {
    Provenance provenance;
    PlanEcho plan;
    Workload workload;
    Validity validity;
    bool partial = false;  ///< interrupted: what is here was measured, the rest was not
    std::optional<StopReason> stop;
    Window window;
    std::map<std::string, Scope> classes;  ///< by name of the class, when requests carry any
    std::vector<TargetScope> targets;      ///< of a run on several servers
    std::vector<Scope> turns;  ///< of conversations with several: the first kMostTurnScopes of them
    ClientHealth client;
    std::optional<ServerFigures> server;
    std::optional<PowerFigures> power = {};
    std::vector<Series> series;
    std::vector<SloResult> slo = {};           ///< of the limits that the run was asked to be held against
    std::optional<ProbeScore> quality = {};    ///< of the questions that were asked after the load
    std::vector<AlertResult> alerts = {};      ///< of every rule, in the order of their table
    std::optional<std::uint64_t> concurrency;  ///< the in-flight cap; the load axis of a closed loop
    std::optional<double> request_rate;        ///< requests/s asked for; the load axis of an open loop

    bool operator==(const RunResult&) const = default;

    bool open_loop() const { return request_rate.has_value(); }
};

}  // namespace paretoken
