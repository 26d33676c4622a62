#include "core/plan/rows/rows.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/plan/events_kept.h"
#include "core/plan/hang_up.h"
#include "core/plan/rows/refused.h"
#include "core/plan/rows/value.h"
#include "core/plan/scrape_places.h"
#include "core/plan/shard.h"

namespace paretoken::rows {
namespace {

using enum FieldKind;
using enum FieldType;

constexpr Interval kBurstiness{0.01, 1000};
constexpr Interval kWorkers{1, 256};

void hang_up(const std::string& text) {
    (void)parse_hang_up(text);
}

void known_scrape(const std::vector<std::string>& texts) {
    (void)parse_scrape_places(texts);
}

void known_power(const std::string& text) {
    const std::string kind = text.substr(0, text.find('='));
    const std::string place = kind == text ? "" : text.substr(kind.size() + 1);
    const bool has_place = kind != text;
    if (!has_place && (kind == "auto" || kind == "none" || kind == "nvml" || kind == "rapl")) return;
    if (!place.empty() && (kind == "nvml" || kind == "rapl")) return;
    if (kind == "dcgm" && (place.starts_with("http://") || place.starts_with("https://"))) return;
    throw UsageError(
        fmt::format("'{}': expected auto, nvml, rapl, dcgm=URL (http://host:9400/metrics) or none", text));
}

void at_least_a_second(const Duration& interval) {
    if (interval < std::chrono::seconds(1))
        throw UsageError("must be at least 1s: more frequent readings would add load");
}

void known_shard(const std::string& text) {
    (void)parse_shard(text);
}

void some_shards(const std::optional<std::uint32_t>& shards) {
    if (shards && (*shards < 1 || *shards > kMostShards))
        throw UsageError(fmt::format("expected a number from 1 to {}", kMostShards));
}

void known_start(const std::string& text) {
    (void)parse_start_at(text);
}

void known_events(const std::string& text) {
    parse_events_kept(text);
}

void set_concurrency(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    plan.classes[request_class].concurrency = parse_count(only(texts));
    at_least_one(plan.classes[request_class].concurrency);
}

void set_ramp_up(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    std::string text = only(texts);
    if (text == "0") text = "0s";
    if (text != "auto") (void)parse_duration(text);
    plan.classes[request_class].ramp_up = std::move(text);
}

void set_request_rate(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    const std::string& text = only(texts);
    const double rate = text == "inf" ? std::numeric_limits<double>::infinity() : parse_number(text);
    if (!(rate > 0)) throw UsageError(fmt::format("'{}': a rate is above 0", text));
    plan.classes[request_class].request_rate = rate;
}

Texts get_requests(const LoadPlan& plan, std::size_t) {
    if (plan.stop.all_rows && !plan.stop.requests) return {"all"};
    return texts_of(plan.stop.requests);
}

/// Sets the number of requests; "all", and "-1" of other tools, means the rows of the dataset.
void set_requests(LoadPlan& plan, std::size_t, const Texts& texts) {
    const std::string& text = only(texts);
    plan.stop.requests.reset();
    plan.stop.all_rows = text == "all" || text == "-1";
    if (plan.stop.all_rows) return;
    plan.stop.requests = parse_count(text);
    if (plan.stop.requests == 0U) throw UsageError("0: there would be nothing to measure");
}

void set_warmups(LoadPlan& plan, std::size_t, const Texts& texts) {
    plan.warmups = parse_count(only(texts));
}

constexpr std::array kPaceRows = {
    PlanField{.name = "concurrency",
              .synonyms = "--max-concurrency:vllm,sglang",
              .kind = load,
              .levels = true,
              .help = "Number of requests in flight (a closed loop of so many users), or of live jobs if the "
                      "dataset has jobs or conversations; with a request rate or --arrivals: largest number "
                      "of requests in "
                      "flight [1]",
              .value = with_set(member<&RequestClass::concurrency>, set_concurrency)},
    PlanField{.name = "max_in_flight",
              .kind = load,
              .help =
                  "Largest number of requests in flight of all live jobs, whose agents may send several at "
                  "once [no limit]",
              .value = checked<at_least_one, &RequestClass::max_in_flight>},
    PlanField{.name = "prefill_concurrency",
              .kind = load,
              .help = "Largest number of requests in flight that have no first token yet [no limit]",
              .value = checked<at_least_one, &RequestClass::prefill_concurrency>},
    PlanField{.name = "ramp_up",
              .synonyms = "--concurrency-ramp-duration:aiperf",
              .kind = load,
              .help = "Closed loop: time over which the slots open evenly (4s), 0s for all at once, or auto: "
                      "each slot opens when the request of the slot before it has its first token, and the "
                      "last at the latest after twice the time of the first request [auto; 0s with "
                      "--think-time and --request-rate inf]",
              .value = with_set(member<&RequestClass::ramp_up>, set_ramp_up)},
    PlanField{.name = "think_time",
              .kind = load,
              .help = "Pause of a slot after each request (closed loop), or of a conversation before each "
                      "further turn: 2s, uniform:min=1s,max=3s, exponential:mean=2s, "
                      "normal:mean=2s,stddev=500ms, lognormal:mean=2s,cv=1",
              .value = checked<random_duration, &RequestClass::think_time>},
    PlanField{.name = "cancel",
              .kind = load,
              .help = "Users who hang up, p=.05,after=2s: their share of the requests, and the time after "
                      "which they hang up (a duration as for --think-time, with ';' instead of ',')",
              .value = checked<hang_up, &RequestClass::cancel>},
    PlanField{.name = "request_rate",
              .kind = load,
              .levels = true,
              .help = "Requests per second (open loop, Poisson arrivals), or conversations or jobs if the "
                      "dataset has them; inf starts all requests at once",
              .value = typed(text, with_set(member<&RequestClass::request_rate>, set_request_rate))},
    PlanField{.name = "arrivals",
              .kind = load,
              .help = "Arrival process, which sets when requests start: {names}",
              .value = member<&RequestClass::arrivals>},
    PlanField{.name = "burstiness",
              .kind = load,
              .help = "Shape of the gamma distribution of the gaps between requests: 1 is Poisson, below 1 "
                      "is burstier [1]",
              .value = checked<within_if_given<kBurstiness>, &RequestClass::burstiness>},
    PlanField{
        .name = "num_prompts",
        .synonyms = "--request-count:aiperf --num-requests:aiperf --max-requests:guidellm",
        .kind = load,
        .help =
            "Number of measured requests, or of jobs or conversations if the dataset has several turns "
            "[without --duration: 100, or if that is more 20 per slot or the arrivals of 20 s "
            "(at most 20,000); for a trace replayed by its own times: its rows]; all means every row of a "
            "file",
        .value = {.get = get_requests, .set = set_requests, .type = count}},
    PlanField{.name = "duration",
              .synonyms = "--benchmark-duration:aiperf --max-seconds:guidellm",
              .kind = load,
              .help =
                  "Time during which requests are started (30s, 5m); requests that are then in flight, or "
                  "due and waiting for a slot of --concurrency, are followed to their end",
              .value = checked<above_zero, &LoadPlan::stop, &StopRules::duration>},
    PlanField{.name = "stop",
              .kind = load,
              .help =
                  "Further rule that ends the start of requests; the first rule that is met decides. May be "
                  "repeated: requests=N, duration=60s, tokens=1M, errors=5%, precision:ttft_p99=10%, "
                  "slo:ttft_p95:800 (ends when this limit is certainly missed), diverging=off (the rule "
                  "`diverging` is on if the rate of arrivals is constant)",
              .value = member<&LoadPlan::stop, &StopRules::rules>},
    PlanField{
        .name = "grace",
        .help = "Time for which requests in flight are followed after Ctrl-C; a second Ctrl-C cuts them off",
        .value = member<&LoadPlan::grace>},
    PlanField{
        .name = "warmup_duration",
        .kind = load,
        .help =
            "Time at the start whose requests are warm-ups, which are not measured; instead of --num-warmups",
        .value = checked<above_zero, &LoadPlan::warmup_duration>},
    PlanField{.name = "no_keepalive",
              .kind = load,
              .help = "Open a new connection for every request",
              .value = member<&LoadPlan::no_keepalive>},
    PlanField{
        .name = "no_preconnect",
        .kind = load,
        .help = "Open each connection only when a request needs it, so that TCP and TLS handshakes are part "
                "of the measured times",
        .value = member<&LoadPlan::no_preconnect>},
    PlanField{
        .name = "num_warmups",
        .synonyms = "--warmup-request-count:aiperf --num-warmup-requests:aiperf --warmup-requests:sglang",
        .kind = load,
        .help = "Number of warm-up requests before the first measured one",
        .value = with_set(member<&LoadPlan::warmups>, set_warmups)},
    PlanField{.name = "workers",
              .kind = measuring,
              .help = "Threads that generate the load; one is enough for most servers",
              .value = checked<within<kWorkers>, &LoadPlan::workers>},
    PlanField{.name = "spin",
              .kind = measuring,
              .help = "Time for which a worker polls before each due request instead of sleeping (200us), so "
                      "that an open loop starts requests more exactly. The polling does not count as load",
              .value = member<&LoadPlan::spin>},
    PlanField{.name = "user_timestamps",
              .kind = measuring,
              .help = "Take the time of an event after it was read, instead of the kernel's receive "
                      "timestamp, to see the difference",
              .value = member<&LoadPlan::user_timestamps>},
    PlanField{.name = "scrape",
              .help = "Read the server's own metrics (queue, KV cache, prefix hits, preemptions) from its "
                      "/metrics during the load: auto, none, or the URL of the metrics. NAME=URL also reads "
                      "another exporter, for --scrape-keep. May be repeated",
              .value = checked<known_scrape, &LoadPlan::scrape>,
              .shown = redacted_scrape_place},
    PlanField{.name = "scrape_keep",
              .help = "Keep the series whose whole name matches this regular expression as series of the "
                      "result: node_load1, 'node_(load|memory).*'. It applies to the server and to other "
                      "exporters; may be repeated",
              .value = checked<check_regular_expressions, &LoadPlan::scrape_keep>},
    PlanField{.name = "scrape_interval",
              .help = "Time between two readings of the metrics, at least 1s",
              .value = checked<at_least_a_second, &LoadPlan::scrape_interval>},
    PlanField{.name = "power",
              .help = "Read the electrical power of the serving hardware: auto (this machine's GPUs or CPU "
                      "packages, if the server runs here), nvml, rapl, dcgm=URL (a DCGM exporter), or none",
              .value = checked<known_power, &LoadPlan::power>},
    PlanField{.name = "listen",
              .help = "Serve paretoken's own metrics for Prometheus on http://HOST:PORT/metrics while it "
                      "measures (127.0.0.1:9464)",
              .value = member<&LoadPlan::listen>},
    PlanField{.name = "shard",
              .group = "Several processes",
              .help = "Make one part of the load, I/N with I from 0 to N-1, of a load that N processes make "
                      "together; mpirun, srun and Kubernetes Indexed Jobs give it by themselves",
              .value = checked<known_shard, &LoadPlan::fleet, &FleetPlan::shard>},
    PlanField{.name = "shards",
              .group = "Several processes",
              .help = "Number of parts, if the launcher tells a process its own number only "
                      "(JOB_COMPLETION_INDEX)",
              .value = checked<some_shards, &LoadPlan::fleet, &FleetPlan::shards>},
    PlanField{.name = "rendezvous",
              .group = "Several processes",
              .help = "Where the processes meet: HOST:PORT of the process with shard 0, which listens there, "
                      "or a directory that all of them see. They then begin together, shard 0 decides for "
                      "all, and its result is that of the whole load",
              .value = member<&LoadPlan::fleet, &FleetPlan::rendezvous>},
    PlanField{.name = "rendezvous_timeout",
              .group = "Several processes",
              .help = "Longest wait for the other processes",
              .value = checked<above_zero, &LoadPlan::fleet, &FleetPlan::patience>},
    PlanField{.name = "start_at",
              .group = "Several processes",
              .help = "Begin the load at this time, in UTC (2026-11-21T09:38:00Z) or as Unix time, so that "
                      "processes without a rendezvous begin together; `paretoken merge` joins their results",
              .value = checked<known_start, &LoadPlan::fleet, &FleetPlan::start_at>},
    PlanField{.name = "traceparent",
              .kind = measuring,
              .help = "Send a W3C trace context with every request, whose trace id requests.jsonl holds, so "
                      "that the server's trace of a request can be found",
              .value = member<&LoadPlan::traceparent>},
    PlanField{
        .name = "server_profile",
        .synonyms = "--profile:vllm,sglang",
        .kind = measuring,
        .help =
            "POST /start_profile before the load and /stop_profile after it, if the server has these paths",
        .value = member<&LoadPlan::server_profile>},
    PlanField{.name = "events",
              .kind = measuring,
              .help =
                  "Requests whose events (times and tokens) are kept in events.bin: all, none, or sample=N "
                  "(one in N). Inter-token and inter-chunk latency are computed from these requests only",
              .value = checked<known_events, &LoadPlan::events>},
    PlanField{.name = "timeout",
              .synonyms = "--request-timeout-seconds:aiperf --request-timeout:guidellm",
              .kind = load,
              .help = "Give up on a request after this time",
              .value = checked<above_zero, &LoadPlan::request_timeout>},
};

}  // namespace

std::span<const PlanField> pace_rows() {
    return kPaceRows;
}

}  // namespace paretoken::rows
