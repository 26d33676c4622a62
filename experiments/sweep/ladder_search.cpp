#include "experiments/sweep/ladder_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace paretoken::experiments {

LadderSearch::LadderSearch(std::vector<double> levels, std::uint64_t longest)
    : LevelSearch({.level = levels.front()}, longest), levels_(std::move(levels)) {}

void LadderSearch::limit(std::uint64_t longest) {
    LevelSearch::limit(longest);
    if (next_ && measured_.contains(next_->level))
        decide();  // the run may now be no longer than the last one
}

void LadderSearch::tell(const StepResult& result) {
    ++runs_;
    measured_[next_->level] = {result.verdict, result.times_enough, next_->longer};
    decide();
}

/// Returns the levels next to the answer that are not decided: the highest one within the SLOs, then those
/// without enough evidence above it, then the lowest one that misses them.
std::vector<double> LadderSearch::undecided() const {
    const auto fail = std::ranges::find_if(
        measured_, [](const auto& run) { return run.second.verdict == SloVerdict::missed; });
    std::vector<double> levels;
    for (auto run = std::make_reverse_iterator(fail); run != measured_.rend(); ++run) {
        if (run->second.verdict == SloVerdict::met) break;
        levels.insert(levels.begin(), run->first);
        if (run->second.verdict == SloVerdict::within) break;
    }
    if (fail != measured_.end() && fail->second.times_enough > 1) levels.push_back(fail->first);
    return levels;
}

void LadderSearch::decide() {
    for (const double level : levels_)
        if (!measured_.contains(level)) {
            next_ = SearchStep{.level = level};
            return;
        }
    const std::vector<double> levels = undecided();
    for (const double level : levels) {
        const Run& run = measured_.at(level);
        if (run.longer >= longest_) continue;
        next_ = SearchStep{.level = level, .longer = lengthened(run.longer, run.times_enough)};
        return;
    }
    end(levels.empty()
            ? "the levels next to the answer are decided"
            : fmt::format("level {:g} is not decided, and the time that is left allows no longer run",
                          levels.front()));
}

}  // namespace paretoken::experiments
