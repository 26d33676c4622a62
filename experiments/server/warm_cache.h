#pragma once
// Whether an earlier run, whose records lie beside this one, had sent its prompts to the same server: the
// prefix cache then serves what the first run had to compute.
#include <filesystem>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/begun.h"

namespace paretoken::experiments {

/// Returns the earlier runs in `directory`, beside it, and in the other pairs of its gate, that sent prompts
/// of a file of `plan` to the servers of `begun`, at most a day ago; a run that was killed is one of them.
/// All names of the loopback are the same address. With --salt-prompts, another salt or seed makes other
/// prompts. Generated prompts do not count, because a new salt always changes them. `opened_at` is
/// Target::opened_at(). There are no such runs if the run empties the prefix cache before it begins.
std::vector<EarlierRun> earlier_runs_of(const Begun& begun, const LoadPlan& plan,
                                        const std::string& opened_at, const std::filesystem::path& directory);

}  // namespace paretoken::experiments
