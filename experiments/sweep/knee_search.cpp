#include "experiments/sweep/knee_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace paretoken::experiments {
namespace {

/// Returns the elasticity from one load and its rate to a higher load.
double elasticity_from(const Rates::value_type& low, const Rates::value_type& high) {
    return std::log(high.second / low.second) / std::log(high.first / low.first);
}

}  // namespace

std::vector<double> elasticity_of(const Rates& rates) {
    std::vector<double> all;
    for (auto at = rates.begin(); at != rates.end() && std::next(at) != rates.end(); ++at)
        all.push_back(elasticity_from(*at, *std::next(at)));
    return all;
}

std::optional<double> saturated_from(const Rates& rates) {
    constexpr double kFlat = 0.1;
    constexpr double kFarApart = 1.5;
    for (const auto& rate : rates)
        if (rates.rbegin()->first >= kFarApart * rate.first && elasticity_from(rate, *rates.rbegin()) < kFlat)
            return rate.first;
    return std::nullopt;
}

KneeSearch::KneeSearch(const KneeSearchOptions& options)
    : LevelSearch({.level = options.from}, options.longest), options_(options) {}

std::optional<double> KneeSearch::highest_pass() const {
    if (passed_.empty()) return std::nullopt;
    return passed_.rbegin()->first;
}

/// Returns whether two doublings of the load in a row gave an elasticity d ln R / d ln C below 0.05.
bool KneeSearch::is_saturated() const {
    constexpr double kFlat = 0.05;
    const std::vector<double> all = elasticity_of(rates_);
    return all.size() >= 2 && all.back() < kFlat && all[all.size() - 2] < kFlat;
}

/// Returns the level half-way between on a logarithmic scale; nothing when the two are near enough.
std::optional<double> KneeSearch::between(double pass, double fail) const {
    if (fail <= pass * options_.precision) return std::nullopt;
    double level = std::sqrt(pass * fail);
    if (options_.whole) {
        if (fail - pass <= 1) return std::nullopt;
        level = std::clamp(std::round(level), pass + 1, fail - 1);
    }
    if (insufficient_.contains(level)) return std::nullopt;
    return level;
}

std::optional<double> KneeSearch::within() const {
    std::optional<double> highest = std::max(doubtful_, highest_pass());
    if (fail_ && highest && *highest >= *fail_) highest = highest_pass();
    return std::max(highest, confirmed_);
}

void KneeSearch::limit(std::uint64_t longest) {
    LevelSearch::limit(longest);
    longer_ = std::min(longer_, longest_);
}

/// Plans the second run of a level. It alone must prove the result, so it gets at least twice the requests.
void KneeSearch::confirm(double level) {
    const Passed& passed = passed_.at(level);
    next_ = SearchStep{level, lengthened(passed.longer, passed.times_enough), true};
}

void KneeSearch::undecided(const SearchStep& step, const StepResult& result) {
    constexpr std::size_t kMostWithoutEvidence = 3;
    const bool goes_up = result.is_cut && !step.confirms && doubling_ && !fail_ && passed_.empty() &&
                         insufficient_.size() + 1 < kMostWithoutEvidence;
    if (goes_up) cut_.insert(step.level);
    if (!goes_up && step.longer < longest_ && (step.confirms || !is_last_run()) &&
        runs_ < options_.max_runs) {
        const std::uint64_t longer = lengthened(step.longer, result.times_enough);
        if (!step.confirms) longer_ = std::max(longer_, longer);
        next_ = SearchStep{step.level, longer, step.confirms};
        return;
    }
    insufficient_.insert(step.level);
    if (step.confirms && confirmed_) return end_confirmed();
    if (step.confirms) {  // a level that passed far below it may be confirmed; the next ones are as doubtful
        constexpr double kFarBelow = 1.25;
        doubtful_ = std::max(doubtful_.value_or(0), step.level);
        passed_.erase(passed_.upper_bound(step.level / kFarBelow), passed_.end());
    }
    // A higher level may clearly fail, and is then an upper bound of the knee. It may also be the first one
    // that has enough requests, where --duration or --max-time bounds the runs.
    doubling_ = doubling_ && (!passed_.empty() || (!fail_ && insufficient_.size() < kMostWithoutEvidence));
    decide();
}

