#pragma once
// Shapes of a model's weight matrices (one decoder layer without its router, and the output head) and
// attention heads. One matrix holds q, k and v, except with multi-head latent attention, and one gate and up.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/model.h"

namespace paretoken::microbench {

/// A matrix W in y[rows] = W[rows, k] · x[k].
struct MatrixShape {
    std::string op;  ///< "qkv", "o", "gate_up", "down", "moe_gate_up", …
    std::size_t rows = 0;
    std::size_t k = 0;
    std::size_t count = 1;  ///< matrices of this shape: for routed experts those that a token uses, else 1

    bool operator==(const MatrixShape&) const = default;
};

struct HeadShape {
    std::size_t query_heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_dim = 0;

    bool operator==(const HeadShape&) const = default;
    std::size_t group() const { return query_heads / kv_heads; }
};

std::string name_of(const HeadShape& heads);

struct ModelShape {
    std::string name;
    std::vector<MatrixShape>
        layer;  ///< in the order of a forward pass; a layer with experts if the model has any
    MatrixShape lm_head;
    HeadShape heads;
    std::optional<cards::MixtureOfExperts> moe = {};
    std::optional<cards::LatentAttention> mla = {};  ///< if set, `heads` are those of the uncompressed form

    bool operator==(const ModelShape&) const = default;
};

ModelShape model_shape_of(const cards::ModelCard& card);

/// Returns all presets (cards/presets.h) by their short names: "smollm2-135m", "llama3-8b", …
std::vector<ModelShape> model_shapes();

/// Returns the model of that name. Throws UsageError naming the known ones.
ModelShape model_shape(std::string_view name);

}  // namespace paretoken::microbench
