#pragma once
// The plan of a run: one plain value with everything that decides what is sent and when, how it is measured
// and what the result is held against. It is parsed once from the command line and a configuration file.
//
// The plan as asked and the plan as resolved are two values of this type. The first holds what the user said
// and defaults; the second is what a run does: the server's first model, a fresh salt, the form of prompts
// that the endpoint takes, the number of requests that follows from the load. A resumed sweep compares what
// was asked; the fingerprint covers what was resolved. core/plan/plan_fields.h has the list of all fields.
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
    std::string name = {};  ///< empty while there is only one class

    /// Checked by the table of datasets. No name: custom with a path, else synthetic.
    Spec dataset = {};
    std::string dataset_path = {};     ///< of a dataset that is a file
    std::string dataset_content = {};  ///< hash of that file's content; empty when there is none
    /// Conversations go on from the server's own answers ("live", or empty) or from those that the dataset
    /// holds ("recorded").
    std::string replies = {};

    /// Requests per second (open loop, Poisson or gamma gaps); infinity: all at once. Resolved: folded into
    /// `arrivals`.
    std::optional<double> request_rate = {};
    std::optional<double> burstiness = {};  ///< shape of gamma gaps: 1 is Poisson, below 1 burstier
    std::optional<Spec> arrivals = {};      ///< checked by the table of arrival processes; resolved: always
    std::optional<std::uint64_t> concurrency = {};          ///< requests in flight at the most
    std::optional<std::uint64_t> prefill_concurrency = {};  ///< of these, without a first token
    std::optional<Duration> ramp_up = {};       ///< closed loop: the slots open evenly over this time
    std::string think_time = {};                ///< pause of a slot or a conversation after each request, as
                                                ///< core/plan/random_duration.h reads it
    std::string cancel = {};                    ///< users who hang up, as core/plan/hang_up.h reads it
    std::optional<std::int64_t> priority = {};  ///< sent with each request, where the server takes one

    std::vector<std::string> goodput = {};  ///< SLOs as core/result/slo.h reads them: "ttft:500"

    bool operator==(const RequestClass&) const = default;
};

/// When a run stops starting requests: whichever comes first. Requests in flight are followed to their end.
struct StopRules {
    std::optional<std::uint64_t> requests = {};  ///< measured ones
    std::optional<Duration> duration = {};       ///< from the first measured request's start
    std::vector<std::string> rules = {};         ///< further ones, as loadgen/limits.h reads them

    bool operator==(const StopRules&) const = default;
};

/// The sampling parameters that every request carries besides its prompt and length.
struct Sampling {
    bool ignore_eos = true;
    bool max_completion_tokens = false;  ///< this name instead of max_tokens
    std::optional<double> temperature = {};
    std::string extra_body = {};  ///< text of a JSON object whose keys win, or empty

    bool operator==(const Sampling&) const = default;
};

/// A server that is started for the measurement and stopped after it.
struct ServerLaunch {
    std::string command = {};  ///< words as a shell splits them; "{port}" becomes a free port; empty: none
    std::vector<std::string> environment = {};   ///< "NAME=VALUE"
    std::string ready_url = {};                  ///< URL or path that answers 200 when the server is ready
    std::optional<Duration> ready_timeout = {};  ///< without a command: the wait for the URL to answer
    bool reset_cache = false;                    ///< the server's prefix cache, before every run
    std::string after_run_command = {};          ///< words as above, run after every run

    bool operator==(const ServerLaunch&) const = default;
};

struct LoadPlan {
    // ---- whom to ask
    std::vector<std::string> targets = {"sim:"};  ///< URLs
    std::string route = "round-robin";            ///< or "least-in-flight" or "prefix": with several targets
    std::string model = {};                       ///< empty: the first that the server lists
    std::string endpoint_type = "chat";           ///< "chat" or "completions"
    std::string endpoint_path = {};               ///< empty: the endpoint type's own
    std::vector<std::string> headers = {};        ///< "Name: value"; the values are secret
    std::string api_key_env = {};  ///< environment variable that holds the key; empty: OPENAI_API_KEY, if set
    bool insecure = false;
    std::string ca_file = {};
    ServerLaunch server = {};

    // ---- what to ask for
    std::vector<RequestClass> classes = {RequestClass{}};  ///< never empty
    /// Classes besides what all have in common, as given: "batch:rate=2,isl=8k". Resolved: `classes` holds
    /// them.
    std::vector<std::string> class_specs = {};
    std::string prompt_form = "auto";  ///< "auto", "text" or "token-ids"; resolved: not auto
    Sampling sampling = {};
    std::vector<std::string> refused = {};  ///< resolved: options that the server does not take
    std::uint64_t seed = 0;
    std::string salt = {};          ///< empty: a fresh one for every run
    bool salt_prompts = false;      ///< prompts of a file begin with a few words of the salt
    std::string text = {};          ///< file that made-up prompts are cut from; empty: random words
    std::string text_content = {};  ///< hash of that file's content; empty when there is none

    // ---- how much of it, and how long
    StopRules stop = {};
    std::uint64_t warmups = 0;
    std::optional<Duration> warmup_duration = {};  ///< requests that start within it are warm-ups
    Duration request_timeout = std::chrono::minutes(10);
    bool no_keepalive = false;                  ///< a connection of its own for every request
    Duration grace = std::chrono::seconds(30);  ///< for what is in flight, after an interrupt

    // ---- how it is measured
    bool virtual_time = false;  ///< the simulated server without sockets or waiting
    Duration turnaround =
        std::chrono::microseconds(100);  ///< virtual time: from an answer to the next request
    Duration write_time{};               ///< virtual time: of one event
    std::uint32_t workers = 1;
    Duration spin{};
    bool user_timestamps = false;
    /// The places where metrics of servers and other exporters are read, as core/plan/scrape_places.h reads
    /// it.
    std::vector<std::string> scrape = {"auto"};
    /// Regular expressions: which further series of them are kept.
    std::vector<std::string> scrape_keep = {};
    Duration scrape_interval = std::chrono::seconds(1);
    std::string power = "auto";   ///< what is read for the power, as `loadgen/power` reads it
    std::string listen = {};      ///< address that serves the run's figures while it goes on; empty: none
    bool traceparent = false;     ///< every request carries a W3C trace context
    bool server_profile = false;  ///< the server's own profiler runs while the load is made
    std::string events = "all";   ///< whose events are kept, as core/plan/events_kept.h reads it
    std::string gpu = {};         ///< what serves, as NAME[xN]
    std::string model_card = {};  ///< of the model that is served, as `cards/model.h` reads it

    // ---- what it is held against
    std::vector<std::string> slos =
        {};                    ///< limits on percentiles as core/result/slo.h reads them: "ttft_p95:800"
    double max_failed = 0.10;  ///< share of requests that may fail before the run is invalid
    /// Questions with known answers that are asked after the load, as datasets/questions.h reads it; empty:
    /// none.
    std::string probe = {};
    std::string alerts = {};    ///< file with alerts; empty: the default ones of core/result/alerts.h
    std::string baseline = {};  ///< runs that alerts compare with: a directory; empty: none

    // ---- what is kept
    std::string out = {};       ///< directory; empty: runs/TIME
    bool overwrite = false;     ///< a result that is there may be replaced
    bool keep_answers = false;  ///< the answers' texts, in answers.jsonl
    std::map<std::string, std::string> metadata = {};

    bool operator==(const LoadPlan&) const = default;
};

}  // namespace paretoken
