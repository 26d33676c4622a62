#include "microbench/gpu/weights/weights.cuh"
#include "microbench/gpu/weights/weights_variant.cuh"

namespace paretoken::microbench::gpu {

std::span<const WeightsVariant> weights_variants_16_bits() {
    static const WeightsVariant variants[] = {
        weights_variant<Bf16Weights, 1, 1>(), weights_variant<Bf16Weights, 2, 1>(),
        weights_variant<Bf16Weights, 4, 1>(), weights_variant<Fp16Weights, 1, 1>(),
        weights_variant<Fp16Weights, 4, 1>(), weights_variant<Bf16Weights, 1, 1, true>(),
    };
    return variants;
}

}  // namespace paretoken::microbench::gpu
