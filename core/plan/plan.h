#pragma once
// The plan of a run: one plain value with everything that decides what is sent and when, how it is measured
// and how the result is judged. In the plan as asked, options that the user left out have defaults; in the
// plan as resolved, of the same type, they are filled in. core/plan/plan_fields.h lists all fields.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/spec.h"
#include "core/units.h"

namespace paretoken {

/// One kind of request: its content, the times at which it is sent, and the limits it is judged by.
struct RequestClass {
    std::string name = {};  ///< name; empty if there is only one class

    /// The dataset, by the table of datasets (datasets/catalog.h). An empty name stands for "synthetic",
    /// or, if there is a dataset_path, for the format of that file (datasets/recognise.h).
    Spec dataset = {};
    std::string dataset_path = {};     ///< file of the dataset, if it is one
    std::string dataset_content = {};  ///< hash of that file's content; empty when there is none
    /// What continues conversations: the server's answers ("live" or empty), or the dataset's ("recorded").
    std::string replies = {};
    std::optional<double> tool_scale = {};  ///< factor of the times that tools take in the dataset
    std::string tool_time = {};  ///< what replaces these times, in the form of core/plan/random_duration.h
    std::optional<Duration> idle_cap = {};      ///< longest pause of the dataset before a turn of a job
    std::optional<Duration> idle_job_cap = {};  ///< longest time without a request of a job in flight
    /// The longest time in which no request is in flight before the next turn of a job is due.
    std::optional<Duration> idle_system_cap = {};
    std::string start_inside = {};  ///< shares of their turns at which the first jobs of a closed loop begin

    /// Requests per second of an open loop with Poisson or gamma gaps. Infinity means that all requests are
    /// due at once. A resolved plan has no value here; its `arrivals` state the rate.
    std::optional<double> request_rate = {};
    std::optional<double> burstiness = {};  ///< shape of gamma gaps: 1 is Poisson, below 1 burstier
    std::optional<Spec> arrivals = {};      ///< arrival process; a resolved plan always has it
    /// The largest number of requests in flight; in a closed loop, the number of live jobs.
    std::optional<std::uint64_t> concurrency = {};
    std::optional<std::uint64_t> max_in_flight = {};        ///< most requests in flight of all live jobs
    std::optional<std::uint64_t> prefill_concurrency = {};  ///< most requests without a first token
    std::string ramp_up = {};                   ///< closed loop: "auto", or the time over which slots open
    std::string think_time = {};                ///< pause of a slot or a job after each request, in
                                                ///< the form of core/plan/random_duration.h
    std::string cancel = {};                    ///< users who hang up, in the form of core/plan/hang_up.h
    std::optional<std::int64_t> priority = {};  ///< priority sent with each request, if the server accepts it

    std::vector<std::string> goodput = {};  ///< SLOs in the form of core/result/slo.h: "ttft:500"

    bool operator==(const RequestClass&) const = default;
};

/// The rules that decide when no more requests are started: the first that is met. Those in flight still end.
struct StopRules {
    /// The number of measured requests; a job or conversation of several turns counts once.
    std::optional<std::uint64_t> requests = {};
    bool all_rows = false;  ///< whether `requests` of a resolved plan is the number of rows of the dataset
    std::optional<Duration> duration = {};  ///< time from the first measured request's start
    std::vector<std::string> rules = {};    ///< more rules, in the form of loadgen/load/limits.h

    bool operator==(const StopRules&) const = default;
};

/// The sampling parameters that every request carries besides its prompt and length.
struct Sampling {
    bool ignore_eos = true;
    bool max_completion_tokens = false;  ///< whether this name replaces max_tokens
    std::optional<double> temperature = {};
    std::string extra_body = {};  ///< text of a JSON object whose keys override ours, or empty

    bool operator==(const Sampling&) const = default;
};

/// A server that is started for the measurement and stopped after it.
struct ServerLaunch {
    std::string command = {};  ///< words in a shell's syntax; "{port}" becomes a free port; empty means none
    std::vector<std::string> environment = {};  ///< "NAME=VALUE"
    /// The URL or path that answers 200 when the server is ready; empty: /health, or else /v1/models.
    std::string ready_url = {};
    /// The longest wait for the server. Absent: 10 minutes with a command, otherwise none.
    std::optional<Duration> ready_timeout = {};
    bool reset_cache = false;            ///< whether each run first empties the server's prefix cache
    std::string after_run_command = {};  ///< command that runs after every run

    bool operator==(const ServerLaunch&) const = default;
};

/// How a load is divided between several processes.
struct FleetPlan {
    std::string shard = {};                    ///< part that this process makes: "1/4"; empty: the whole load
    std::optional<std::uint32_t> shards = {};  ///< number of parts, if the launcher does not tell it
    /// Where the processes meet: "HOST:PORT" of shard 0, or a directory that all of them see. Empty: nowhere.
    std::string rendezvous = {};
    Duration patience = std::chrono::seconds(60);  ///< longest wait for the others
    std::string start_at = {};  ///< when the load begins, in the form of parse_start_at() (shard.h)

