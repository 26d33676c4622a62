#pragma once
// The result of one run as one plain value, also in run.json. What was not measured is absent, never zero.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/evidence/steadiness.h"
#include "core/record/provenance.h"
#include "core/record/reported.h"
#include "core/result/totals.h"
#include "core/units.h"

namespace paretoken {

// The keys of figures (core/result/figures.h) that the code names. A test compares them with the table.
namespace figure {
inline constexpr std::string_view kRequests = "requests_per_s";
inline constexpr std::string_view kInputTokens = "input_tokens_per_s";
inline constexpr std::string_view kFreshInputTokens = "fresh_input_tokens_per_s";
inline constexpr std::string_view kCachedInputTokens = "cached_input_tokens_per_s";
inline constexpr std::string_view kOutputTokens = "output_tokens_per_s";
inline constexpr std::string_view kTotalTokens = "total_tokens_per_s";
inline constexpr std::string_view kGoodOutputTokens = "good_output_tokens_per_s";
inline constexpr std::string_view kGoodput = "goodput_per_s";
inline constexpr std::string_view kGoodputRatio = "goodput_ratio";
inline constexpr std::string_view kMeanInFlight = "mean_in_flight";
inline constexpr std::string_view kCachedPromptRatio = "cached_prompt_ratio";
}  // namespace figure

struct FigureValue {
    std::string key;
    double value = 0;
    std::optional<Interval> ci95;  ///< interval; nothing without at least 10 blocks of time
    /// By how much the value could be higher if the client had sent and read everything at once
    /// (core/record/client_delays.h). Absent if 0, and for figures of the whole run.
    std::optional<double> instrument = {};

    bool operator==(const FigureValue&) const = default;
};

/// The figures of one interval, in the order of the table. Figures that were not measured are absent.
struct Figures {
    std::vector<FigureValue> values;

    bool operator==(const Figures&) const = default;

    std::optional<double> at(std::string_view key) const;
    std::optional<Interval> interval(std::string_view key) const;
    void set(std::string_view key, double value, std::optional<Interval> ci95 = std::nullopt);
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
    Verdict verdict = Verdict::valid;  ///< largest severity of the reasons
    std::vector<Reason> reasons;

    bool operator==(const Validity&) const = default;
};

/// The time of the headline figures, in seconds since the first measured request was due.
struct Window {
    double begin_s = 0;
    double end_s = 0;
    double run_s = 0;     ///< length of the run, from its start until the last request ended
    bool steady = false;  ///< false means that no steady state was found and the window is the whole run
    /// Whether the number of requests of an open loop that were due and not over grew.
    bool overloaded = false;
    std::string how;                  ///< one sentence
    std::vector<SteadyTest> tests{};  ///< tests for trends and shifts of the window's series
    /// How far the requests of a closed loop run in step, from 0 (independent) to 1 (core/result/rounds.h).
    std::optional<double> in_step = {};
    double zero_s = 0;  ///< the run's start on the clock of requests.jsonl, which begins with the warm-up

    bool operator==(const Window&) const = default;
};

struct Counts {
    std::uint64_t requests = 0;  ///< ok + failed + abandoned; warm-up and cancelled requests are left out
    std::uint64_t ok = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;  ///< requests that the end of the run cut off
    std::uint64_t abandoned = 0;  ///< requests on which users hung up
    std::uint64_t warmup = 0;     ///< warm-up requests of any outcome
    std::uint64_t in_window = 0;  ///< part of `requests` that was scheduled inside the window
    std::uint64_t resent = 0;     ///< part of `requests` that was sent twice
    /// Requests with output whose events were not kept; no pooled metric has them.
    std::uint64_t without_events = 0;
    std::uint64_t unstreamed = 0;  ///< part of `ok` whose answer came in one piece, not as a stream
    /// Part of `ok` whose answer was complete when its first tokens came (core/result/streaming.h).
    std::uint64_t bunched = 0;
    /// Part of `ok` whose first event came long before all others (core/result/streaming.h).
    std::uint64_t early_first = 0;
    /// Requests that waited through the whole window; metrics of single requests count them.
    std::uint64_t starved = 0;
    std::uint64_t disputed = 0;  ///< part of `ok` whose usage the stream contradicts (TokenSource::disputed)
    std::uint64_t unseen_output = 0;     ///< part of `ok` with RequestRecord::unseen_output
    std::uint64_t uncounted_output = 0;  ///< part of `ok` with RequestRecord::uncounted_output
    std::uint64_t disputed_cache = 0;    ///< part of `ok` with RequestRecord::disputed_cache
    /// Part of `ok` without a finish_reason; 0 if no answer has one.
    std::uint64_t no_finish_reason = 0;
    /// Answers from other models than asked for: name → part of `ok`.
    std::map<std::string, std::uint64_t> other_models = {};
    std::map<std::string, std::uint64_t> by_outcome;    ///< failures: outcome name → number of requests
    std::map<std::string, std::string> example_errors;  ///< outcome name → the first error text seen

