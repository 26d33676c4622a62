#pragma once
// The instantiated weight kernels, by file: they are compiled apart, as each takes seconds per architecture.
#include <span>

#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {

struct WeightsCall;

/// How fp8 becomes fp16: by the conversion instruction where there is one, or by moving bits.
enum class Decode { usual, shifted };

struct WeightsVariant {
    WeightFormat format;
    Decode decode;
    int most_batch;
    int parts;     ///< 16 rows each, per unit
    bool experts;  ///< by a list of experts
    void (*kernel)(WeightsCall);
    int shared_bytes;
};

std::span<const WeightsVariant> weights_variants_16_bits();
std::span<const WeightsVariant> weights_variants_8_bits();
std::span<const WeightsVariant> weights_variants_4_bits();

}  // namespace paretoken::microbench::gpu
