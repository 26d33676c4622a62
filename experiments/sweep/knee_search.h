#pragma once
// Finds the highest load whose SLOs are met. It doubles until a level fails, bisects between the highest
// level that passed and the lowest that failed, and measures the level that it found once more with new
// requests, because the best of many noisy measurements is biased. A level that cannot be decided is measured
// for longer, by the factor that its evidence suggests; new levels begin at that length, because they need no
// less. Pure: it returns the next level to measure and is told the result.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result/slo.h"

namespace paretoken::experiments {

struct KneeSearchOptions {
    double from = 1;         ///< first level
    double most = 1e6;       ///< highest level
    bool whole = true;       ///< whether levels are whole numbers
    double precision = 1.1;  ///< ratio of failing to passing level that ends the search
    std::uint64_t max_runs = 12;
};

/// One measurement.
struct SearchStep {
    double level = 0;
    std::uint64_t longer = 1;  ///< factor of the requests that a level has at first
    bool confirms = false;     ///< whether it repeats a level with another seed

    bool operator==(const SearchStep&) const = default;
};

class KneeSearch {
  public:
    static constexpr std::uint64_t kLongest =
        8;  ///< largest factor of the requests of a level with insufficient evidence

    explicit KneeSearch(const KneeSearchOptions& options);

    /// Returns the next level to measure; nothing when the search is over. It stays the same until tell().
    std::optional<SearchStep> next() const { return next_; }

    /// Takes the result of next(): the verdict on all SLOs together, the rate at which requests were
    /// completed, and, for an insufficient run, the factor of its requests that would probably decide (2 if
    /// unknown).
    void tell(SloVerdict verdict, double requests_per_s, double times_enough = 2);

    /// Returns the highest level that passed twice; nothing when none did.
    std::optional<double> pass() const { return confirmed_; }
    /// Returns the highest level that passed once and has no second run that passed; nothing when there is
    /// none above pass().
    std::optional<double> unconfirmed() const;
    /// Returns the lowest level that failed.
    std::optional<double> fail() const { return fail_; }
    std::uint64_t runs() const { return runs_; }
    /// Returns d ln(requests/s) / d ln(load) between successive levels of the doubling.
    std::vector<double> elasticity() const;
    /// Returns a sentence that says why the search ended.
    const std::string& ended() const { return ended_; }

  private:
    void decide();
    void end(std::string why);
    void insufficient(const SearchStep& step, double times_enough);
    void confirm(double level);
    std::optional<double> highest_pass() const;
    void double_or_halve();
    bool is_last_run() const;
    bool is_saturated() const;
    std::optional<double> between(double pass, double fail) const;

    KneeSearchOptions options_;
    std::optional<SearchStep> next_;
    std::uint64_t runs_ = 0;
    std::map<double, std::uint64_t> passed_;  ///< level that passed → factor of its requests
    std::set<double> insufficient_;           ///< levels without a decision at their longest
    std::uint64_t longer_ = 1;                ///< factor of the requests of a new level
    std::optional<double> doubtful_;  ///< level that passed, but had too little evidence the second time
    std::optional<double> fail_;
    std::optional<double> confirmed_;
    std::vector<std::pair<double, double>> rates_;  ///< level and requests/s of the doubling, in order
    bool doubling_ = true;
    std::string ended_;
};

}  // namespace paretoken::experiments