    bool operator==(const Counts&) const = default;
};

/// Why a percentile is not certified, in words that follow "not certified: " on every page.
inline constexpr std::string_view kWhyUncertified =
    "too few independent requests, or no steady state was found";

struct PercentileValue {
    double p = 0;  ///< level: .5, .75, .9, .95, .99, .999, or another that was asked for
    /// Absent if it falls among failures (0 for the inverse of a latency) or beyond the last value that is
    /// known where users hung up, or if the server did not keep up with the load.
    std::optional<double> value = {};
    /// Absent when the evidence is insufficient. An end among failures is +infinity (null in JSON).
    std::optional<Interval> ci95 = {};
    /// Whether there is an interval and the effective sample is large enough to show at 99 % that this
    /// percentile meets a limit that no value exceeds; and whether lower percentiles are certified.
    bool certified = false;
    /// By how much the client's own delays may have raised the value (lowered it for a speed). Absent if 0.
    std::optional<double> instrument = {};
    /// The number of independent samples that have as much evidence. Absent without a steady state or a
    /// value, beyond the wait of an abandoned request, and for a pooled metric in a short window.
    std::optional<double> effective_n = {};
    /// Only without `ci95`: the requests (or pooled values) that would give an interval.
    std::optional<std::uint64_t> enough_n = {};
    /// The limits that are decided at 99 % confidence. If lower is better, one below `low` is missed and one
    /// at or above `high` met; if higher is better, one above `high` is missed and one at or below `low` met.
    /// Absent for pooled metrics, and if the window is not steady or too short.
    std::optional<Interval> decided = {};

    bool operator==(const PercentileValue&) const = default;
};

enum class SloVerdict : std::uint8_t {
    met,           ///< within the limit, shown at 99 % confidence on the effective sample
    within,        ///< measured within the limit, and not shown
    missed,        ///< measured over the limit; SloFinding::shown says whether that is shown
    insufficient,  ///< too few requests to say anything, or no value
};

struct SloResult {
    std::string key;                         ///< "ttft_p95"
    double p = 0;                            ///< level of the percentile: .95
    double limit = 0;                        ///< limit in the metric's unit
    std::optional<double> value = {};        ///< percentile's value; absent as in PercentileValue
    std::uint64_t n = 0;                     ///< MetricSummary::n of the metric
    std::optional<double> n_effective = {};  ///< PercentileValue::effective_n
    std::uint64_t over = 0;                  ///< requests of the window that failed or missed the limit
    std::optional<double> worst = {};        ///< slowest (or lowest) value of a request that did not fail
    SloVerdict verdict = SloVerdict::insufficient;
    bool shown = false;  ///< SloFinding::shown
    /// From times_enough() (core/result/slo.h); absent if the verdict is shown or nothing is known.
    std::optional<double> times_enough = {};
    std::string note = {};  ///< reason why the metric is absent: an unknown fact; empty if none is missing

    bool operator==(const SloResult&) const = default;
};

struct MetricSummary {
    std::string key;  ///< "ttft_s"
    /// The number of values. Failed requests count if lower values are better; a request on which the user
    /// hung up if its value is known or longer than the wait (Metric::elapsed).
    std::uint64_t n = 0;
    // Over the finite values; absent if the run withholds its percentiles:
    std::optional<double> mean;
    std::optional<double> std;
    std::optional<double> min;
    std::optional<double> max;
    std::vector<PercentileValue> percentiles;
    double failed_mass = 0;  ///< share of n that failed

    bool operator==(const MetricSummary&) const = default;

    const PercentileValue* at(double p) const;  ///< null if there is no such percentile
};

struct RuleResult {
    std::string name;
    std::string wanted;
    bool kept = false;
    std::string found;  ///< what the run has

