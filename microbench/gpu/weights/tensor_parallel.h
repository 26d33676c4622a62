#pragma once
// One GPU's share of a model's matrices when several GPUs serve the model together (tensor parallelism),
// divided as serving engines divide them.
#include <cstddef>
#include <vector>

#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

/// Returns the matrices by which one of `tp` ≥ 1 GPUs multiplies in a decode step: those of a layer, then the
/// model's output projection (lm_head). A matrix has rows × k elements, where k is the length of its input.
/// o, down and moe_down are divided along k. q_a and kv_a, the down-projections of latent attention, are not
/// divided: every GPU has them whole. All other matrices are divided along their rows; in qkv, every GPU has
/// at least one KV head. A matrix that cannot be divided evenly is left out.
std::vector<MatrixShape> shares_of(const ModelShape& model, std::size_t tp);

}  // namespace paretoken::microbench::gpu
