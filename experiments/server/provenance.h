#pragma once
// The provenance of an experiment's results: program, host, server and time.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/record/provenance.h"

namespace paretoken {
struct LoadPlan;
struct RunResult;
}  // namespace paretoken

namespace paretoken::loadgen {
struct EndpointFacts;
}  // namespace paretoken::loadgen

namespace paretoken::experiments {

class Target;

struct Invocation {
    std::vector<std::string> argv;
    std::string command;  ///< the command as one line for a shell
};

/// Returns the words of the command that continues in `directory` what this invocation began there.
std::vector<std::string> words_to_continue(const Invocation& invocation,
                                           const std::filesystem::path& directory);

/// Returns the paths and names by which a server may name the card of its model, the best first.
std::vector<std::string> card_names_of(const loadgen::EndpointFacts& facts);

/// Returns the provenance of a run that starts now. Throws UsageError for a wrong GPU or model card.
Provenance provenance_of(const Target& target, const LoadPlan& resolved, const Invocation& invocation);

/// Returns the engine that served, as its metrics or else its API name it ("vllm", "llamacpp"); may be empty.
std::string engine_of(const RunResult& result);

/// Returns the current time, or the time that was `ago` before: "2026-11-21T09:45:12Z".
std::string utc_now(std::chrono::seconds ago = {});

}  // namespace paretoken::experiments
