#pragma once
// The instantiated weight kernels, in one table per source file. The files are separate, because each kernel
// takes seconds to compile for each architecture.
#include <span>

#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {

struct WeightsCall;

/// How a kernel converts fp8 to fp16. `usual`: by the conversion instruction if the GPU has one. `shifted`:
/// by moving bits.
enum class Decode { usual, shifted };

struct WeightsVariant {
    WeightFormat format;
    Decode decode;
    int most_batch;  ///< largest batch that the kernel supports
    int parts;       ///< number of 16-row parts per unit
    bool experts;    ///< whether it multiplies by the matrices of an ExpertList
    void (*kernel)(WeightsCall);
    int shared_bytes;  ///< dynamic shared memory of a block
};

/// Return the kernels for formats of 16, 8 and 4 bits.

std::span<const WeightsVariant> weights_variants_16_bits();
std::span<const WeightsVariant> weights_variants_8_bits();
std::span<const WeightsVariant> weights_variants_4_bits();

}  // namespace paretoken::microbench::gpu
