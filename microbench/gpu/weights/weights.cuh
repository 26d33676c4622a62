#pragma once
// The weight kernel of weights_body.h on a GPU. Each function of its machine compiles to one or two
// instructions of the calling thread.
#include <cuda_fp16.h>

#include "microbench/gpu/device/machine.cuh"
#include "microbench/gpu/device/mma.cuh"
#include "microbench/gpu/weights/weights_body.h"

namespace paretoken::microbench::gpu {

class WeightsMachine : public DeviceMachine {
  public:
    /// Starts the copy of 16 bytes that are read only once.
    __device__ __forceinline__ void copy_streamed(std::byte* to, const Words* from) const {
        copy_async_16_streamed(to, from, policy_);
    }
    __device__ __forceinline__ void copy_word(std::byte* to, const std::uint32_t* from) const {
        copy_async_4(to, from);
    }
    template <int kPending>
    __device__ __forceinline__ void wait_until_pending() const {
        gpu::wait_for_copies<kPending>();
    }
    __device__ __forceinline__ Words load_cached(const Words* at) const {
        const uint4 v = __ldg(reinterpret_cast<const uint4*>(at));
        return {v.x, v.y, v.z, v.w};
    }
    template <class Value>
    __device__ __forceinline__ Value load_cached(const Value* at) const {
        return __ldg(at);
    }
    __device__ __forceinline__ std::uint32_t add_halves(std::uint32_t x, std::uint32_t y) const {
        std::uint32_t sum = 0;
        asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(x), "r"(y));
        return sum;
    }
    __device__ __forceinline__ std::uint32_t multiply_add_halves(std::uint32_t x, std::uint32_t y,
                                                                 std::uint32_t z) const {
        std::uint32_t result = 0;
        asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(z));
        return result;
    }
    __device__ __forceinline__ float float_of_half(std::uint32_t bits) const {
        return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    }
    __device__ __forceinline__ float float_of_bits(std::uint32_t bits) const { return __uint_as_float(bits); }

  private:
    std::uint64_t policy_ = evict_first_policy();
};

template <class Weights, int kColumns, int kParts, bool kExperts>
__global__ void __launch_bounds__(kWeightThreads, (WeightsTile<Weights, kColumns, kParts>::kResident))
    multiply_weights(const WeightsCall call) {
    const WeightsMachine machine;
    WeightsLane<WeightsMachine, Weights, kColumns, kParts, kExperts>(machine, call).run();
}

}  // namespace paretoken::microbench::gpu
