#pragma once
// Brings the processes of one load together, and makes the parts that shard 0 orders.
#include <filesystem>
#include <memory>
#include <stop_token>

#include "core/plan/plan.h"
#include "experiments/server/companions.h"
#include "experiments/server/provenance.h"
#include "experiments/server/target.h"
#include "experiments/watcher.h"
#include "loadgen/interruption.h"

namespace paretoken::experiments {

/// Returns whether another process decides what this one measures: the plan has a rendezvous, and a shard
/// other than 0.
bool follows(const LoadPlan& asked);

/// Meets the other processes as shard 0. Returns null if the plan is not divided or has no rendezvous.
/// `asked` must be a plan after with_dataset(). Throws as Leader (experiments/fleet/leader.h) does, and
/// UsageError for a plan that cannot be made together.
std::shared_ptr<Companions> companions_of(const LoadPlan& asked, Watcher& watcher,
                                          const std::stop_token& stop);

/// Makes the parts that shard 0 orders, until it says that all is over. Runs are made below `directory` and
/// removed when shard 0 has received them; what it has not received stays there. Throws RuntimeError if shard
/// 0 is gone or this process was interrupted, and as Follower (experiments/fleet/follower.h) does.
void follow(const LoadPlan& asked, const Access& access, const std::filesystem::path& directory,
            const Invocation& invocation, Watcher& watcher, const loadgen::Interruption& interruption);

}  // namespace paretoken::experiments
