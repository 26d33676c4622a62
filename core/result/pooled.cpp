#include "core/result/pooled.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/radix_sort.h"
#include "core/result/metric_summary.h"

namespace paretoken {
namespace {

// The width of a bucket is 2^-10 of its values. Values up to a nanosecond share the first bucket, values
// above 2^17 s the last.
constexpr unsigned kDroppedBits = 42;
constexpr double kLeast = 1.0 / (1U << 30U);
constexpr std::size_t kOctaves = 47;
constexpr std::size_t kBuckets = kOctaves * 1024 + 2;

/// The number of additional bits that distinguish the finer buckets of one bucket.
constexpr unsigned kFinerBits = 12;

/// A bucket with more values than this is split, so that the values that are collected stay few.
constexpr std::uint64_t kCrowded = 1U << 18U;

std::size_t coarse_bucket_of(double value) {
    constexpr std::uint64_t kFirst = std::bit_cast<std::uint64_t>(kLeast) >> kDroppedBits;
    if (!(value >= kLeast)) return 0;
    const std::uint64_t place = (std::bit_cast<std::uint64_t>(value) >> kDroppedBits) - kFirst + 1;
    return static_cast<std::size_t>(std::min<std::uint64_t>(place, kBuckets - 1));
}

constexpr std::size_t kTiers = kPercentiles.size() + 1;

}  // namespace

PooledBuckets::PooledBuckets() : size_(kBuckets) {}

std::size_t PooledBuckets::of(double value) const {
    const std::size_t coarse = coarse_bucket_of(value);
    if (places_.empty()) return coarse;
    const Place place = places_[coarse];
    if (!place.refined) return place.first;
    constexpr std::uint64_t kMask = (1U << kFinerBits) - 1;
    return place.first + ((std::bit_cast<std::uint64_t>(value) >> (kDroppedBits - kFinerBits)) & kMask);
}

bool PooledBuckets::refine(const std::vector<std::uint64_t>& counts, std::uint64_t most) {
    std::vector<Place> places(kBuckets);
    std::uint32_t next = 0;
    bool any = false;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        // The first and the last bucket hold values whose bits are not in the order of the values.
        const bool refined = i > 0 && i + 1 < kBuckets && counts[i] > most;
        places[i] = {next, refined};
        next += refined ? 1U << kFinerBits : 1U;
        any |= refined;
    }
    if (!any) return false;
    places_ = std::move(places);
    size_ = next;
    return true;
}

PooledFold::PooledFold(const PooledOptions& options)
    : options_(options), counts_(kBuckets), weights_(options.blocks) {
    if (options_.blocks > 0)
        block_s_ = seconds(options_.window.length()) / static_cast<double>(options_.blocks);
}

void PooledFold::add(std::span<const PooledValue> values) {
    if (pass_ == Pass::over) return;
    for (const PooledValue& item : values) {
        if (item.weight == 0 || !options_.window.contains(item.at)) continue;
        if (pass_ == Pass::counting) {
            count(item);
        } else if (pass_ == Pass::counting_again) {
            counts_[buckets_.of(item.value)] += item.weight;
        } else {
            collect(item);
        }
    }
}

std::size_t PooledFold::block_of(TimePoint at) const {
    const auto block = static_cast<std::size_t>(seconds(at - options_.window.begin) / block_s_);
    return std::min(block, options_.blocks - 1);
}

void PooledFold::count(const PooledValue& item) {
    counts_[coarse_bucket_of(item.value)] += item.weight;
    if (options_.blocks > 0) weights_[block_of(item.at)] += item.weight;
    if (first_) lowest_ = highest_ = item.value;
    first_ = false;
    lowest_ = std::min(lowest_, item.value);
    highest_ = std::max(highest_, item.value);
    running_.add(item.value, item.weight);
}

void PooledFold::collect(const PooledValue& item) {
    const Treatment treatment = treatments_[buckets_.of(item.value)];
    const bool counts_blocks = pass_ == Pass::collecting && options_.blocks > 0;
    if (!treatment.collected && !(counts_blocks && treatment.percentiles_below > 0)) return;
    const std::size_t block = counts_blocks ? block_of(item.at) : 0;
    if (counts_blocks) above_[block * kTiers + treatment.percentiles_below] += item.weight;
    if (!treatment.collected) return;
    if (!collected_.empty()) {  // the streams of a batch have the same gaps at the same time
        Collected& last = collected_.back();
        if (last.value == item.value && last.block == block &&
            last.weight <= std::numeric_limits<std::uint32_t>::max() - item.weight) {
            last.weight += item.weight;
            return;
        }
    }
    collected_.push_back({item.value, item.weight, static_cast<std::uint32_t>(block)});
}

bool PooledFold::another_pass() {
    switch (pass_) {
        case Pass::counting: {
            moments_ = running_.result();
            if (moments_.n == 0) break;
            if (buckets_.refine(counts_, kCrowded)) {
                counts_.assign(buckets_.size(), 0);
                pass_ = Pass::counting_again;
                return true;
            }
            begin_collecting();
            return true;
        }
        case Pass::counting_again:
            begin_collecting();
            return true;
        case Pass::collecting: {
            settle_collected();
            find_percentiles();
            std::vector<double> ends;
            for (const auto& levels : levels_)
                if (levels) ends.insert(ends.end(), {levels->low, levels->high});
            if (options_.late != LateReading{})
                for (std::size_t i = 0; i < percentiles_.size(); ++i) ends.push_back(level_without_late(i));
            if (ends.empty()) break;
            collected_.clear();
            pass_ = Pass::collecting_ends;
            want(ends);
            return true;
        }
        case Pass::collecting_ends:
            settle_collected();
            find_intervals();
            break;
        case Pass::over:
            break;
    }
    pass_ = Pass::over;
    collected_ = {};
    return false;
}

