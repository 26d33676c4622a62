#pragma once
// Finds the highest load that meets SLOs: doubles the level until one fails (or halves it until one passes),
// bisects between, and confirms the result by a second run with new requests. With the runs that are left it
// looks for a higher level. An insufficient run is measured again with 2, 4, 8 … times the requests, at most
// KneeSearchOptions::longest (docs/statistics.md). If a time limit cut it short at the lowest levels, where
// requests are slow to collect, the search first tries the next ones.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "experiments/sweep/level_search.h"

namespace paretoken::experiments {

using Rates = std::map<double, double>;  ///< load → requests/s

/// Returns d ln(requests/s) / d ln(load) between successive loads.
std::vector<double> elasticity_of(const Rates& rates);

/// Returns the lowest load from which to the highest one, at least 1.5 times as high, the elasticity is below
/// 0.1, so that more requests in flight only wait longer; nothing if throughput still grew.
std::optional<double> saturated_from(const Rates& rates);

struct KneeSearchOptions {
    double from = 1;         ///< first level
    double most = 1e6;       ///< highest level
    bool whole = true;       ///< whether levels are whole numbers
    double precision = 1.1;  ///< the bisection ends when fail ÷ pass is at most this
    std::uint64_t max_runs = 12;
    std::uint64_t longest = 8;  ///< largest SearchStep::longer, a power of two
};

class KneeSearch final : public LevelSearch {
  public:
    explicit KneeSearch(const KneeSearchOptions& options);

    void limit(std::uint64_t longest) override;
    void tell(const StepResult& result) override;

    /// Returns the level that passed in both of its runs; nothing when none did.
    std::optional<double> pass() const { return confirmed_; }
    /// Returns the highest level below fail() (if any) that passed in its latest run.
    std::optional<double> within() const;
    /// Returns the lowest level that failed; nothing when none did.
    std::optional<double> fail() const { return fail_; }

  private:
    /// The run of a level that passed.
    struct Passed {
        std::uint64_t longer = 1;  ///< SearchStep::longer
        double times_enough = 1;   ///< above 1: it was only within the SLOs, and needs so many more requests
    };

    void decide();
    void undecided(const SearchStep& step, const StepResult& result);
    bool measures_again(double level);
    void confirm(double level);
    void confirm_or_end(double pass);
    void end_confirmed();
    std::optional<double> highest_pass() const;
    void double_or_halve();
    bool is_last_run() const;
    bool is_saturated() const;
    std::optional<double> between(double pass, double fail) const;

    KneeSearchOptions options_;
    std::map<double, Passed> passed_;  ///< level that passed → its run
    std::set<double> insufficient_;    ///< levels that were left without a decision
    std::set<double> cut_;             ///< those of them that had too little time, and no second run
    std::uint64_t longer_ = 1;         ///< factor of the requests of a new level
    std::optional<double> doubtful_;   ///< level that passed, and was not shown to the second time
    std::optional<double> fail_;
    std::optional<double> confirmed_;
    Rates rates_;  ///< those of the doubling
    bool doubling_ = true;
};

}  // namespace paretoken::experiments
