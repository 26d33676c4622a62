#pragma once
// Checks the questions of --probe before a server is loaded; experiments/quality.h asks them.
#include <cstdint>
#include <optional>

#include "core/plan/plan.h"

namespace paretoken::experiments {

/// Returns whether the plan has questions (--probe) and their prompts are generated with a wanted number of
/// tokens, instead of read from a file. Throws as check_probe() does when the questions cannot be read.
bool probe_makes_prompts(const LoadPlan& asked);

/// Throws when the questions cannot be read (UsageError, or RuntimeError for their file), and UsageError when
/// the mean prompt and answer exceed `context`, the server's most tokens, if known.
void check_probe(const LoadPlan& asked, std::optional<std::int64_t> context);

}  // namespace paretoken::experiments
