#pragma once
// A ring of paged latent caches in device memory, filled with the numbers of paged.h, and decode attention
// over one of them. It neither checks nor times the results.
#include "microbench/gpu/attention/paged.cuh"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/mla/mla.h"

namespace paretoken::microbench::gpu {

class MlaAttention {
  public:
    /// Allocates the caches and fills them on the default stream.
    MlaAttention(const MlaOptions& options, std::size_t copies, std::uint64_t seed);

    static std::uint64_t copy_bytes(const MlaOptions& options);

    /// Enqueues one launch. `q` [requests, heads, 576] bf16 and `out` [requests, heads, 512] are in device
    /// memory.
    void launch(std::size_t copy, const std::uint16_t* q, float* out, Stream stream) const;
    /// Overwrites the buffers of the partial results with NaN.
    void poison(Stream stream) { ring_.poison(stream); }
    /// Changes the contents of one page that the first request sees.
    void spoil();

    const DecodeRing& ring() const { return ring_; }
    const DeviceBuffer<std::uint16_t>& pool() const { return pool_; }

  private:
    MlaOptions options_;
    std::uint64_t seed_;
    DecodeRing ring_;
    DeviceBuffer<std::uint16_t> pool_;
    MlaCall call_;
};

}  // namespace paretoken::microbench::gpu