    bool operator==(const FleetPlan&) const = default;
};

struct LoadPlan {
    // ---- the servers
    std::vector<std::string> targets = {"sim:"};  ///< URLs, or "sim:PROFILE" for the simulated server
    /// The rule that chooses one of several targets for a request: "round-robin", "least-in-flight" or
    /// "prefix" (requests that begin alike go to the same target).
    std::string route = "round-robin";
    /// The model that requests name, or a mix of models (core/plan/model_mix.h). Empty: the first listed.
    std::string model = {};
    std::string endpoint_type = "chat";     ///< name of a protocol: "chat", "completions", …
    std::string endpoint_path = {};         ///< path; empty means the endpoint type's own
    std::vector<std::string> headers = {};  ///< "Name: value"; the values are secret
    /// The headers and the fields of the body with the id of a request's conversation or job, in the form of
    /// core/plan/session_names.h. Without any headers, conversations and jobs have the usual ones.
    std::vector<std::string> session_headers = {};
    std::vector<std::string> session_fields = {};
    std::vector<std::string> session_tokens = {};  ///< headers that the server sets and requests return
    std::string api_key_env = {};  ///< variable that holds the key; empty means OPENAI_API_KEY, if set
    bool insecure = false;         ///< whether any TLS certificate is accepted
    std::string ca_file = {};      ///< PEM file of certificate authorities to trust besides the system's
    ServerLaunch server = {};

    // ---- the requests
    std::vector<RequestClass> classes = {RequestClass{}};  ///< never empty
    /// The classes as the user wrote them: "batch:rate=2,isl=8k". The values of each replace those that all
    /// classes share; with_classes() (core/plan/plan_classes.h) computes `classes` from them.
    std::vector<std::string> class_specs = {};
    std::string prompt_form = "auto";  ///< "auto", "text" or "token-ids"; never "auto" in a resolved plan
    Sampling sampling = {};
    std::vector<std::string> refused = {};  ///< only in a resolved plan: options that the server refuses
    std::uint64_t seed = 0;
    /// Number of the simulated server among those that are compared. Servers with different numbers draw
    /// different random numbers, as two real servers would; the requests depend on `seed` alone.
    std::uint64_t server_number = 0;
    std::string salt = {};      ///< makes prompts new to a prefix cache; empty means a new one for every run
    bool salt_prompts = false;  ///< whether prompts of a file begin with a few words of the salt
    std::string text = {};      ///< file that generated prompts are cut from; empty means random words
    std::string text_content = {};  ///< hash of that file's content; empty when there is none

    // ---- the amount and the end
    StopRules stop = {};
    std::uint64_t warmups = 0;
    std::optional<Duration> warmup_duration = {};  ///< requests that start within this time are warm-ups
    Duration request_timeout = std::chrono::minutes(10);
    bool no_keepalive = false;                  ///< whether every request has its own connection
    bool no_preconnect = false;                 ///< whether no connection is opened before a request needs it
    Duration grace = std::chrono::seconds(30);  ///< time that requests in flight have after an interrupt

    // ---- the measurement
    bool virtual_time = false;  ///< whether to simulate without sockets or waiting
    Duration turnaround =
        std::chrono::microseconds(100);  ///< virtual time: time from an answer to the next request
    Duration write_time{};               ///< virtual time: time to write one event
    std::uint32_t workers = 1;           ///< number of threads that generate the load
    Duration spin{};  ///< time before each due request in which a worker polls instead of sleeping
    /// Whether events are timed by the clock after they were received, not by the kernel's receive stamp.
    bool user_timestamps = false;
    /// Where metrics of servers and exporters are read, in the form of core/plan/scrape_places.h.
    std::vector<std::string> scrape = {"auto"};
    /// Regular expressions for the names of further series. A series at a place in `scrape` is kept in the
    /// result if one of the expressions matches its whole name.
    std::vector<std::string> scrape_keep = {};
    Duration scrape_interval = std::chrono::seconds(1);
    std::string power = "auto";   ///< power meter: "auto", "none", "nvml", "rapl" or "dcgm=URL"
    std::string listen = {};      ///< address that serves figures during the run; empty means none
    bool traceparent = false;     ///< whether requests carry a W3C trace context
    bool server_profile = false;  ///< whether the server's own profiler runs during the load
    std::string events = "all";   ///< requests with kept events: core/plan/events_kept.h
    std::string gpu = {};         ///< serving hardware, as NAME[xN]
    std::string model_card = {};  ///< card of the served model, in the form of `cards/model.h`

    FleetPlan fleet = {};

    // ---- the judgement
    std::string rules = {};  ///< benchmark whose rules the run is held against (core/run/benchmark_rules.h)
    std::vector<std::string> slos = {};  ///< limits on percentiles (core/result/slo.h): "ttft_p95:800"
    std::string require = {};            ///< "met", or empty: a run may be only within its limits
    std::string host_noise = {};         ///< "accept", or empty: delays of the client are judged
    double max_failed = 0.10;            ///< share of requests that may fail before the run is invalid
    /// Questions that are asked after the load, in the form of datasets/questions.h; empty: none.
    std::string probe = {};
    std::string alerts = {};    ///< file with alerts; empty means those of core/result/alerts.h
    std::string baseline = {};  ///< directory of runs that alerts compare with; empty means none

    // ---- the output
    std::string out = {};       ///< directory; empty means runs/TIME
    bool overwrite = false;     ///< whether an existing result may be replaced
    bool keep_answers = false;  ///< whether answers.jsonl gets the answers' texts
    std::map<std::string, std::string> metadata = {};

    bool operator==(const LoadPlan&) const = default;
};

}  // namespace paretoken
