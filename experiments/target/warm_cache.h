#pragma once
// Whether the prompts of a run had been sent to its server before, by an earlier run whose result lies beside
// it: the prefix cache then serves what the first run had to compute, and the two runs do not show the effect
// of what differs between them.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/result/result.h"

namespace paretoken::experiments {

/// An earlier run that sent the same prompts to the same server.
struct EarlierRun {
    std::string directory;
    std::optional<double> cached_share;  ///< share of its prompts' tokens that the prefix cache served
};

/// Returns the earlier runs in `directory`, beside it, and in the other pairs of its gate, that sent prompts
/// of a file of `plan` to the server of `begun`, at most a day ago. A new salt makes other prompts if
/// --salt-prompts is set. Generated prompts do not count, because a new salt always changes them.
/// `opened_at` is Target::opened_at(). There are no such runs if the run empties the prefix cache before it
/// begins.
std::vector<EarlierRun> earlier_runs_of(const RunResult& begun, const LoadPlan& plan,
                                        const std::string& opened_at, const std::filesystem::path& directory);

/// Returns a warning (warm_cache) if the prefix cache served a larger share of the run's prompts than of an
/// earlier run's, or if it may have, because the server does not report the share.
std::optional<Reason> warm_cache(const std::vector<EarlierRun>& earlier, const RunResult& result);

}  // namespace paretoken::experiments
