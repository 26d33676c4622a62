#pragma once
// The rate of a simulated server on a GPU with a card, for what a report estimates.
#include <filesystem>
#include <optional>

#include "experiments/server/provenance.h"
#include "reports/analysis/model/what_if.h"

namespace paretoken::experiments {

/// Returns what a run in virtual time, in `directory`, measures; nothing if the model does not fit on the
/// GPUs, they have no arithmetic for its weights, or requests are longer than its context. Throws
/// RuntimeError when nothing can be written.
std::optional<reports::SimulatedSpeed> simulated_rate(const reports::SimulatedLoad& load,
                                                      const std::filesystem::path& directory,
                                                      const Invocation& invocation);

}  // namespace paretoken::experiments
