#pragma once
// Random graphs of jobs for property tests.
#include <map>

#include "core/random.h"
#include "datasets/job.h"

namespace paretoken::testing {

/// Returns a job of up to 16 turns in up to 5 agents, with spawns, forks, joins and pauses of 0 to 400 ms.
inline datasets::JobGraph random_job(Random& random) {
    const auto count = static_cast<std::uint32_t>(1 + random.below(16));
    std::vector<datasets::StatedTurn> turns(count);
    std::map<std::uint32_t, std::uint32_t> last;  // last turn by agent
    for (std::uint32_t turn = 0; turn < count; ++turn) {
        datasets::StatedTurn& of = turns[turn];
        of.agent = turn == 0 ? 0 : static_cast<std::uint32_t>(random.below(5));
        for (std::uint32_t earlier = 0; earlier < turn; ++earlier)
            if (random.below(6) == 0) of.after.push_back(earlier);
        if (!last.contains(of.agent) && turn > 0 && random.below(3) == 0)
            of.fork_of = static_cast<std::uint32_t>(random.below(turn));
        of.delay = std::chrono::milliseconds(random.below(3) * 100);
        of.tool = std::chrono::milliseconds(random.below(2) * 200);
        of.whole_prompt = false;
        last[of.agent] = turn;
    }
    return datasets::ordered_job(turns, [](std::uint32_t, const std::string&) {}).graph;
}

}  // namespace paretoken::testing