    bool operator==(const RuleResult&) const = default;
};

inline constexpr std::array<std::string_view, 2> kBenchmarks = {"agentx", "mlperf-agentic"};

/// The rules of a published benchmark that a run was to keep (core/run/benchmark_rules.h).
struct BenchmarkRules {
    std::string benchmark;
    bool kept = false;  ///< whether all of `rules` were kept
    std::vector<RuleResult> rules = {};
    std::string not_checked = {};  ///< further rules, which a result does not show

    bool operator==(const BenchmarkRules&) const = default;
};

/// The tokens of one job over all of its turns, as the server's usage counts them.
struct JobTokens {
    double fresh = 0;  ///< prompt tokens that were computed; all of them if cached ones are not reported
    std::optional<double> cached = {};  ///< prompt tokens that came from a cache, if they are reported
    double output = 0;

    bool operator==(const JobTokens&) const = default;
};

inline constexpr std::size_t kMostJobTokens = 1000;

/// The results of the measured jobs of agents. A job that the end of the run has cut is unfinished.
struct JobResults {
    std::uint64_t ok = 0;      ///< jobs of which all turns ended well
    std::uint64_t failed = 0;  ///< jobs of which a turn failed or was given up
    std::uint64_t unfinished = 0;
    /// Over the jobs that are ok: job_turns, job_prompt_tokens, job_cached_tokens and job_output_tokens.
    std::vector<MetricSummary> metrics = {};
    /// The shares of jobs (turns that ended well in the window ÷ all turns of a job without a failed turn),
    /// summed, per hour of the window; absent if the window has no length.
    std::optional<double> jobs_per_hour = {};
    // Only with limits on jobs (--goodput job:60s): the jobs that were judged, also cut ones that are already
    // late, and those that ended well within every limit.
    std::optional<std::uint64_t> judged = {};
    std::optional<std::uint64_t> good = {};
    std::optional<double> good_jobs_per_hour = {};  ///< as jobs_per_hour
    /// The tokens of each job that ended well, by start; of every n-th if there are more than kMostJobTokens.
    std::vector<JobTokens> tokens = {};
    /// Over the requests of jobs that ended well and follow a turn of their own agent: the share of their
    /// prompts that is in the turn before, and the share of that part that came from a cache (at most 1).
    std::optional<double> continued_ratio = {};
    std::optional<double> cached_of_continued = {};
    /// InferenceX's E2E-normalized interactivity in tokens/s: 1 ÷ the percentile of end-to-end time ÷ output
    /// tokens, over the requests of the window that ended well.
    std::optional<double> e2e_normalized_interactivity_p75 = {};
    std::optional<double> e2e_normalized_interactivity_p90 = {};
    /// MLPerf's E2E interactivity in tokens/s: output tokens ÷ end-to-end time, each summed over requests.
    std::optional<double> e2e_interactivity = {};

    bool operator==(const JobResults&) const = default;

    const MetricSummary* metric(std::string_view key) const;  ///< null if there is none
};

/// Returns whether percentile p falls among the failures. Without a value otherwise, it is unknown.
bool falls_among_failures(const MetricSummary& summary, double p);

struct ProbeScore {
    /// The name of the questions: "recall:ctx=4096,n=40", or the name of a file and the hash of its content.
    std::string probe;
    double score = 0;     ///< share of right answers
    std::uint64_t n = 0;  ///< number of questions
    Interval ci95 = {};   ///< interval of the score (Wilson 1927)

