#pragma once
// A ring of paged KV caches in device memory, full of the numbers of paged.h, and decode attention over one
// of them. Checking and timing are others'.
#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/attention/paged.cuh"
#include "microbench/gpu/device/memory.cuh"

namespace paretoken::microbench::gpu {

struct AttentionVariant;

class PagedAttention {
  public:
    /// The caches, enqueued on the default stream. Throws UsageError for heads that no kernel has, and for
    /// contexts shorter than the query tokens.
    PagedAttention(const AttentionOptions& options, std::size_t copies, std::uint64_t seed);

    static std::uint64_t copy_bytes(const AttentionOptions& options);

    /// `q` and `out` lie in device memory, shaped as AttentionCall has them.
    void launch(std::size_t copy, const std::uint16_t* q, const ResultPlace& out, Stream stream) const;
    /// Spoils what partial results lie in.
    void poison(Stream stream) { ring_.poison(stream); }
    /// The values of one page that the first request sees become others.
    void spoil();

    const DecodeRing& ring() const { return ring_; }
    const DeviceBuffer<std::byte>& pool() const { return pool_; }
    const DeviceBuffer<float>& scales() const { return scales_; }

  private:
    AttentionOptions options_;
    const AttentionVariant& variant_;
    std::uint64_t seed_;
    DecodeRing ring_;
    DeviceBuffer<std::byte> pool_;
    DeviceBuffer<float> scales_;
    DeviceBuffer<float> sinks_;
    DeviceBuffer<std::int32_t> lengths_;  ///< for several query tokens
    AttentionCall call_;
};

}  // namespace paretoken::microbench::gpu
