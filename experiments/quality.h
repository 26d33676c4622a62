#pragma once
// Measures the quality of a server's answers by the questions of --probe, whose answers are known.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/run/recorded.h"
#include "reports/analysis/gate/answers.h"

namespace paretoken {
struct LoadPlan;
}

namespace paretoken::loadgen {
class Interruption;
}

namespace paretoken::experiments {

struct Load;
class Target;

struct Quality {
    ProbeOutcome outcome;
    std::vector<reports::ProbeAnswer> answers = {};  ///< answer to each question, in order
};

/// Returns the load that asks each question of `asked.probe` once, at temperature 0 and without ignore_eos.
/// Throws UsageError when they are wrong or do not fit the target, RuntimeError without their file.
Load load_of_probe(const Target& target, const LoadPlan& asked);

/// Asks the questions and counts right answers; nothing when interrupted. Throws as load_of_probe() does.
std::optional<Quality> quality_of(const Target& target, const LoadPlan& asked,
                                  const loadgen::Interruption& interruption);

/// Returns the outcome, and writes the answers; `failure` becomes the reason why they could not be written.
ProbeOutcome kept_outcome(const Quality& quality, const std::filesystem::path& directory,
                          std::string& failure);

}  // namespace paretoken::experiments
