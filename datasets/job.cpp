#include "datasets/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace paretoken::datasets {
namespace {

using Refuse = std::function<void(std::uint32_t, const std::string&)>;

constexpr std::uint32_t kNone = UINT32_MAX;

/// Returns the turn before each turn in its agent, or kNone.
std::vector<std::uint32_t> turns_before(const std::vector<StatedTurn>& turns) {
    std::vector<std::uint32_t> before(turns.size(), kNone);
    std::map<std::uint32_t, std::uint32_t> last;
    for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
        const auto [found, is_first] = last.try_emplace(turns[turn].agent, turn);
        if (!is_first) before[turn] = std::exchange(found->second, turn);
    }
    return before;
}

/// Returns all turns that each turn waits for, ascending.
std::vector<std::vector<std::uint32_t>> waits_of(const std::vector<StatedTurn>& turns,
                                                 const std::vector<std::uint32_t>& before) {
    std::vector<std::vector<std::uint32_t>> waits;
    for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
        std::set<std::uint32_t> all(turns[turn].after.begin(), turns[turn].after.end());
        if (before[turn] != kNone) all.insert(before[turn]);
        if (turns[turn].fork_of) all.insert(*turns[turn].fork_of);
        waits.emplace_back(all.begin(), all.end());
    }
    return waits;
}

void refuse_waits_for_background(const std::vector<StatedTurn>& turns,
                                 const std::vector<std::vector<std::uint32_t>>& waits, const Refuse& refuse) {
    std::set<std::uint32_t> background;
    for (const StatedTurn& turn : turns)
        if (turn.background) background.insert(turn.agent);
    const auto is_background = [&](std::uint32_t turn) { return background.contains(turns[turn].agent); };
    for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
        if (is_background(turn)) continue;
        if (std::ranges::any_of(waits[turn], is_background))
            refuse(turn, "the turn waits for an agent of the background, which nobody waits for");
    }
}

/// Returns the stated turns in an order in which each stands behind those it waits for.
std::vector<std::uint32_t> order_of(const std::vector<StatedTurn>& turns,
                                    const std::vector<std::vector<std::uint32_t>>& waits,
                                    const Refuse& refuse) {
    std::vector<std::vector<std::uint32_t>> waiting(turns.size());
    std::vector<std::size_t> left;
    std::set<std::uint32_t> next;
    for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
        left.push_back(waits[turn].size());
        for (const std::uint32_t other : waits[turn]) waiting[other].push_back(turn);
        if (waits[turn].empty()) next.insert(turn);
    }
    if (next.empty()) refuse(0, "every turn of the job waits for another one, so that none can start");
    std::vector<std::uint32_t> order;
    const auto take = [&](std::uint32_t turn) {
        next.erase(turn);
        order.push_back(turn);
        for (const std::uint32_t other : waiting[turn])
            if (--left[other] == 0) next.insert(other);
    };
    take(*std::ranges::min_element(next, [&](std::uint32_t a, std::uint32_t b) {
        return turns[a].delay + turns[a].tool < turns[b].delay + turns[b].tool;
    }));
    while (!next.empty()) take(*next.begin());
    if (order.size() < turns.size()) {
        const auto circle = std::ranges::find_if(left, [](std::size_t n) { return n > 0; });
        refuse(static_cast<std::uint32_t>(circle - left.begin()),
               "the turn waits for a turn that waits for it, directly or through others");
    }
    return order;
}

}  // namespace

JobGraph conversation_of(std::uint32_t turns) {
    JobGraph graph{std::vector<JobTurn>(turns)};
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        graph.turns[turn].number = turn;
        graph.turns[turn].after = {turn - 1};
        graph.turns[turn].history = turn - 1;
    }
    return graph;
}

OrderedJob ordered_job(const std::vector<StatedTurn>& turns, const Refuse& refuse) {
    const std::vector<std::uint32_t> before = turns_before(turns);
    const auto waits = waits_of(turns, before);
    refuse_waits_for_background(turns, waits, refuse);
    OrderedJob job{.positions = order_of(turns, waits, refuse)};
    std::vector<std::uint32_t> place(turns.size());
    for (std::uint32_t turn = 0; turn < turns.size(); ++turn) place[job.positions[turn]] = turn;
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> agents;  ///< number and turns so far
    for (const std::uint32_t position : job.positions) {
        const StatedTurn& stated = turns[position];
        auto& agent = agents.try_emplace(stated.agent, agents.size(), 0).first->second;
        JobTurn turn{.agent = agent.first,
                     .number = agent.second++,
                     .delay = stated.delay,
                     .tool = stated.tool,
                     .background = stated.background};
        for (const std::uint32_t other : waits[position]) turn.after.push_back(place[other]);
        std::ranges::sort(turn.after);
        const std::uint32_t continued =
            before[position] != kNone ? before[position] : stated.fork_of.value_or(kNone);
        if (!stated.whole_prompt && continued != kNone) turn.history = place[continued];
        job.graph.turns.push_back(std::move(turn));
    }
    return job;
}

OrderedJob without_turns(const OrderedJob& job, const std::vector<bool>& left_out) {
    std::vector<JobTurn> turns =
        job.graph.turns;  // whose waits become those that stay, by their numbers here
    std::vector<std::uint32_t> stay;
    const auto stays = [&](std::uint32_t number) { return !left_out[job.positions[number]]; };
    for (std::uint32_t number = 0; number < turns.size(); ++number) {
        JobTurn& turn = turns[number];
        std::set<std::uint32_t> after;
        Duration more{};
        for (const std::uint32_t other : turn.after) {
            if (stays(other)) {
                after.insert(other);
                continue;
            }
            after.insert(turns[other].after.begin(), turns[other].after.end());
            more = std::max(more, turns[other].delay + turns[other].tool);
        }
        turn.after.assign(after.begin(), after.end());
        turn.delay += more;
        if (turn.history && !stays(*turn.history)) turn.history = turns[*turn.history].history;
        if (stays(number)) stay.push_back(number);
    }
    const auto first = std::ranges::min_element(stay, {}, [&](std::uint32_t number) {
        const JobTurn& turn = turns[number];
        return std::pair(!turn.after.empty(), turn.delay + turn.tool);
    });
    if (first != stay.end()) std::rotate(stay.begin(), first, first + 1);
    std::vector<std::uint32_t> place(turns.size(), kNone);
    for (std::uint32_t i = 0; i < stay.size(); ++i) place[stay[i]] = i;
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> agents;  ///< number and turns so far
    OrderedJob kept;
    for (const std::uint32_t number : stay) {
        kept.positions.push_back(job.positions[number]);
        JobTurn& turn = kept.graph.turns.emplace_back(std::move(turns[number]));
        auto& agent = agents.try_emplace(turn.agent, agents.size(), 0).first->second;
        turn.agent = agent.first;
        turn.number = agent.second++;
        for (std::uint32_t& other : turn.after) other = place[other];
        std::ranges::sort(turn.after);
        if (turn.history) turn.history = place[*turn.history];
    }
    return kept;
}

}  // namespace paretoken::datasets
