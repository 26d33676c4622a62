#include "experiments/knee_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace paretoken::experiments {

KneeSearch::KneeSearch(const KneeSearchOptions& options)
    : options_(options), next_(SearchStep{.level = options.from}) {}

void KneeSearch::end(std::string why) {
    next_.reset();
    ended_ = std::move(why);
}

std::optional<double> KneeSearch::highest_pass() const {
    if (passed_.empty()) return std::nullopt;
    return passed_.rbegin()->first;
}

std::vector<double> KneeSearch::elasticity() const {
    std::vector<double> all;
    for (std::size_t i = 1; i < rates_.size(); ++i) {
        const auto& [level_before, rate_before] = rates_[i - 1];
        const auto& [level, rate] = rates_[i];
        all.push_back(std::log(rate / rate_before) / std::log(level / level_before));
    }
    return all;
}

/// Twice less than 5 % more requests for 100 % more load (elasticity d ln R / d ln C).
bool KneeSearch::is_saturated() const {
    constexpr double kFlat = 0.05;
    const std::vector<double> all = elasticity();
    return all.size() >= 2 && all.back() < kFlat && all[all.size() - 2] < kFlat;
}

/// The level half-way between in logarithms; nothing when the two are near enough.
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

void KneeSearch::tell(SloVerdict verdict, double requests_per_s) {
    const SearchStep step = *next_;
    ++runs_;
    if (doubling_ && step.longer == 1 && !step.confirms && requests_per_s > 0 &&
        (rates_.empty() || step.level > rates_.back().first))
        rates_.emplace_back(step.level, requests_per_s);
    switch (verdict) {
        case SloVerdict::pass:
            if (step.confirms) {
                confirmed_ = step.level;
                return end("the passing level was measured twice");
            }
            passed_[step.level] = step.longer;
            break;
        case SloVerdict::fail:
            if (!fail_ || step.level < *fail_) fail_ = step.level;
            passed_.erase(passed_.lower_bound(step.level), passed_.end());
            doubling_ = false;
            break;
        case SloVerdict::insufficient:
            if (step.longer < kLongest && (step.confirms || !is_last_run()) && runs_ < options_.max_runs) {
                next_ = SearchStep{step.level, 2 * step.longer, step.confirms};
                return;
            }
            insufficient_.insert(step.level);
            // A level above it may fail for certain, and then bounds the knee from above.
            doubling_ = doubling_ && !passed_.empty();
            if (step.confirms)
                return end(fmt::format("measured once more, level {:g} has too little evidence", step.level));
            break;
    }
    decide();
}

/// The last run is for the level that was found.
bool KneeSearch::is_last_run() const {
    return !passed_.empty() && runs_ + 1 >= options_.max_runs;
}

void KneeSearch::double_or_halve() {
    const double level = rates_.empty() ? options_.from : rates_.back().first;
    const double doubled = std::min(2 * level, options_.most);
    if (doubled <= level || is_saturated()) {
        doubling_ = false;
        return;
    }
    next_ = SearchStep{.level = doubled};
}

void KneeSearch::decide() {
    constexpr double kLeastRate = 1.0 / 1024;  // of the first level
    const auto pass = highest_pass();
    if (runs_ >= options_.max_runs)
        return end(fmt::format("{} runs were made, and --max-runs allows no more", runs_));
    if (pass && is_last_run()) {
        next_ = SearchStep{*pass, passed_.at(*pass), true};
        return;
    }
    if (doubling_) {
        double_or_halve();
        if (doubling_) return;
    }
    if (!pass) {
        if (!fail_)
            return end(fmt::format("level {:g} has too little evidence, even with {} times its requests",
                                   options_.from, kLongest));
        const double halved = options_.whole ? std::floor(*fail_ / 2) : *fail_ / 2;
        if (halved < (options_.whole ? 1 : kLeastRate * options_.from) || insufficient_.contains(halved))
            return end(fmt::format("the lowest level, {:g}, does not meet the SLOs", *fail_));
        next_ = SearchStep{.level = halved};
        return;
    }
    if (fail_) {
        if (const auto middle = between(*pass, *fail_)) {
            next_ = SearchStep{.level = *middle};
            return;
        }
    }
    next_ = SearchStep{*pass, passed_.at(*pass), true};
}

}  // namespace paretoken::experiments