void PooledFold::begin_collecting() {
    before_.assign(buckets_.size() + 1, 0);
    for (std::size_t i = 0; i < buckets_.size(); ++i) before_[i + 1] = before_[i] + counts_[i];
    above_.assign(options_.blocks * kTiers, 0);
    pass_ = Pass::collecting;
    want({kPercentiles.begin(), kPercentiles.end()});
}

std::size_t PooledFold::bucket_at(std::uint64_t rank) const {
    const auto after = std::ranges::upper_bound(before_, rank);
    return static_cast<std::size_t>(after - before_.begin()) - 1;
}

void PooledFold::want(const std::vector<double>& levels) {
    treatments_.assign(buckets_.size(), {});
    for (const double level : levels) {
        const std::uint64_t rank = position_of(level, moments_.n).rank;
        const std::size_t first = bucket_at(rank);
        const std::size_t last = bucket_at(std::min(rank + 1, moments_.n - 1));
        treatments_[first].collected = treatments_[last].collected = true;
        if (pass_ == Pass::collecting && last + 1 < buckets_.size())
            ++treatments_[last + 1].percentiles_below;
    }
    for (std::size_t i = 1; i < buckets_.size(); ++i)
        treatments_[i].percentiles_below = static_cast<std::uint8_t>(treatments_[i].percentiles_below +
                                                                     treatments_[i - 1].percentiles_below);
}

/// Sorts the collected values; the values of one bucket have the ranks from before_[bucket] on.
void PooledFold::settle_collected() {
    radix_sort(collected_, [](const Collected& item) { return radix_key(item.value); });
    ranks_.assign(collected_.size(), 0);
    std::size_t bucket = buckets_.size();
    std::uint64_t rank = 0;
    for (std::size_t i = 0; i < collected_.size(); ++i) {
        if (const std::size_t own = buckets_.of(collected_[i].value); own != bucket) {
            bucket = own;
            rank = before_[bucket];
        }
        ranks_[i] = rank;
        rank += collected_[i].weight;
    }
}

double PooledFold::value_at(std::uint64_t rank) const {
    const auto after = std::ranges::upper_bound(ranks_, rank);
    return collected_[static_cast<std::size_t>(after - ranks_.begin()) - 1].value;
}

double PooledFold::value_of(double level) const {
    const auto [rank, fraction] = position_of(level, moments_.n);
    const double lower = value_at(rank);
    if (fraction == 0) return lower;
    return lower + fraction * (value_at(std::min(rank + 1, moments_.n - 1)) - lower);
}

/// Returns how many values above the percentile lie in each block of time: all of higher buckets, and those
/// of its own bucket that are above.
std::vector<double> PooledFold::counts_above(std::size_t percentile) const {
    const double limit = *percentiles_[percentile].value;
    std::vector<double> counts(options_.blocks, 0);
    const std::size_t last =
        bucket_at(std::min(position_of(kPercentiles[percentile], moments_.n).rank + 1, moments_.n - 1));
    for (std::size_t block = 0; block < options_.blocks; ++block)
        for (std::size_t tier = percentile + 1; tier < kTiers; ++tier)
            counts[block] += above_[block * kTiers + tier];
    for (const Collected& item : collected_)
        if (item.value > limit && buckets_.of(item.value) <= last) counts[item.block] += item.weight;
    return counts;
}

void PooledFold::find_percentiles() {
    std::vector<double> values;
    for (const double p : kPercentiles) {
        values.push_back(value_of(p));
        percentiles_.push_back({.p = p, .value = values.back()});
    }
    levels_.assign(kPercentiles.size(), std::nullopt);
    if (!options_.steady || options_.blocks == 0) return;
    const auto effective = effective_samples(kPercentiles, [&](std::size_t i) {
        return effective_sample(counts_above(i), weights_, options_.memory);
    });
    for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
        const double samples = std::max(effective[i], options_.memory.round_samples);
        percentiles_[i].effective_n = samples;
        if (const double share = options_.memory.counted_share(); share > 0)
            levels_[i] = percentile_levels(kPercentiles[i], share * samples);
    }
}

/// Returns the level of the smallest value that the percentile could truly have: if a share of the values may
/// be smaller, at most this share of all moves from above the percentile to below it.
double PooledFold::level_without_late(std::size_t percentile) const {
    return std::max(0.0, kPercentiles[percentile] - options_.late.share);
}

void PooledFold::find_intervals() {
    for (std::size_t i = 0; i < percentiles_.size(); ++i) {
        if (options_.late != LateReading{}) {
            const double value = *percentiles_[i].value;
            const double least = std::max(0.0, value_of(level_without_late(i)) - options_.late.delay_s);
            if (least < value) percentiles_[i].instrument = value - least;
        }
        if (!levels_[i]) continue;
        const Interval interval{value_of(levels_[i]->low), value_of(levels_[i]->high)};
        if (interval.low < interval.high) percentiles_[i].ci95 = interval;
    }
}

std::optional<MetricSummary> PooledFold::summary() const {
    if (moments_.n == 0) return std::nullopt;
    MetricSummary summary;
    summary.n = moments_.n;
    summary.mean = moments_.mean;
    summary.std = moments_.standard_deviation;
    summary.min = lowest_;
    summary.max = highest_;
    summary.percentiles = percentiles_;
    for (PercentileValue& held : summary.percentiles) {
        if (held.effective_n && (!held.ci95 || !options_.memory.is_enough()))
            held.enough_n =
                enough_values(held.p, static_cast<double>(moments_.n), *held.effective_n, options_.memory);
    }
    set_certified(summary.percentiles, options_.memory.is_enough());
    return summary;
}

}  // namespace paretoken
