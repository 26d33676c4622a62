#include "loadgen/load/job_progress.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace paretoken::loadgen {

using datasets::JobTurn;

JobProgress::JobProgress(std::shared_ptr<const datasets::JobGraph> graph)
    : graph_(std::move(graph)),
      waiting_(graph_->turns.size()),
      states_(graph_->turns.size(), State::waiting),
      latest_end_(graph_->turns.size(), TimePoint::min()),
      has_cause_(graph_->turns.size(), false),
      is_lost_(graph_->turns.size(), false),
      left_(graph_->turns.size()) {
    for (std::uint32_t turn = 0; turn < graph_->turns.size(); ++turn) {
        const auto& after = graph_->turns[turn].after;
        unended_.push_back(static_cast<std::uint32_t>(after.size()));
        for (const std::uint32_t other : after) waiting_[other].push_back(turn);
        if (after.empty()) states_[turn] = State::released;
    }
}

std::vector<std::uint32_t> JobProgress::with_the_first() const {
    std::vector<std::uint32_t> others;
    for (std::uint32_t turn = 1; turn < graph_->turns.size(); ++turn)
        if (graph_->turns[turn].after.empty()) others.push_back(turn);
    return others;
}

std::vector<std::uint32_t> JobProgress::ended(std::uint32_t turn, bool ok, TimePoint at) {
    if (states_.at(turn) != State::released) return {};
    leave(turn, ok, at);
    std::ranges::sort(freed_);
    return std::exchange(freed_, {});
}

/// Returns whether a turn cannot be sent because the turn `lost` has no answer.
bool JobProgress::is_lost_by(std::uint32_t turn, std::uint32_t lost) const {
    const JobTurn& of = graph_->turns[turn];
    return of.history == lost || graph_->turns[lost].agent == of.agent;
}

/// Takes a turn out, with all turns that are skipped because of it. It has no recursion, because a
/// conversation may have many turns.
void JobProgress::leave(std::uint32_t turn, bool ok, TimePoint at) {
    std::vector<std::tuple<std::uint32_t, bool, TimePoint>> leaving{{turn, ok, at}};
    while (!leaving.empty()) {
        const auto [gone, well, end] = leaving.back();
        leaving.pop_back();
        states_[gone] = well ? State::ended : State::lost;
        --left_;
        for (const std::uint32_t next : waiting_[gone]) {
            latest_end_[next] = std::max(latest_end_[next], end);
            if (well) has_cause_[next] = true;
            if (!well && is_lost_by(next, gone)) is_lost_[next] = true;
            if (--unended_[next] > 0) continue;
            if (is_lost_[next] || !has_cause_[next]) {
                leaving.emplace_back(next, false, latest_end_[next]);
            } else {
                states_[next] = State::released;
                freed_.push_back(next);
            }
        }
    }
}

}  // namespace paretoken::loadgen
