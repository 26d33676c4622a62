#pragma once
// Whether the prompts of a run had been sent to its server before, by an earlier run whose result lies beside
// it: the prefix cache then serves what the first run had to compute, and the two runs do not show the effect
// of what differs between them.
#include <filesystem>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/recorded.h"

namespace paretoken::experiments {

/// Returns the earlier runs in `directory`, beside it, and in the other pairs of its gate, that sent prompts
/// of a file of `plan` to the server of `begun`, at most a day ago. A new salt makes other prompts if
/// --salt-prompts is set. Generated prompts do not count, because a new salt always changes them.
/// `opened_at` is Target::opened_at(). There are no such runs if the run empties the prefix cache before it
/// begins.
std::vector<EarlierRun> earlier_runs_of(const Begun& begun, const LoadPlan& plan,
                                        const std::string& opened_at, const std::filesystem::path& directory);

}  // namespace paretoken::experiments
