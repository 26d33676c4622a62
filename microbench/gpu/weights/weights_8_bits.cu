#include "microbench/gpu/weights/weights.cuh"
#include "microbench/gpu/weights/weights_variant.cuh"

namespace paretoken::microbench::gpu {

std::span<const WeightsVariant> weights_variants_8_bits() {
    static const WeightsVariant variants[] = {
        weights_variant<Fp8Weights, 1, 1>(),
        weights_variant<Fp8Weights, 2, 1>(),
        weights_variant<Fp8Weights, 4, 1>(),
        weights_variant<Int8Weights, 1, 1>(),
        weights_variant<Int8Weights, 2, 1>(),
        weights_variant<Int8Weights, 4, 1>(),
        weights_variant<Fp8ShiftedWeights, 1, 1>(Decode::shifted),
        weights_variant<Fp8Weights, 1, 1, true>(),
    };
    return variants;
}

}  // namespace paretoken::microbench::gpu
