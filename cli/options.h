#pragma once
// Option groups that several commands share. What the user said stands here as said; what it comes to is
// worked out by cli/measure. Names of other tools are aliases.
#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paretoken::cli {

/// Whom to ask, and how.
struct TargetOptions {
    std::string url = "sim:";
    std::string model;
    std::string endpoint_type = "chat";
    std::string endpoint;  ///< path instead of the endpoint type's own
    std::vector<std::string> headers;
    std::string api_key_env = "OPENAI_API_KEY";
    bool insecure = false;
    std::string ca_file;
    bool virtual_time = false;  ///< the simulated server without sockets or waiting
    std::string turnaround = "100us";
    std::string write_time = "0us";
};

/// What to ask for.
struct WorkloadOptions {
    std::string dataset = "synthetic";
    std::string dataset_path;
    std::string isl = "512";
    std::string osl = "128";
    std::optional<double> range_ratio;
    std::string prompt_form = "auto";
    bool ignore_eos = true;
    bool max_completion_tokens = false;
    std::optional<double> temperature;
    std::string extra_body;
    std::uint64_t seed = 0;
    std::string salt;  ///< empty: fresh for every run
};

/// How much of it, how fast, how long.
struct PaceOptions {
    std::string arrivals;
    std::string request_rate;
    double burstiness = 1;
    std::string num_prompts;
    std::string duration;
    std::uint64_t num_warmups = 0;
    std::uint32_t workers = 1;
    std::string spin = "0us";
    bool user_timestamps = false;
    std::string timeout = "600s";
};

/// What to keep and what to hold it against.
struct ResultOptions {
    std::string out;
    std::vector<std::string> metadata;
    std::string gpu;
    std::vector<std::string> goodput;
};

struct MeasureOptions {
    TargetOptions target;
    WorkloadOptions workload;
    PaceOptions pace;
    ResultOptions result;
};

void add_target_options(CLI::App& command, TargetOptions& options);
void add_workload_options(CLI::App& command, WorkloadOptions& options);
void add_pace_options(CLI::App& command, PaceOptions& options);
void add_result_options(CLI::App& command, ResultOptions& options);

}  // namespace paretoken::cli
