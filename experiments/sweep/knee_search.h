#pragma once
// Finds the highest load that meets SLOs. A level is a load that is measured. It passes if its run meets the
// SLOs or is within them, and fails if it misses one. The search doubles the level until a level fails or the
// server is saturated. If already the first level fails, the search halves the level until one passes. It
// then bisects between the highest level that passed and the lowest level that failed. Finally it confirms
// the highest level that passed by a second run with new requests, usually twice as many, because the best of
// many noisy measurements is biased; this run must show that the SLOs are met. If it does not, or if the run
// of a level is insufficient, the level is measured again with 2, 4, 8 … times the number of requests
// that levels have at first, at most KneeSearchOptions::longest: the smallest factor that is probably enough.
// After an insufficient run, later levels begin with the same factor. A level is not repeated if `max_runs`
// leaves no run for it. The search measures nothing itself: it returns the next level to measure, and the
// caller reports the result to it.
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
    double precision = 1.1;  ///< the bisection ends when fail ÷ pass is at most this
    std::uint64_t max_runs = 12;
    std::uint64_t longest = 8;  ///< largest SearchStep::longer, a power of two
};

/// One measurement.
struct SearchStep {
    double level = 0;
    std::uint64_t longer = 1;  ///< number of requests ÷ number that a level has at first
    bool confirms = false;     ///< whether it repeats a level with another seed

    bool operator==(const SearchStep&) const = default;
};

class KneeSearch {
  public:
    explicit KneeSearch(const KneeSearchOptions& options);

    /// Returns the next level to measure; nothing when the search is over. It stays the same until tell().
    std::optional<SearchStep> next() const { return next_; }

    /// Limits the length of the next step and of all further ones to `longest` times that of a first run.
    void limit(std::uint64_t longest);

    /// Takes the result of next(): the verdict on all SLOs together and the rate at which requests were
    /// completed. `times_enough`: the factor by which a run that is within the SLOs or insufficient needs
    /// more requests for a decision.
    void tell(SloVerdict verdict, double requests_per_s, double times_enough = 2);

    /// Returns the level that passed in both of its runs; nothing when none did.
    std::optional<double> pass() const { return confirmed_; }
    /// Returns the highest level below fail() (if any) that passed in its latest run.
    std::optional<double> within() const;
    /// Returns the lowest level that failed; nothing when none did.
    std::optional<double> fail() const { return fail_; }
    std::uint64_t runs() const { return runs_; }
    /// Returns d ln(requests/s) / d ln(load) between successive levels while the search doubles the load.
    std::vector<double> elasticity() const;
    /// Returns a sentence that says why the search ended.
    const std::string& ended() const { return ended_; }

  private:
    /// The run of a level that passed.
    struct Passed {
        std::uint64_t longer = 1;  ///< SearchStep::longer
        double times_enough = 1;   ///< above 1: it was only within the SLOs, and needs so many more requests
    };

    void decide();
    void end(std::string why);
    void undecided(const SearchStep& step, double times_enough);
    std::uint64_t lengthened(std::uint64_t longer, double times) const;
    void confirm(double level);
    std::optional<double> highest_pass() const;
    void double_or_halve();
    bool is_last_run() const;
    bool is_saturated() const;
    std::optional<double> between(double pass, double fail) const;

    KneeSearchOptions options_;
    std::optional<SearchStep> next_;
    std::uint64_t runs_ = 0;
    std::map<double, Passed> passed_;  ///< level that passed → its run
    std::set<double> insufficient_;    ///< levels that were left without a decision
    std::uint64_t longer_ = 1;         ///< factor of the requests of a new level
    std::optional<double> doubtful_;   ///< level that passed, and was not shown to the second time
    std::optional<double> fail_;
    std::optional<double> confirmed_;
    std::vector<std::pair<double, double>> rates_;  ///< level and requests/s of the doubling, in order
    bool doubling_ = true;
    std::string ended_;
};

}  // namespace paretoken::experiments
