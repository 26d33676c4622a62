#pragma once
// Finds the highest load whose SLOs are met: doubles until a level fails, bisects between the highest level
// that passed and the lowest that failed, and measures the level that it found once more, with new requests,
// because the best of many looks at noisy levels is too good. A level that cannot be decided is measured for
// longer, by as much as its own evidence says; higher levels, which need no less, begin at that length. Pure:
// it says what to measure next and is told what came of it.
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
    double most = 1e6;       ///< never beyond
    bool whole = true;       ///< levels are whole numbers
    double precision = 1.1;  ///< ends when the failing level is at most so many times the passing one
    std::uint64_t max_runs = 12;
};

/// One measurement.
struct SearchStep {
    double level = 0;
    std::uint64_t longer = 1;  ///< times as many requests as a level has at first
    bool confirms = false;     ///< once more, with another seed

    bool operator==(const SearchStep&) const = default;
};

class KneeSearch {
  public:
    static constexpr std::uint64_t kLongest =
        8;  ///< a level that is insufficient gets up to 8 × its requests

    explicit KneeSearch(const KneeSearchOptions& options);

    /// The next level to measure; nothing when the search is over. It stays the same until tell() is called.
    std::optional<SearchStep> next() const { return next_; }

    /// Reports the result of next(): the verdict on all SLOs together, the rate at which requests were
    /// completed, and, of an insufficient run, how many times its requests would probably decide (2 where
    /// nothing is known).
    void tell(SloVerdict verdict, double requests_per_s, double times_enough = 2);

    /// The highest level that passed twice; nothing when none did.
    std::optional<double> pass() const { return confirmed_; }
    /// The highest level that passed once and has no second run that passed; nothing when there is none above
    /// pass().
    std::optional<double> unconfirmed() const;
    /// The lowest level that failed.
    std::optional<double> fail() const { return fail_; }
    std::uint64_t runs() const { return runs_; }
    /// d ln(requests/s) / d ln(load) from each level that was doubled to the next.
    std::vector<double> elasticity() const;
    /// Why the search ended, one sentence.
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
    std::map<double, std::uint64_t> passed_;  ///< level → how much longer it was measured
    std::set<double> insufficient_;           ///< even at its longest
    std::uint64_t longer_ = 1;                ///< how long a new level is measured
    std::optional<double> doubtful_;          ///< passed, and had too little evidence when measured once more
    std::optional<double> fail_;
    std::optional<double> confirmed_;
    std::vector<std::pair<double, double>> rates_;  ///< level and requests/s, in the order of doubling
    bool doubling_ = true;
    std::string ended_;
};

}  // namespace paretoken::experiments