    bool operator==(const ProbeScore&) const = default;
};

/// The client's own figures. Delays until sending are of requests scheduled in the window, without resent
/// ones; the achieved rate and the CPU's load are of the window, all else of the whole run.
struct ClientHealth {
    /// The clock of the events: "virtual", "kernel" if at least half of them have a kernel stamp, or "user".
    std::string timing;
    std::optional<double> kernel_stamp_share;  ///< share of events with a kernel stamp
    /// The time from the scheduled start until a request was sent, less waits for the cap and a connection.
    std::optional<double> loop_lag_p50_s;
    std::optional<double> loop_lag_p99_s;
    std::optional<double> connection_wait_p99_s;  ///< time from a request's start until it had a connection
    std::optional<double> slot_wait_p99_s;        ///< wait for the in-flight cap; only for an open loop
    std::optional<double> refill_lag_mean_s;      ///< mean of the delay of loop_lag_*; only for a closed loop
    /// Only for an open loop: the requests that the client could send inside the window ÷ those that were due
    /// in it. Waits for the in-flight cap and for connections do not reduce it.
    std::optional<double> achieved_rate_ratio;
    std::optional<double> user_delay_p50_s;  ///< time from an event's kernel stamp until the client read it
    std::optional<double> user_delay_p99_s;
    std::optional<double> unstamped_delay_p99_s;  ///< estimate of user_delay_p99_s for events without a stamp
    std::optional<double> grouped_share;  ///< share of events that came in one read with the event before
    std::optional<double> late_grouped_share;    ///< share of such events for which the client read late
    std::optional<double> cpu_share;             ///< mean load of the busiest worker, as share of one core
    std::optional<double> cpu_windows_above_85;  ///< share of 100 ms windows of workers above 85 % of a core
    std::optional<double> hiccup_share;      ///< sum of the delays above 1 ms with which a worker woke ÷ the
                                             ///< run's length, of the worker with the largest
    std::optional<double> retransmit_share;  ///< share of the sent TCP segments that were sent again
    std::optional<double> clock_jump_max_s;  ///< largest jump of the realtime clock against the monotonic one
    std::uint64_t connections_opened = 0;
    std::uint64_t connections_opened_ahead =
        0;                       ///< of these, those that were open before a request needed them
    double opening_ahead_s = 0;  ///< time before the load in which the connections of its start were opened
    std::uint32_t workers = 0;

    bool operator==(const ClientHealth&) const = default;
};

/// A quantity over time, in ascending seconds since the run's start. Times without a value are left out.
struct Series {
    std::string name;    ///< "output_tokens_per_s"
    std::string unit;    ///< "tok/s"
    std::string source;  ///< "requests", "server", or the name of an exporter or a power meter
    std::vector<double> times_s = {};
    std::vector<double> values = {};

    bool operator==(const Series&) const = default;
};

/// The server's own figures from /metrics during the load, by the keys of figures_over()
/// (core/run/server_figures.h). Over several engines counts are sums and shares are means.
struct ServerFigures {
    std::string engine;                          ///< "vllm", "sglang", "trtllm", "tgi", "llamacpp", or empty
    std::optional<std::uint64_t> engines = {};   ///< number of engines; absent for one
    std::map<std::string, std::string> sources;  ///< quantity → metric that it was read from
    std::map<std::string, double> window;        ///< quantities over the window
    std::map<std::string, double> whole_run;     ///< quantities from the first scrape to the last
    /// What this client's requests and warm-up caused, by the counters' keys. Empty if any did not succeed.
    std::map<std::string, double> asked;
    /// Element i: the share of speculation passes in which drafted token i was accepted. Empty: unknown.
    std::vector<double> accepted_per_position = {};
    std::map<std::string, std::string> config = {};  ///< the server's own settings, secrets hidden
    std::uint64_t scrapes = 0;
    std::uint64_t failed_scrapes = 0;
    /// Why counters cannot be true and their figures are left out, one clause each.
    std::vector<std::string> impossible = {};
    std::string note = {};  ///< reason for missing figures, one sentence

    bool operator==(const ServerFigures&) const = default;
};

/// An alert is pending while its condition has not held long enough to fire. It is unknown if its series was
/// not measured, or if the value to compare with is missing.
enum class AlertState : std::uint8_t { inactive, pending, firing, unknown };

enum class AlertSeverity : std::uint8_t { warn, fail };

struct AlertResult {
    std::string name;    ///< name of the rule: "kv_cache_full"
    std::string series;  ///< "kv_usage"
    AlertSeverity severity = AlertSeverity::warn;
    AlertState state = AlertState::unknown;  ///< `firing` if it fired at any time of the run
    /// The series' worst value while the alert fired; if it never fired, its last value. Absent if the series
    /// was not measured, or if the value falls among failures.
    std::optional<double> value = {};
    std::optional<double> threshold = {};  ///< value that `value` was compared with: threshold_of()
    std::optional<double> at_s =
        {};                 ///< when it first fired, since the run's start; absent means that it did not
    std::string note = {};  ///< reason why the state is unknown, one sentence

