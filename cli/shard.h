#pragma once
// What a command does in a process that makes a part of the load of another one.
#include "core/plan/plan.h"
#include "experiments/server/target.h"

namespace paretoken::cli {

/// Makes the parts of loads that the process with shard 0 orders, and prints nothing. `asked`: the plan of
/// the command as shard 0 has it. Throws as experiments::follow() (experiments/fleet/fleet.h) does.
void follow(const LoadPlan& asked, const experiments::Access& access);

}  // namespace paretoken::cli
