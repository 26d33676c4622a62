#pragma once
// The matrices of real models: what one decoder layer multiplies by at decode, and its attention heads.
// Taken from the models' config.json; q, k and v stand as one matrix, as do gate and up.
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace paretoken::microbench {

/// y[rows] = W[rows, k] · x[k]
struct MatrixShape {
    std::string_view op;
    std::size_t rows = 0;
    std::size_t k = 0;

    bool operator==(const MatrixShape&) const = default;
};

struct HeadShape {
    std::size_t query_heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_dim = 0;

    bool operator==(const HeadShape&) const = default;
    std::size_t group() const { return query_heads / kv_heads; }
};

/// "32x8x128"
std::string name_of(const HeadShape& heads);

struct ModelShape {
    std::string_view name;
    std::array<MatrixShape, 4> layer;  ///< in the order of a forward pass
    HeadShape heads;

    bool operator==(const ModelShape&) const = default;
};

std::span<const ModelShape> model_shapes();

/// Throws UsageError naming the known ones.
const ModelShape& model_shape(std::string_view name);

}  // namespace paretoken::microbench