    bool operator==(const AlertResult&) const = default;
};

/// The electrical power of the serving hardware over the window. A quantity that could not be read is absent.
struct PowerFigures {
    std::string source;                         ///< "nvml", "rapl", "dcgm"
    std::optional<std::uint32_t> devices = {};  ///< number of GPUs or CPU packages; absent if it changed
    std::optional<double> mean_w = {};          ///< mean power of all devices together
    /// The energy of all devices; absent if readings are more than 3 s apart or do not enclose the window.
    std::optional<double> energy_j = {};
    /// The energy by the driver's own counter, for comparison, if `energy_j` comes from readings of power.
    std::optional<double> counter_j = {};
    std::optional<double> j_per_output_token = {};
    std::optional<double> j_per_token = {};  ///< joules per input or output token
    std::optional<double> output_tokens_per_s_per_w = {};
    std::optional<double> throttled_share = {};  ///< share of readings with throttled clocks of any device
    std::optional<double> utilization = {};      ///< mean share of the time that a GPU was busy
    std::uint64_t readings = 0;                  ///< readings of the whole run
    std::string note = {};                       ///< reason for an absent or doubtful value, one sentence

    bool operator==(const PowerFigures&) const = default;
};

/// The results for a set of requests: the whole run, a class, a target, or a turn of conversations.
struct Scope {
    Counts counts;
    std::vector<MetricSummary> metrics;  ///< in the order of the metric table
    Totals totals;                       ///< totals of the window
    Totals whole_run_totals;
    Figures throughput;  ///< figures of the window, with intervals if it is steady
    Figures whole_run;   ///< figures of the whole run, without intervals

    bool operator==(const Scope&) const = default;

    const MetricSummary* metric(std::string_view key) const;  ///< null when it was not measured
    std::optional<double> percentile(std::string_view key, double p) const;
};

struct StopReason {
    std::string rule;  ///< "requests", "duration", "diverging", …, or "interrupted"
    double at_s = 0;   ///< time since the run's start
    std::string text;  ///< one sentence

    bool operator==(const StopReason&) const = default;
};

inline constexpr std::size_t kMostTurnScopes = 16;

struct TargetScope : Scope {
    std::string url;

    bool operator==(const TargetScope&) const = default;
};

/// The part of a load that one of several processes made.
struct ShardResult {
    std::uint32_t number = 0;  ///< from 0
    std::string host = {};     ///< name of its machine
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;
    /// The largest error of its clock against that of shard 0 in seconds: half of the smallest round trip of
    /// an exchange. Absent if the shards did not meet.
    std::optional<double> clock_error_s = {};
    bool ended = true;                 ///< false: it was killed or interrupted, so that requests are missing
    Verdict verdict = Verdict::valid;  ///< verdict on its client and its host alone
    std::string reason = {};           ///< gravest reason of this verdict
    /// The largest share of a headline figure by which its client may have made it worse
    /// (core/validity/instrument.h).
    double client_part = 0;

    bool operator==(const ShardResult&) const = default;
};

struct RunResult : Scope {
    Provenance provenance;
    PlanEcho plan;
    Workload workload;
    Validity validity;
    bool partial = false;  ///< whether the run was interrupted, so that only a part was measured
    std::optional<StopReason> stop;
    Window window;
    std::map<std::string, Scope> classes;  ///< scopes by class name, if requests have classes
    std::vector<TargetScope> targets;      ///< scopes of the servers, if there are several
    std::vector<Scope> turns;              ///< scopes of the first kMostTurnScopes turns of conversations
    std::optional<JobResults> jobs = {};   ///< nothing if the dataset states no jobs
    ClientHealth client;
    std::optional<ServerFigures> server;
    std::optional<PowerFigures> power = {};
    std::vector<Series> series;
    std::vector<SloResult> slo = {};           ///< results for the limits of the run
    std::optional<BenchmarkRules> rules = {};  ///< absent unless the plan names a benchmark
    std::optional<ProbeScore> quality = {};    ///< score of the questions asked after the load
    std::vector<AlertResult> alerts = {};      ///< result of every rule, in the order of their table
    std::optional<std::uint64_t> concurrency;  ///< in-flight cap, the load axis of a closed loop
    std::optional<double> request_rate;        ///< wanted requests/s, the load axis of an open loop
    /// The figures of another program, if its file has no requests. There is then no metric and no figure.
    std::optional<Reported> reported = {};
    std::vector<ShardResult> shards = {};  ///< parts, if several processes made the load

    bool operator==(const RunResult&) const = default;

    bool open_loop() const { return request_rate.has_value(); }
};

}  // namespace paretoken
