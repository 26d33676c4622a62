#pragma once
// A ring of paged latent caches in device memory, full of the numbers of paged.h, and decode attention over
// one of them. Checking and timing are others'.
#include "microbench/gpu/attention/paged.cuh"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/mla/mla.h"

namespace paretoken::microbench::gpu {

class MlaAttention {
  public:
    /// The caches, enqueued on the default stream.
    MlaAttention(const MlaOptions& options, std::size_t copies, std::uint64_t seed);

    static std::uint64_t copy_bytes(const MlaOptions& options);

    /// `q` [requests, heads, 576] bf16 and `out` [requests, heads, 512] lie in device memory.
    void launch(std::size_t copy, const std::uint16_t* q, float* out, Stream stream) const;
    /// Spoils what partial results lie in.
    void poison(Stream stream) { ring_.poison(stream); }
    /// One page that the first request sees becomes another.
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