void KneeSearch::tell(const StepResult& result) {
    const double requests_per_s = result.requests_per_s;
    const SearchStep step = *next_;
    ++runs_;
    if (doubling_ && !step.confirms && requests_per_s > 0 &&
        (rates_.empty() || step.level > rates_.rbegin()->first))
        rates_.emplace(step.level, requests_per_s);
    switch (result.verdict) {
        case SloVerdict::met:
            if (step.confirms) confirmed_ = step.level;
            passed_[step.level] = {step.longer, 1};
            break;
        case SloVerdict::within:
            if (step.confirms) return undecided(step, result);
            passed_[step.level] = {step.longer, std::max(result.times_enough, 2.0)};
            break;
        case SloVerdict::missed:
            if (!fail_ || step.level < *fail_) fail_ = step.level;
            passed_.erase(passed_.lower_bound(step.level), passed_.end());
            doubling_ = false;
            break;
        case SloVerdict::insufficient:
            return undecided(step, result);
    }
    decide();
}

/// Returns whether only those runs are left that are used to confirm the level that was found: one, or three
/// if it has not been shown yet that the level meets the SLOs, of which the last may confirm a lower level.
bool KneeSearch::is_last_run() const {
    if (passed_.empty()) return false;
    const std::uint64_t kept = passed_.rbegin()->second.times_enough > 1 ? 3 : 1;
    return runs_ + kept >= options_.max_runs;
}

void KneeSearch::double_or_halve() {
    const double level = rates_.empty() ? options_.from : rates_.rbegin()->first;
    const double doubled = std::min(2 * level, options_.most);
    if (doubled <= level || is_saturated()) {
        doubling_ = false;
        return;
    }
    next_ = SearchStep{doubled, longer_};
}

/// Ends the search with the level that was shown, and says what the number of runs did not allow.
void KneeSearch::end_confirmed() {
    std::string text = "the passing level was measured twice";
    if (doubling_ && !doubtful_)
        text += ", and --max-runs allowed no higher one";
    else if (fail_ && between(*confirmed_, *fail_) && runs_ + 2 > options_.max_runs)
        text += fmt::format(", and --max-runs allowed no level between it and {:g}", *fail_);
    end(text);
}

/// Plans a longer run of a level whose only run was cut short, if one is allowed.
bool KneeSearch::measures_again(double level) {
    if (longest_ < 2 || cut_.erase(level) == 0) return false;
    insufficient_.erase(level);
    next_ = SearchStep{level, lengthened(1, 1)};
    return true;
}

/// Measures the highest level that passed again, or ends the search if that was done.
void KneeSearch::confirm_or_end(double pass) {
    if (pass == confirmed_) return end_confirmed();
    confirm(pass);
}

void KneeSearch::decide() {
    constexpr double kLeastRate = 1.0 / 1024;  // share of the first level
    const auto pass = highest_pass();
    if (runs_ >= options_.max_runs) {
        if (confirmed_) return end_confirmed();
        return end(fmt::format("{} runs were made, and --max-runs allows no more", runs_));
    }
    if (pass && (doubtful_ || is_last_run())) return confirm_or_end(*pass);
    if (doubling_) {
        double_or_halve();
        if (doubling_) return;
    }
    if (!pass) {
        if (doubtful_)
            return end(fmt::format(
                "level {:g} was within the SLOs, and the run that should show this has too little evidence",
                *doubtful_));
        if (!fail_)
            return end(fmt::format(
                "level {:g} has too little evidence, even with {} times the requests of its first run{}",
                options_.from, longest_,
                insufficient_.size() > 1 ? ", and so have the levels above it that were tried" : ""));
        const double halved = options_.whole ? std::floor(*fail_ / 2) : *fail_ / 2;
        if (insufficient_.contains(halved)) {
            if (measures_again(halved)) return;
            return end(fmt::format(
                "level {:g} does not meet the SLOs, and level {:g} has too little evidence", *fail_, halved));
        }
        if (halved < (options_.whole ? 1 : kLeastRate * options_.from))
            return end(fmt::format("the lowest level, {:g}, does not meet the SLOs", *fail_));
        next_ = SearchStep{halved, longer_};
        return;
    }
    if (fail_) {
        // If the level half-way cannot be decided, the search continues below it.
        const auto undecided = insufficient_.upper_bound(*pass);
        auto middle = between(*pass, *fail_);
        if (!middle && undecided != insufficient_.end() && *undecided < *fail_)
            middle = between(*pass, *undecided);
        if (middle) {
            next_ = SearchStep{*middle, longer_};
            return;
        }
    }
    confirm_or_end(*pass);
}

}  // namespace paretoken::experiments
