#pragma once
// A ring of paged KV caches in device memory, filled with the numbers of paged.h, and decode attention over
// one of them. It neither checks nor times the results.
#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/attention/paged.cuh"
#include "microbench/gpu/device/memory.cuh"

namespace paretoken::microbench::gpu {

struct AttentionVariant;

class PagedAttention {
  public:
    /// Allocates the caches and fills them on the default stream. Throws UsageError if no kernel supports the
    /// head dimension, or if a context is shorter than the query tokens.
    PagedAttention(const AttentionOptions& options, std::size_t copies, std::uint64_t seed);

    static std::uint64_t copy_bytes(const AttentionOptions& options);

    /// Enqueues one launch. `q` and `out` are in device memory, in the shapes of AttentionCall.
    void launch(std::size_t copy, const std::uint16_t* q, const ResultPlace& out, Stream stream) const;
    /// Overwrites the buffers of the partial results with NaN.
    void poison(Stream stream) { ring_.poison(stream); }
    /// Changes the values of one page that the first request sees.
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
    DeviceBuffer<std::int32_t> lengths_;  ///< used by the kernels for several query tokens
    AttentionCall call_;
};

}  // namespace paretoken::microbench::gpu
