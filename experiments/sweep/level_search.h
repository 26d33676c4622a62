#pragma once
// What all searches over levels share: each returns the next level to measure, and is told the result.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/result/slo.h"

namespace paretoken::experiments {

struct SearchStep {
    double level = 0;
    std::uint64_t longer = 1;  ///< number of requests ÷ number that a level has at first
    bool confirms = false;     ///< whether it repeats a level with another seed

    bool operator==(const SearchStep&) const = default;
};

struct StepResult {
    SloVerdict verdict = SloVerdict::insufficient;  ///< verdict on all SLOs together
    double requests_per_s = 0;                      ///< rate at which requests were completed
    double times_enough = 2;  ///< factor by which a decision needs more requests; 1: the verdict is shown
    bool is_cut = false;      ///< whether its time limit ended the run before it had its requests
};

class LevelSearch {
  public:
    virtual ~LevelSearch() = default;

    /// Returns the next level until tell() and limit(); nothing when the search is over.
    std::optional<SearchStep> next() const { return next_; }

    /// Limits the length of the next step and of all further ones to `longest` times that of a first run.
    virtual void limit(std::uint64_t longest) {
        while (longest_ > std::max<std::uint64_t>(longest, 1)) longest_ /= 2;
        if (next_) next_->longer = std::min(next_->longer, longest_);
    }

    virtual void tell(const StepResult& result) = 0;

    std::uint64_t runs() const { return runs_; }
    /// Returns a sentence that says why the search ended.
    const std::string& ended() const { return ended_; }

  protected:
    /// `longest` is the largest SearchStep::longer, a power of two.
    LevelSearch(SearchStep first, std::uint64_t longest) : next_(first), longest_(longest) {}

    void end(std::string why) {
        next_.reset();
        ended_ = std::move(why);
    }

    /// Returns the smallest power of two that is at least `times` × `longer`, at most the limit.
    std::uint64_t lengthened(std::uint64_t longer, double times) const {
        std::uint64_t power = 2 * longer;
        while (power < longest_ && static_cast<double>(power) < times * static_cast<double>(longer))
            power *= 2;
        return std::min(power, longest_);
    }

    std::optional<SearchStep> next_;
    std::uint64_t runs_ = 0;
    std::uint64_t longest_ = 1;
    std::string ended_;
};

}  // namespace paretoken::experiments
