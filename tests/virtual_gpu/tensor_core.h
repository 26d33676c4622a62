#pragma once
// What a tensor core adds up: products of 16-bit numbers in fp32 accumulators, aligned to the largest of them
// and cut off, never rounded to nearest.
#include <span>

namespace paretoken::virtual_gpu {

/// How a generation adds: as many products at once, with as many bits below fp32's last kept until the sum is
/// cut. Source: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores" (2021) for sm_80
/// (8 products); later ones as measured by others on H100 (16 products, 2 bits).
struct TensorCore {
    int products_at_once = 16;
    int extra_bits = 2;
};

TensorCore tensor_core_of(int capability);

/// The shape of the products that an instruction adds up.
inline constexpr int kMatrixRows = 16;
inline constexpr int kMatrixColumns = 8;
inline constexpr int kMatrixDepth = 16;

/// c + a·b, each element as dot_accumulated adds it: c [rows][columns], a [rows][depth], b [depth][columns].
void multiply_accumulated(const TensorCore& core, float (&c)[kMatrixRows][kMatrixColumns],
                          const float (&a)[kMatrixRows][kMatrixDepth],
                          const float (&b)[kMatrixDepth][kMatrixColumns]);

/// c + Σ a[i]·b[i], with what the hardware loses. The factors are exact in fp32 (bf16 or fp16).
float dot_accumulated(const TensorCore& core, float c, std::span<const float> a, std::span<const float> b);

}  // namespace paretoken::virtual_gpu
