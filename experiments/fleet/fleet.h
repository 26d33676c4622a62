#pragma once
// Brings the processes of one load together, and makes the parts that shard 0 orders.
#include <filesystem>
#include <memory>
#include <stop_token>

#include "core/plan/plan.h"
#include "experiments/server/companions.h"
#include "experiments/server/target.h"
#include "experiments/watcher.h"

namespace paretoken::experiments {

struct Session;

/// Returns whether another process decides: the plan has a rendezvous, and a shard other than 0.
bool follows(const LoadPlan& asked);

/// Meets the other processes as shard 0; null for an undivided plan or one without rendezvous. `asked` is a
/// plan after with_dataset(). Throws as Leader does, and UsageError for a plan that cannot be made together.
std::shared_ptr<Companions> companions_of(const LoadPlan& asked, Watcher& watcher,
                                          const std::stop_token& stop);

/// Makes the parts that shard 0 orders, below `directory`, until all is over; runs that shard 0 has received
/// are removed. Throws RuntimeError if shard 0 is gone or on an interruption, and as Follower does.
void follow(const LoadPlan& asked, const Access& access, const std::filesystem::path& directory,
            const Session& session);

}  // namespace paretoken::experiments
