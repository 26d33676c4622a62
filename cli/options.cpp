#include "cli/options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace paretoken::cli {

void add_target_options(CLI::App& command, TargetOptions& options) {
    const char* group = "Target";
    command
        .add_option(
            "url,--url,--base-url", options.url,
            "Server: http://HOST:PORT, https://…, or sim:PROFILE to start the simulated server and load it "
            "(PROFILE as of `serve --profile`: llama3-8b-h100-bf16, llama3-70b/h200x2/fp8, …)")
        ->capture_default_str()
        ->group(group);
    command.add_option("--model", options.model, "Model to name in requests [the first of /v1/models]")
        ->group(group);
    command.add_option("--endpoint-type", options.endpoint_type, "chat or completions")
        ->check(CLI::IsMember({"chat", "completions"}))
        ->capture_default_str()
        ->group(group);
    command.add_option("--endpoint", options.endpoint, "Path to POST to [that of the endpoint type]")
        ->group(group);
    command.add_option("-H,--header", options.headers, "Further header, 'Name: value'; may be repeated")
        ->allow_extra_args(false)
        ->group(group);
    command.add_option("--api-key-env", options.api_key_env, "Environment variable that holds the API key")
        ->capture_default_str()
        ->group(group);
    command.add_flag("--insecure", options.insecure, "Accept any TLS certificate")->group(group);
    command
        .add_option("--ca-file", options.ca_file,
                    "Certificate authorities to trust besides the system's (PEM)")
        ->group(group);
    command
        .add_flag("--virtual", options.virtual_time,
                  "With sim:PROFILE: compute the run in virtual time, without sockets or waiting")
        ->group(group);
    command
        .add_option("--turnaround", options.turnaround,
                    "With --virtual, closed loop: from an answer's end to the next request's arrival")
        ->capture_default_str()
        ->group(group);
    command
        .add_option(
            "--write-time", options.write_time,
            "With --virtual: what a server takes to write an event; those of a step follow one another")
        ->capture_default_str()
        ->group(group);
}

void add_workload_options(CLI::App& command, WorkloadOptions& options) {
    const char* group = "Workload";
    command
        .add_option("--dataset,--dataset-name", options.dataset, "synthetic, or custom with --dataset-path")
        ->capture_default_str()
        ->group(group);
    command.add_option("--dataset-path", options.dataset_path, "JSON lines with prompt or messages")
        ->group(group);
    command
        .add_option(
            "--isl,--random-input-len", options.isl,
            "Prompt tokens: 512, uniform:min=1;max=8, normal:mean=…;stddev=…, lognormal:mean=512;cv=1")
        ->capture_default_str()
        ->group(group);
    command.add_option("--osl,--random-output-len", options.osl, "Answer tokens (max_tokens), likewise")
        ->capture_default_str()
        ->group(group);
    command
        .add_option("--range-ratio,--random-range-ratio", options.range_ratio,
                    "Draw lengths L uniformly from L(1±ratio), as vLLM's benchmark does")
        ->check(CLI::Range(0.0, 0.99))
        ->group(group);
    command
        .add_option("--prompt-form", options.prompt_form,
                    "text, token-ids, or auto: token ids where the endpoint takes them (completions)")
        ->check(CLI::IsMember({"auto", "text", "token-ids"}))
        ->capture_default_str()
        ->group(group);
    command
        .add_flag("--ignore-eos,!--no-ignore-eos", options.ignore_eos,
                  "Have answers as long as asked for [on; a server that refuses it is asked without]")
        ->group(group);
    command
        .add_flag("--max-completion-tokens", options.max_completion_tokens,
                  "Send max_completion_tokens instead of max_tokens (hosted reasoning models)")
        ->group(group);
    command.add_option("--temperature", options.temperature, "Sampling temperature [the server's]")
        ->group(group);
    command
        .add_option("--extra-body", options.extra_body, "JSON object merged into every request; its keys win")
        ->group(group);
    command.add_option("--seed", options.seed, "Seed of lengths, prompts and arrivals")
        ->capture_default_str()
        ->group(group);
    command
        .add_option("--salt", options.salt,
                    "Fixes what makes prompts new to a prefix cache [fresh for every run, recorded]")
        ->group(group);
}

void add_pace_options(CLI::App& command, PaceOptions& options) {
    const char* group = "Pace";
    command
        .add_option("--burstiness", options.burstiness, "Shape of gamma gaps: 1 is Poisson, below 1 burstier")
        ->check(CLI::Range(0.01, 1000.0))
        ->capture_default_str()
        ->group(group);
    command
        .add_option("--num-prompts,--request-count", options.num_prompts,
                    "Measured requests [without --duration: 100, or 10 per slot if that is more]")
        ->group(group);
    command
        .add_option("--duration,--benchmark-duration", options.duration,
                    "Start requests for so long (30s, 5m); those in flight are followed to their end")
        ->group(group);
    command.add_option("--num-warmups", options.num_warmups, "Requests before the first measured one")
        ->capture_default_str()
        ->group(group);
    command
        .add_option("--workers", options.workers, "Threads that make load; one is enough for most servers")
        ->check(CLI::Range(1, 256))
        ->capture_default_str()
        ->group(group);
    command
        .add_option("--spin", options.spin,
                    "Poll instead of sleeping for this long before each due request (200us): exacter starts "
                    "of an open loop for processor time that is not counted as load")
        ->capture_default_str()
        ->group(group);
    command
        .add_flag("--user-timestamps", options.user_timestamps,
                  "Time events after they were read instead of by the kernel's receive stamps: to see the "
                  "difference")
        ->group(group);
    command.add_option("--timeout", options.timeout, "Give a request up after")
        ->capture_default_str()
        ->group(group);
}

void add_result_options(CLI::App& command, ResultOptions& options) {
    const char* group = "Result";
    command.add_option("--out,--result-dir", options.out, "Directory to write to [runs/TIME]")->group(group);
    command.add_option("--metadata", options.metadata, "K=V to keep with the result; may be repeated")
        ->allow_extra_args(false)
        ->group(group);
    command
        .add_option(
            "--gpu", options.gpu,
            "What serves, as NAME[xN] (h100, h200x2); a report joins limits and prices on it [for a local "
            "server: this machine's CPU]")
        ->group(group);
    command
        .add_option("--goodput", options.goodput,
                    "SLOs that make a request good, in ms: ttft:500 tpot:15 e2e:2000")
        ->group(group);
}

}  // namespace paretoken::cli
