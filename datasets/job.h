#pragma once
// The graph of a job, which is one task of a user: agents, each a chain of turns (requests), and the turns
// that each turn waits for. A conversation is a job with one agent, a single request one with one turn.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken::datasets {

struct JobTurn {
    std::uint32_t agent = 0;   ///< number of its agent in the job
    std::uint32_t number = 0;  ///< number of the turn in its agent
    /// The turns that must have ended before it starts, ascending: those it waits for and the turn before it
    /// in its agent. If there are none, the turn starts with the job.
    std::vector<std::uint32_t> after = {};
    std::optional<std::uint32_t> history = {};  ///< turn whose messages and answer its prompt continues
    Duration delay{};  ///< pause after the last of `after` has ended, or after the job has begun
    Duration tool{};   ///< time that tools take, after the same moment and in addition to `delay`
    /// Whether nobody waits for its agent. The job's user has the result before such an agent has ended.
    bool background = false;

    bool operator==(const JobTurn&) const = default;
};

/// The turns of a job. A turn stands behind all turns that it waits for; the first one waits for none.
struct JobGraph {
    std::vector<JobTurn> turns = {};
    /// The number of first turns that only prepare the server's cache, because the job begins in its middle
    /// (datasets/begun_inside.h); 0 for a whole job. They ask for one token.
    std::uint32_t primers = 0;

    bool operator==(const JobGraph&) const = default;
};

JobGraph conversation_of(std::uint32_t turns);

/// A turn as a file states it. Turns are named by their positions among those of the job, in any order.
struct StatedTurn {
    std::uint32_t agent = 0;                    ///< any number; the turns of an agent come in their order
    std::vector<std::uint32_t> after = {};      ///< may leave out the turn before in the same agent
    std::optional<std::uint32_t> fork_of = {};  ///< turn whose history the agent's first turn inherits
    Duration delay{};
    Duration tool{};
    bool background = false;
    bool whole_prompt = false;  ///< whether the prompt is stated as a whole, so that it continues no history
};

struct OrderedJob {
    JobGraph graph = {};
    std::vector<std::uint32_t> positions;  ///< position of each turn of the graph among the stated turns
};

/// Orders the turns of a job: each as early as the others allow, otherwise as stated. Of several turns that
/// start with the job, the one with the shortest pause comes first. Calls `refuse(turn, why)`, which must
/// throw, if turns wait for each other in a circle, or if a turn waits for an agent of the background.
OrderedJob ordered_job(const std::vector<StatedTurn>& turns,
                       const std::function<void(std::uint32_t turn, const std::string& why)>& refuse);

/// Returns a job without the turns at some positions among the stated ones. A turn that waited for one of
/// them waits for those that it waited for, and its pause is added. A turn that continued one of them
/// continues what that one did.
OrderedJob without_turns(const OrderedJob& job, const std::vector<bool>& left_out);

}  // namespace paretoken::datasets
