#pragma once
// Measures the quality of a server's answers: asks the questions of --probe, whose right answers are known,
// at temperature 0.
#include <optional>
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

/// Returns the load that asks each question of `asked.probe` once. As many are in flight as the first class
/// of the plan allows (8 if it has no cap). The option ignore_eos is off, so that the model ends its
/// answers; the temperature is 0. Throws UsageError when the questions are wrong or the plan does not fit
/// the target, and RuntimeError when the file of questions cannot be read.
Load load_of_probe(const Target& target, const LoadPlan& asked);

/// Asks the questions and counts the answers and the right ones. Returns nothing when interrupted. Blocks.
/// Throws as load_of_probe() does.
std::optional<Quality> quality_of(const Target& target, const LoadPlan& asked,
                                  const loadgen::Interruption& interruption);

}  // namespace paretoken::experiments
