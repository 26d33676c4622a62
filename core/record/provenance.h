#pragma once
// The origin of a run, and the description of its requests.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paretoken {

/// A reference to the run's model card, with enough data to find it again and to notice a change.
struct ModelCardNote {
    /// As the user gave it: "llama-3.1-8b:weights=int4", or a path. Empty: the simulated server's.
    std::string spec;
    std::string name;     ///< name of the card
    std::string weights;  ///< number format of the weights
    std::string kv;       ///< number format of the KV cache
    std::string hash;     ///< hash of all values that a report uses

    bool operator==(const ModelCardNote&) const = default;
};

struct ServerStart {
    std::string command;         ///< the command with placeholders filled in and secrets hidden
    std::string version = {};    ///< version that the server reports; empty if it reports none
    double ready_s = 0;          ///< time from its start until it was ready
    std::uint64_t restarts = 0;  ///< number of servers that the same measurement started before this one
    std::string log = {};        ///< file with its output, relative to the run's directory

    bool operator==(const ServerStart&) const = default;
};

/// The origin of a result: program, host, server, time, and the command that repeats it.
struct Provenance {
    /// Names the run: 32 random hexadecimal digits, which every copy of the result keeps. Empty in results of
    /// versions that did not write it; core/run/distinct_runs.h says what is compared then.
    std::string run_id = {};
    std::string version;
    std::string commit;
    /// Another program that made the records: "AIPerf 0.13.0". Empty for runs measured here.
    std::string measured_by = {};
    std::vector<std::string> argv;
    std::string command;     ///< argv as one line that a shell takes
    std::string started_at;  ///< UTC, "2026-11-21T09:38:00Z"
    std::string host;        ///< name of the client's machine
    std::string host_cpu;    ///< its CPU model
    std::uint32_t host_cores = 0;
    std::string kernel;
    std::string clock;  ///< "kernel receive stamps", "user-space reads" or "virtual time"
    std::string url;
    std::string model;        ///< model id in requests
    std::string server_kind;  ///< "vllm", "llama.cpp", "paretoken-sim", … or empty
    /// The serving hardware: the name in --gpu, otherwise "sim:PROFILE" for a simulated server, otherwise the
    /// CPU model for a server on this machine, otherwise empty.
    std::string hardware;
    std::uint32_t hardware_count = 1;  ///< number of GPUs or machines
    /// What determines the simulated profile's hardware limit, by name. Empty: not simulated.
    std::map<std::string, double> simulator;
    std::optional<ModelCardNote> model_card = {};
    std::map<std::string, std::string> metadata;  ///< --metadata K=V
    std::optional<ServerStart> server = {};       ///< absent if no command started the server

    /// Returns the program that measured the run, with its version if known; "paretoken" for this one.
    std::string program() const { return measured_by.empty() ? "paretoken" : measured_by; }

    bool operator==(const Provenance&) const = default;
};

/// A plan as text: the values of its fields by field name, in the syntax of the command line, with secrets
/// hidden. A result holds the plan as resolved (core/plan/plan.h).
using PlanEcho = std::map<std::string, std::string>;

/// A mean length in tokens: the length that was requested, and the length that the server counted. If the
/// server does not report the length of an answer, the streamed tokens are counted instead.
struct Asked {
    double asked = 0;
    double counted = 0;

    bool operator==(const Asked&) const = default;
};

/// The description of the load's requests. Runs are comparable when their fingerprints are equal.
struct Workload {
    std::string fingerprint;  ///< workload_fingerprint() of core/plan/plan_fields.h: no seed, salt or load
    std::string dataset;      ///< "synthetic:isl=512,osl=128"
    std::string endpoint;     ///< name of the protocol: "chat", "completions", …
    std::uint64_t seed = 0;
    std::string salt;
    std::string prompt_form;  ///< "token ids" or "text"
    /// The way in which prompts got their lengths in tokens: "token ids", "/tokenize" or "usage" (the server
    /// counted sample texts), "exact" (virtual time) or "uncalibrated".
    std::string length_source;
    /// The material of generated prompts: "random words", "random token ids", or the name of a text file and
    /// the hash of its content. Empty if the dataset holds all prompts.
    std::string text = {};
    /// The mean lengths of the dataset; absent if it does not know them, or if there are several classes.
    std::optional<double> wanted_input_tokens;
    std::optional<double> wanted_output_tokens;
    /// The mean lengths over the successful requests without warm-up; absent if no length is known.
    std::optional<double> achieved_input_tokens;
    std::optional<double> achieved_output_tokens;
    /// The means of requested and counted lengths, over successful requests that have both; absent if none
    /// has, the output length also if the server may end an answer early (no ignore_eos).
    std::optional<Asked> input_length;
    std::optional<Asked> output_length;
    /// The cached tokens of a prompt that shares only the chat template with earlier ones, by the usage of
    /// two probes. Absent if requests share more by design, or if usage lacks cached tokens.
    std::optional<double> cached_by_template = {};
    /// The number of openings (single requests, or first requests of conversations and jobs) after which
    /// their prompts repeat word for word. Absent if every prompt is new, or if there are several classes.
    std::optional<std::uint64_t> repeats_after = {};
    std::map<std::string, std::uint64_t> class_repeats_after = {};  ///< the same for each class that repeats
    /// The number of different prompts among these; absent if all differ.
    std::optional<std::uint64_t> different_prompts = {};
    std::map<std::string, std::uint64_t> class_different_prompts = {};  ///< the same for each such class
    std::map<std::string, std::string> class_prompts_of = {};  ///< earlier class whose file a class has, too
    /// The share of the openings whose prompts this run had sent before; an estimate for a part of a file
    /// with equal prompts. Absent if every prompt is new.
    std::optional<double> repeated_share = {};
    /// prompt_growth_of() of core/run/prompt_growth.h: the mean growth of prompts from turn to turn.
    std::optional<Asked> prompt_growth = {};
    /// The share of the prompt tokens of the file that a cache of unlimited size, with whole blocks and for
    /// each job alone, would find. Absent if prompts have no blocks, or if there are several classes.
    std::optional<double> best_possible_cached_ratio = {};

    bool operator==(const Workload&) const = default;
};

/// An earlier run that sent the same prompts to the same server.
struct EarlierRun {
    std::string directory;
    std::optional<double> cached_share;  ///< share of its prompts' tokens that the prefix cache served

    bool operator==(const EarlierRun&) const = default;
};

}  // namespace paretoken
