#pragma once
// The GPU as the machine that runs the kernels' bodies. Each function compiles to one or two instructions of
// the calling thread. Thread blocks have one dimension and use dynamic shared memory.
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "microbench/gpu/device/mma.cuh"
#include "microbench/gpu/formats/dtypes.h"

namespace paretoken::microbench::gpu {

class DeviceMachine {
  public:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
    static constexpr bool kConvertsE4m3 = false;
#else
    static constexpr bool kConvertsE4m3 = true;
#endif
    static constexpr float kE4m3Unit = kConvertsE4m3 ? 1 : kRawE4m3Scale;

    __device__ __forceinline__ int lane() const {
        return static_cast<int>(threadIdx.x) % 32;
    }
    __device__ __forceinline__ int warp() const {
        return static_cast<int>(threadIdx.x) / 32;
    }
    __device__ __forceinline__ int piece() const {
        return static_cast<int>(blockIdx.x);
    }
    __device__ __forceinline__ std::byte* shared() const {
        extern __shared__ __align__(128) unsigned char dynamic_shared[];
        return reinterpret_cast<std::byte*>(dynamic_shared);
    }

    __device__ __forceinline__ void sync_warp() const {
        __syncwarp();
    }
    __device__ __forceinline__ void sync_block() const {
        __syncthreads();
    }

    __device__ __forceinline__ void copy_async(std::byte* to, const std::byte* from, bool valid) const {
        copy_async_16(to, from, valid);
    }
    /// The same for bytes that are read only once.
    __device__ __forceinline__ void copy_async_once(std::byte* to, const std::byte* from, bool valid) const {
        copy_async_16_once(to, from, valid);
    }
    __device__ __forceinline__ void commit_copies() const {
        gpu::commit_copies();
    }
    __device__ __forceinline__ void wait_for_copies(int pending) const {
        if (pending == 0) {
            gpu::wait_for_copies<0>();
        } else if (pending == 1) {
            gpu::wait_for_copies<1>();
        } else {
            gpu::wait_for_copies<2>();
        }
    }

    __device__ __forceinline__ float shuffle_xor(float value, int mask) const {
        return __shfl_xor_sync(0xffffffff, value, mask);
    }
    __device__ __forceinline__ float shuffle(float value, int from) const {
        return __shfl_sync(0xffffffff, value, from);
    }
    __device__ __forceinline__ bool any(bool value) const {
        return __any_sync(0xffffffff, value) != 0;
    }

    __device__ __forceinline__ void ldmatrix(std::uint32_t (&r)[4], const std::byte* row) const {
        ldmatrix_x4(r, row);
    }
    __device__ __forceinline__ void ldmatrix_transposed(std::uint32_t (&r)[4], const std::byte* row) const {
        ldmatrix_x4_transposed(r, row);
    }

    template <bool kBf16>
    __device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                        std::uint32_t b1) const {
        if constexpr (kBf16) {
            gpu::mma<Bf16>(c, a, b0, b1);
        } else {
            gpu::mma<F16>(c, a, b0, b1);
        }
    }
    template <bool kBf16>
    __device__ __forceinline__ std::uint32_t pack(float low, float high) const {
        if constexpr (kBf16) {
            return packed_pair<Bf16>(low, high);
        } else {
            return packed_pair<F16>(low, high);
        }
    }
    __device__ __forceinline__ std::uint32_t e4m3_pair(std::uint32_t word, int pair) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
        std::uint32_t halves = 0;
        const auto codes = static_cast<std::uint16_t>(pair == 0 ? word : word >> 16);
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(codes));
        return halves;
#else
        return raw_e4m3_pair(word, pair);
#endif
    }
    __device__ __forceinline__ std::uint32_t subtract_halves(std::uint32_t x, std::uint32_t y) const {
        std::uint32_t difference = 0;
        asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(x), "r"(y));
        return difference;
    }
    __device__ __forceinline__ float exp2(float x) const {
        float y = 0;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }
    __device__ __forceinline__ float log2(float x) const {
        return __log2f(x);
    }

    /// Memory fence: a thread that sees a later write of this thread also sees its earlier writes.
    __device__ __forceinline__ void publish() const {
        __threadfence();
    }
    /// Adds 1 to a counter and returns its old value.
    __device__ __forceinline__ std::int32_t raise(std::int32_t* counter) const {
        return atomicAdd(counter, 1);
    }
    /// Loads a value that another block wrote, bypassing L1.
    __device__ __forceinline__ float load_fresh(const float* at) const {
        return __ldcg(at);
    }
};

}  // namespace paretoken::microbench::gpu
