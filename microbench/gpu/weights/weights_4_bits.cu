#include "microbench/gpu/weights/weights.cuh"
#include "microbench/gpu/weights/weights_variant.cuh"

namespace paretoken::microbench::gpu {

// At batch 32 two blocks of 16 rows share what is loaded of x: L1 would not keep up otherwise.
std::span<const WeightsVariant> weights_variants_4_bits() {
    static const WeightsVariant variants[] = {
        weights_variant<Int4Weights, 1, 1>(),       weights_variant<Int4Weights, 2, 1>(),
        weights_variant<Int4Weights, 4, 2>(),       weights_variant<Mxfp4Weights, 1, 1>(),
        weights_variant<Mxfp4Weights, 2, 1>(),      weights_variant<Mxfp4Weights, 4, 2>(),
        weights_variant<Int4Weights, 1, 1, true>(), weights_variant<Mxfp4Weights, 1, 1, true>(),
    };
    return variants;
}

}  // namespace paretoken::microbench::gpu
