#pragma once
// What was observed of a run, without anything that was concluded from it. A run directory has the same
// content. result_of() (core/run/result_of.h) makes the result.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/shard.h"
#include "core/record/event_source.h"
#include "core/record/fact.h"
#include "core/record/request_table.h"
#include "core/result/alerts.h"
#include "core/result/result.h"
#include "core/result/validity.h"
#include "core/run/client_report.h"
#include "core/run/power_figures.h"
#include "core/run/server_figures.h"

namespace paretoken {

/// A part of a load, in time since the run's start. By default it is the whole load.
struct LoadPart {
    Duration begin{};
    Duration end = Duration::max();

    bool operator==(const LoadPart&) const = default;
};

/// Returns the parts of a load that began at `began`, on the clock.
std::vector<TimeSpan> spans_of(const std::vector<LoadPart>& parts, TimePoint began);

/// The kind of a load, as far as a result depends on it.
struct LoadShape {
    bool open_loop = false;  ///< whether at least one class is an open loop
    bool stationary = true;  ///< whether the arrivals of every class have a constant rate
    std::vector<LoadPart> constant_rate = {LoadPart{}};  ///< parts in which every class has a constant rate
    std::optional<std::uint64_t> concurrency = {};       ///< cap on requests in flight
    std::optional<double> request_rate = {};             ///< wanted requests/s of an open loop
    /// The number of requests that a closed loop keeps in flight. Absent if there is no cap, or if think
    /// times or a cap on prefills keep the load below it.
    std::optional<std::uint64_t> kept_in_flight = {};
    bool virtual_time = false;
    bool keeps_length = false;       ///< whether the server generates as many tokens as it is asked for
    bool ignores_end = false;        ///< whether answers continue after their end of text (ignore_eos)
    bool routes_to_experts = false;  ///< whether the model is known to be a mixture of experts
    std::vector<std::string> targets = {};  ///< URLs of the servers

    bool operator==(const LoadShape&) const = default;
};

/// What is known when a run begins.
struct Begun {
    Provenance provenance = {};  ///< without the clock, which is known at the end
    PlanEcho plan = {};          ///< resolved plan without the fields that judge results
    Workload workload = {};      ///< without the lengths that were achieved
    LoadShape shape = {};
    std::vector<EarlierRun> earlier_runs = {};  ///< runs that sent the same prompts to the same server
    std::map<std::string, std::string> server_config = {};  ///< settings that the server's API told
    /// Facts that the source does not know about any request. Empty for a run that was measured here.
    std::vector<Fact> unknown_facts = {};
    std::optional<Shard> shard = {};  ///< absent if it is the whole load
    /// The figures of another program whose file has no requests; there are then no records. Absent
    /// otherwise.
    std::optional<Reported> reported = {};

    bool operator==(const Begun&) const = default;
};

/// The reason why nothing more was started, and the time.
struct Stopped {
    std::string rule;  ///< name of a stop rule, or "interrupted"
    TimePoint at;
    std::string text;  ///< reason in one sentence

    bool operator==(const Stopped&) const = default;
};

/// The load as it was observed: the requests, the client, the server and the power meter.
struct Observations {
    TimePoint began;  ///< zero of the schedule; the other times are on the same clock
    RequestTable records = {};
    ClientReport client = {};
    ServerScrapes server = {};                  ///< empty unless the server was scraped
    std::vector<ServerScrapes> exporters = {};  ///< kept series of other exporters
    PowerReadings power = {};                   ///< empty unless there was a meter
    /// The time since which free slots were no longer filled: the earliest of all dispatchers. Absent if no
    /// dispatcher has one.
    std::optional<TimePoint> ran_dry = {};
    std::optional<Stopped> stopped = {};  ///< reason why nothing more was started
    bool interrupted = false;             ///< whether the user ended the run
};

/// The answers to the questions of a probe.
struct ProbeOutcome {
    std::string probe;           ///< name of the questions, as ProbeScore::probe
    std::uint64_t asked = 0;     ///< number of questions
    std::uint64_t answered = 0;  ///< number of questions whose requests did not fail
    std::uint64_t right = 0;
    std::string failure = {};  ///< error of the first request that failed; empty if none did

    bool operator==(const ProbeOutcome&) const = default;
};

/// Everything that was observed of a run.
struct Recorded {
    Begun begun = {};
    Observations observed = {};
    std::shared_ptr<const EventSource> events = {};  ///< events of the requests; null: none were kept
    std::optional<ProbeOutcome> probe = {};
    std::string lost = {};                 ///< what is missing in the records, and why; empty if nothing is
    bool ended = true;                     ///< false: the run was killed, or is still going on
    std::vector<ShardResult> shards = {};  ///< parts of a joined load; empty for one that one process made
};

/// What a result is judged by. The texts are those of the plan.
struct Judging {
    std::vector<std::string> goodput = {};  ///< limits for each request: "ttft:500"
    std::map<std::string, std::vector<std::string>> class_goodput = {};  ///< limits of classes with their own
    std::vector<std::string> slos = {};    ///< limits on percentiles: "ttft_p95:800"
    bool accept_host_noise = false;        ///< ValidityOptions::accept_host_noise
    double max_failed = .10;               ///< ValidityOptions::max_failed
    std::vector<double> percentiles = {};  ///< percentiles to compute besides kPercentiles
    std::vector<AlertRule> alerts = {};
    AlertBaseline baseline = {};  ///< values that the alerts compare with
    PlanEcho plan = {};           ///< the fields of the plan that judge results, as text

    bool operator==(const Judging&) const = default;
};

}  // namespace paretoken
