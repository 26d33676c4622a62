#pragma once
// Whether an earlier run, whose records lie beside this one, had sent its prompts to the same server.
#include <filesystem>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/begun.h"

namespace paretoken::experiments {

/// Returns the earlier runs in `directory`, beside it, and in the other pairs of its gate, that sent prompts
/// of a file of `plan` to the servers of `begun`, at most a day ago. All names of the loopback are the same
/// address. `opened_at` is Target::opened_at(). None if the run empties the cache or salts its prompts anew.
std::vector<EarlierRun> earlier_runs_of(const Begun& begun, const LoadPlan& plan,
                                        const std::string& opened_at, const std::filesystem::path& directory);

}  // namespace paretoken::experiments
