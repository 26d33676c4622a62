#pragma once
// One row of the tables of weights_*.cu.
#include "microbench/gpu/weights.cuh"
#include "microbench/gpu/weights_variants.h"

namespace paretoken::microbench::gpu {

template <class Weights, int kColumns, int kParts>
WeightsVariant weights_variant(Decode decode = Decode::usual) {
    return {.format = Weights::kFormat,
            .decode = decode,
            .most_batch = kColumns * 8,
            .parts = kParts,
            .kernel = multiply_weights<Weights, kColumns, kParts>,
            .shared_bytes = WeightsTile<Weights, kColumns, kParts>::kSharedBytes};
}

}  // namespace paretoken::microbench::gpu
