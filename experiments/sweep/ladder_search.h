#pragma once
// Measures each level of a ladder, and then the undecided levels next to the answer again with 2, 4, 8 …
// times the requests: the smallest factor that is probably enough.
#include <map>
#include <vector>

#include "experiments/sweep/level_search.h"

namespace paretoken::experiments {

class LadderSearch final : public LevelSearch {
  public:
    /// `levels` are ascending, and at least one.
    LadderSearch(std::vector<double> levels, std::uint64_t longest);

    void limit(std::uint64_t longest) override;
    void tell(const StepResult& result) override;

  private:
    struct Run {
        SloVerdict verdict = SloVerdict::insufficient;
        double times_enough = 1;   ///< StepResult::times_enough
        std::uint64_t longer = 1;  ///< SearchStep::longer
    };

    void decide();
    std::vector<double> undecided() const;

    std::vector<double> levels_;
    std::map<double, Run> measured_;  ///< level → its longest run
};

}  // namespace paretoken::experiments
