#pragma once
// How well a server answers: questions with known answers, asked at temperature 0.
#include <optional>
#include <vector>

#include "core/result/result.h"
#include "experiments/target/target.h"
#include "reports/files/probe_file.h"

namespace paretoken::experiments {

struct Quality {
    ProbeScore score;
    std::vector<reports::ProbeAnswer> answers = {};  ///< of each question, in order
    std::string failure = {};                        ///< why no question was answered; empty when one was
};

/// The load that asks the questions of `asked.probe`: as many in flight as the plan's own load has (8 in an
/// open loop), answers that end by themselves, temperature 0. Throws UsageError.
Load load_of_probe(const Target& target, const LoadPlan& asked);

/// Nothing when it was interrupted. An answer that does not come is a wrong one. Blocks.
std::optional<Quality> quality_of(const Target& target, const LoadPlan& asked,
                                  const loadgen::Interruption& interruption);

/// Whether the questions of the plan are texts of a wanted length.
bool probe_makes_prompts(const LoadPlan& asked);

/// Throws UsageError where the probe cannot be read, or its prompts exceed the context.
void check_probe(const LoadPlan& asked, std::optional<std::int64_t> context);

}  // namespace paretoken::experiments
