#pragma once
// One function for each PTX instruction that the kernels use: mma, ldmatrix, cp.async, loads of data that is
// read once, and conversions. All of them exist from sm_80 on. Pointers are generic; the functions convert
// addresses in shared memory themselves.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace paretoken::microbench::gpu {

struct Bf16 {};
struct F16 {};

/// c += A·B for one m16n8k16 tile. mma.h says which elements the registers hold.
template <class Type>
__device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1);

template <>
__device__ __forceinline__ void mma<Bf16>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                          std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void mma<F16>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ std::uint32_t shared_address(const void* at) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

/// Loads four 8×8 matrices of 16-bit elements. Lane i passes the 16-byte aligned address of row i % 8 of
/// matrix i / 8.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_transposed(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/// Copies 16 bytes from device memory to shared memory and bypasses L1. Both addresses are 16-byte aligned.
/// If `valid` is false, it writes zeros and reads nothing.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global, bool valid = true) {
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(global), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `kPending` of this thread's groups of copies are not complete.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" : : "n"(kPending) : "memory");
}

/// Copies 4 bytes from device memory to shared memory through L1.
__device__ __forceinline__ void copy_async_4(void* shared, const void* global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"(shared_address(shared)), "l"(global)
                 : "memory");
}
/// Copies 16 bytes with a cache policy, like copy_async_16, but always reads them.
__device__ __forceinline__ void copy_async_16_streamed(void* shared, const void* global,
                                                       std::uint64_t policy) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(global), "l"(policy)
                 : "memory");
}

/// Returns the policy for bytes that are read once. L2 evicts them first, so that tables and
/// activations stay.
__device__ __forceinline__ std::uint64_t evict_first_policy() {
    std::uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/// Copies 16 bytes that are read once, like copy_async_16. The policy is made here, because ptxas 13.0
/// encodes this instruction wrongly if the policy depends on a value that is known only at run time; an H100
/// then reports an illegal instruction.
__device__ __forceinline__ void copy_async_16_once(void* shared, const void* global, bool valid) {
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
                 :
                 : "r"(shared_address(shared)), "l"(global), "r"(bytes), "l"(evict_first_policy())
                 : "memory");
}

/// Loads 16 bytes that are read once and does not keep them in L1. The asm statement is volatile, so that the
/// compiler does not move the load closer to the use of its result.
__device__ __forceinline__ uint4 load_streamed(const void* at, std::uint64_t policy) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at), "l"(policy));
    return v;
}

/// Converts two floats to two 16-bit values in one register, with `low` in the low half. It rounds to nearest
/// even.
template <class Type>
__device__ __forceinline__ std::uint32_t packed_pair(float low, float high);

template <>
__device__ __forceinline__ std::uint32_t packed_pair<Bf16>(float low, float high) {
    std::uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
template <>
__device__ __forceinline__ std::uint32_t packed_pair<F16>(float low, float high) {
    std::uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

}  // namespace paretoken::microbench::gpu
