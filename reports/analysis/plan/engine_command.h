#pragma once
// How the servers of a deployment plan are started: each engine's command and what its container needs.
#include <cstdint>
#include <string>
#include <vector>

#include "reports/analysis/plan/plan.h"

namespace paretoken::reports {

/// The most GPUs that one host usually has.
inline constexpr std::uint32_t kGpusOfHost = 8;

/// The tokens of a slot of llama.cpp, which divides its context among slots of multiples of 256 tokens.
std::uint64_t slot_tokens(const SuggestedSettings& settings);

/// Returns whether there is a version of the engine for the GPU: TensorRT-LLM is for NVIDIA's alone.
bool runs_on(cards::Engine engine, const cards::GpuCard& gpu);

/// Returns whether the engine can be started with a KV cache in a number format beside such weights: vLLM and
/// SGLang have one in 32 bits only if the model has 32 bits too.
bool has_cache_format(cards::Engine engine, const std::string& kv, const std::string& weights);

/// The command that starts one server.
struct EngineCommand {
    std::vector<std::string> program;    ///< "vllm", "serve"
    std::vector<std::string> arguments;  ///< with the model, without the address to listen on
};

/// The command that starts a server of the best cell with `engine` and loads `model`. Throws UsageError if no
/// cell fits, or the engine cannot load the model, has no option for the way in which the cell divides it, or
/// would serve the model's own weights in place of the cell's.
EngineCommand engine_command_of(const DeploymentPlan& plan, cards::Engine engine, const std::string& model);

/// The engine that --emit names: vllm, sglang, trtllm or llamacpp. Throws UsageError for another one.
cards::Engine engine_to_emit(const std::string& server);

/// The same command as one line for a shell of this host: `server` is vllm, sglang, trtllm or llamacpp.
/// Throws UsageError for another server.
std::string server_command_of(const DeploymentPlan& plan, const std::string& server);

/// A server in a container, which listens at kServerPort of every address.
struct ServerContainer {
    std::string image;
    EngineCommand start;
    bool amd = false;               ///< whether the image is for GPUs of AMD
    bool counts_in_flight = false;  ///< whether its /metrics has the requests in flight
    std::string mounted = {};       ///< directory of this host that is /model there; empty: none
};
inline constexpr int kServerPort = 8000;

/// A server of the best cell. Throws UsageError like engine_command_of(), and if no image fits the GPU.
ServerContainer server_container_of(const DeploymentPlan& plan);

/// The mean time of a request at the highest load within the limits, or from medians of its parts.
double seconds_in_flight(const DeploymentPlan& plan, const PlannedSpeed& speed);

/// The requests in flight on one server at the highest load within the limits, times the target utilization
/// (by Little's law if the load is a rate), rounded down to a whole number, or below 1 to thousandths.
std::optional<double> requests_in_flight_target(const DeploymentPlan& plan, const PlannedCell& cell);

}  // namespace paretoken::reports
