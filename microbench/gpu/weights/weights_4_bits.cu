#include "microbench/gpu/weights/weights.cuh"
#include "microbench/gpu/weights/weights_variant.cuh"

namespace paretoken::microbench::gpu {

// The kernels for batches above 16 have units of two 16-row parts, which share the loaded values of x. With
// one part, the bandwidth of L1 would limit them.
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
