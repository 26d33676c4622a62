#pragma once
// One GPU's share of a model's matrices when `tp` GPUs serve it together, divided as serving engines do it.
#include <cstddef>
#include <vector>

#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

/// Returns the matrices by which one of `tp` ≥ 1 GPUs multiplies in a decode step: those of a layer, then the
/// output projection. o, down and moe_down are divided along k. q_a and kv_a, the latent down-projections,
/// are not divided: every GPU has them whole. All other matrices are divided along their rows; in qkv, every
/// GPU has at least one KV head. A matrix that cannot be divided evenly is left out.
std::vector<MatrixShape> shares_of(const ModelShape& model, std::size_t tp);

}  // namespace paretoken::microbench::gpu
