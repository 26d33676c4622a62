#pragma once
// Computes the exact summary of a metric that is pooled over the events of many requests, in bounded memory:
// the values are not kept, but added again in each of up to four passes (Pass), in any order.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/evidence/evidence.h"
#include "core/record/client_delays.h"
#include "core/result/metrics.h"
#include "core/result/result.h"
#include "core/statistics.h"

namespace paretoken {

struct PooledOptions {
    TimeSpan window;  ///< values whose time (PooledValue::at) lies outside are left out
    /// The number of equal blocks of time in which values above a percentile are counted for the effective
    /// sample. 0 if the window is too short for enough blocks; then there are no intervals.
    std::size_t blocks = 0;
    bool steady = false;
    LoadMemory memory;
    LateReading late = {};  ///< for PercentileValue::instrument
};

/// Ascending buckets, about a thousandth of their values wide or, after refine(), a four-millionth.
class PooledBuckets {
  public:
    PooledBuckets();

    std::size_t size() const { return size_; }
    std::size_t of(double value) const;  ///< number of the value's bucket
    /// Splits every bucket with more than `most` values (by `counts`) into 4,096, except the first and the
    /// last. Returns whether any was split. Call it at most once.
    bool refine(const std::vector<std::uint64_t>& counts, std::uint64_t most);

  private:
    struct Place {
        std::uint32_t first = 0;  ///< number of its first bucket
        bool refined = false;
    };
    std::vector<Place> places_;  ///< empty until a bucket is refined
    std::size_t size_;
};

class PooledFold {
  public:
    explicit PooledFold(const PooledOptions& options);

    /// Adds values. Every pass must add every value of the metric.
    void add(std::span<const PooledValue> values);

    /// Ends a pass. Returns whether all values must be added once more.
    bool another_pass();

    /// Returns the summary after the last pass, without its key; nothing when there was no value.
    std::optional<MetricSummary> summary() const;

  private:
    enum class Pass : std::uint8_t { counting, counting_again, collecting, collecting_ends, over };

    struct Collected {
        double value = 0;
        std::uint32_t weight = 0;
        std::uint32_t block = 0;
    };
    /// The way in which the values of a bucket are processed.
    struct Treatment {
        std::uint8_t percentiles_below = 0;  ///< number of percentiles in lower buckets
        bool collected = false;
    };

    void count(const PooledValue& item);
    void begin_collecting();
    void collect(const PooledValue& item);
    std::size_t block_of(TimePoint at) const;
    std::size_t bucket_at(std::uint64_t rank) const;
    void want(const std::vector<double>& levels);
    void settle_collected();
    double value_at(std::uint64_t rank) const;
    double value_of(double level) const;
    void find_percentiles();
    void find_intervals();
    double level_without_late(std::size_t percentile) const;
    std::vector<double> counts_above(std::size_t percentile) const;

    PooledOptions options_;
    double block_s_ = 0;
    Pass pass_ = Pass::counting;
    PooledBuckets buckets_;
    std::vector<std::uint64_t> counts_;  ///< values per bucket
    std::vector<std::uint64_t> before_;  ///< values in lower buckets; has one more entry than buckets
    std::vector<Treatment> treatments_;  ///< treatment of each bucket
    std::vector<double> weights_;        ///< values per block of time
    std::vector<double> above_;          ///< values by [block of time][percentiles in lower buckets]
    std::vector<Collected> collected_;   ///< ascending by value once a pass has ended
    std::vector<std::uint64_t> ranks_;   ///< rank of the first value that each of `collected_` stands for
    RunningMoments running_;
    Moments moments_;  ///< moments, from the end of the first pass on
    bool first_ = true;
    double lowest_ = 0;
    double highest_ = 0;
    std::vector<PercentileValue> percentiles_;
    std::vector<std::optional<Interval>> levels_;  ///< quantile levels that bound each percentile
};

}  // namespace paretoken
