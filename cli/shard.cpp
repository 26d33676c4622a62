#include "cli/shard.h"

#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "experiments/fleet/fleet.h"
#include "experiments/session.h"

namespace paretoken::cli {

void follow(const LoadPlan& asked, const experiments::Access& access) {
    InterruptWatch interrupt(InterruptWatch::kFollowing, InterruptWatch::kCuttingOff);
    experiments::Watcher silent;
    experiments::follow(asked, access, directory_of_shard(asked),
                        {this_invocation(), silent, {interrupt.token(), interrupt.cut_off()}});
    print(stderr, "the result of all shards is with shard 0\n");
}

}  // namespace paretoken::cli
