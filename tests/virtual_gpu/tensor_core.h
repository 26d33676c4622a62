#pragma once
// The arithmetic of tensor cores. A tensor core adds products of 16-bit numbers to fp32 accumulators. It
// aligns the terms to the largest of them and truncates them; it never rounds to nearest.
#include <span>

namespace paretoken::virtual_gpu {

/// The arithmetic of one generation of tensor cores: the number of products that it adds in one step, and the
/// number of bits below the last bit of fp32 that it keeps until the sum is truncated. Sources for sm_80 to
/// sm_89 (8 products, 1 bit): Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores"
/// (2021), and Xie, Wang, Yang, Yang, "MMA-Sim" (2025). The values for sm_90 and later are those that MMA-Sim
/// found on H100 (16 products, 2 bits).
struct TensorCore {
    int products_at_once = 16;
    int extra_bits = 2;
};

/// `capability` is the compute capability × 10.
TensorCore tensor_core_of(int capability);

/// The shape of the matrices of one mma.m16n8k16.
inline constexpr int kMatrixRows = 16;
inline constexpr int kMatrixColumns = 8;
inline constexpr int kMatrixDepth = 16;

/// Adds a·b to c; each element is computed as by dot_accumulated. Shapes: c [rows][columns], a [rows][depth],
/// b [depth][columns].
void multiply_accumulated(const TensorCore& core, float (&c)[kMatrixRows][kMatrixColumns],
                          const float (&a)[kMatrixRows][kMatrixDepth],
                          const float (&b)[kMatrixDepth][kMatrixColumns]);

/// c + Σ a[i]·b[i], truncated as by the hardware. The factors must be bf16 or fp16 numbers, which are exact
/// in fp32.
float dot_accumulated(const TensorCore& core, float c, std::span<const float> a, std::span<const float> b);

}  // namespace paretoken::virtual_gpu
