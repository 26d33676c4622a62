#pragma once
// Makes an entry of the tables of kernels in weights_*.cu.
#include "microbench/gpu/weights/weights.cuh"
#include "microbench/gpu/weights/weights_variants.h"

namespace paretoken::microbench::gpu {

template <class Weights, int kColumns, int kParts, bool kExperts = false>
WeightsVariant weights_variant(Decode decode = Decode::usual) {
    return {.format = Weights::kFormat,
            .decode = decode,
            .most_batch = kColumns * 8,
            .parts = kParts,
            .experts = kExperts,
            .kernel = multiply_weights<Weights, kColumns, kParts, kExperts>,
            .shared_bytes = WeightsTile<Weights, kColumns, kParts>::kSharedBytes};
}

}  // namespace paretoken::microbench::gpu
