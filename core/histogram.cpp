#include "core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace paretoken {
namespace {

// Values below 2^SubBits have a bucket each. The bucket of a larger value is its highest set bit and the
// SubBits bits after it.
template <int SubBits>
std::size_t bucket_of(std::uint64_t value, std::size_t last) {
    if (value < (std::uint64_t{1} << SubBits)) return value;
    const int octave = std::bit_width(value) - 1 - SubBits;
    const auto index = (static_cast<std::size_t>(octave) << SubBits) + (value >> octave);
    return std::min(index, last);
}

template <int SubBits>
std::uint64_t upper_edge_of(std::size_t bucket) {
    constexpr std::uint64_t kExact = 1 << SubBits;
    if (bucket < 2 * kExact) return bucket;
    const auto octave = (bucket >> SubBits) - 1;
    const auto leading = kExact + (bucket & (kExact - 1));
    return ((leading + 1) << octave) - 1;
}

/// Returns the rank of a percentile among `count` values, from 1.
std::uint64_t rank_of(double p, std::uint64_t count) {
    const auto wanted =
        static_cast<std::uint64_t>(std::ceil(std::clamp(p, 0.0, 1.0) * static_cast<double>(count)));
    return std::max<std::uint64_t>(wanted, 1);
}

std::uint64_t nanoseconds(Duration value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value.count(), 0));
}

}  // namespace

void Histogram::add(Duration value) {
    const auto ns = nanoseconds(value);
    ++buckets_[bucket_of<kSubBits>(ns, buckets_.size() - 1)];
    ++count_;
    sum_ += static_cast<std::int64_t>(ns);
    max_ = std::max(max_, value);
}

void Histogram::add(const Histogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
}

std::map<std::uint32_t, std::uint64_t> Histogram::buckets() const {
    std::map<std::uint32_t, std::uint64_t> filled;
    for (std::uint32_t i = 0; i < buckets_.size(); ++i)
        if (buckets_[i] > 0) filled.emplace(i, buckets_[i]);
    return filled;
}

Histogram Histogram::restored(const std::map<std::uint32_t, std::uint64_t>& buckets, Duration sum,
                              Duration max) {
    Histogram histogram;
    for (const auto& [bucket, count] : buckets) {
        if (bucket >= histogram.buckets_.size()) continue;
        histogram.buckets_[bucket] = count;
        histogram.count_ += count;
    }
    histogram.sum_ = sum.count();
    histogram.max_ = max;
    return histogram;
}

Duration Histogram::mean() const {
    return count_ == 0 ? Duration{} : Duration(sum_ / static_cast<std::int64_t>(count_));
}

Duration Histogram::percentile(double p) const {
    if (count_ == 0) return {};
    const std::uint64_t rank = rank_of(p, count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen < rank) continue;
        const bool is_open_ended = i + 1 == buckets_.size();
        return is_open_ended
                   ? max_
                   : std::min(max_, Duration(static_cast<std::int64_t>(upper_edge_of<kSubBits>(i))));
    }
    return max_;
}

void LiveHistogram::add(Duration value) {
    buckets_[bucket_of<kSubBits>(nanoseconds(value), buckets_.size() - 1)].fetch_add(
        1, std::memory_order_relaxed);
}

std::optional<Duration> LiveHistogram::percentile(double p) const {
    std::array<std::uint32_t, (kOctaves << kSubBits)> counts;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
        count += counts[i] = buckets_[i].load(std::memory_order_relaxed);
    if (count == 0) return std::nullopt;
    const std::uint64_t rank = rank_of(p, count);
    std::uint64_t seen = 0;
    std::size_t bucket = 0;
    while ((seen += counts[bucket]) < rank) ++bucket;
    const std::uint64_t lower = bucket == 0 ? 0 : upper_edge_of<kSubBits>(bucket - 1);
    return Duration(static_cast<std::int64_t>((lower + upper_edge_of<kSubBits>(bucket) + 1) / 2));
}

}  // namespace paretoken
