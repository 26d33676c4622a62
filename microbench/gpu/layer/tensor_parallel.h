#pragma once
// One GPU's share of a model's matrices when `tp` GPUs serve it together, divided as serving engines do it.
#include <cstddef>
#include <vector>

#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

/// What one of `tp` ≥ 1 GPUs multiplies by in a decode step: a layer's matrices, then the output projection.
/// By rows: qkv (at least one KV head each), gate_up, up, lm_head; by k: o, down; latent down-projections are
/// held by all. A matrix that does not divide is left out.
std::vector<MatrixShape> shares_of(const ModelShape& model, std::size_t tp);

}  // namespace paretoken::microbench::gpu
