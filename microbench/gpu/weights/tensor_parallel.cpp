#include "microbench/gpu/weights/tensor_parallel.h"

#include <algorithm>
#include <optional>

namespace paretoken::microbench::gpu {
namespace {

bool divided_by_k(const std::string& op) {
    return op == "o" || op == "down" || op == "moe_down";
}

bool held_by_all(const std::string& op) {
    return op == "q_a" || op == "kv_a";
}

std::optional<MatrixShape> share_of(MatrixShape matrix, const HeadShape& heads, std::size_t tp) {
    if (held_by_all(matrix.op)) return matrix;
    std::size_t& divided = divided_by_k(matrix.op) ? matrix.k : matrix.rows;
    if (matrix.op == "qkv") {
        if (heads.query_heads % tp != 0) return std::nullopt;
        const std::size_t kv_heads = std::max<std::size_t>(1, heads.kv_heads / tp);
        divided = (heads.query_heads / tp + 2 * kv_heads) * heads.head_dim;
        return matrix;
    }
    if (divided % tp != 0) return std::nullopt;
    divided /= tp;
    return matrix;
}

}  // namespace

std::vector<MatrixShape> shares_of(const ModelShape& model, std::size_t tp) {
    std::vector<MatrixShape> shares;
    for (const MatrixShape& matrix : model.layer) {
        if (auto share = share_of(matrix, model.heads, tp)) shares.push_back(std::move(*share));
    }
    if (auto share = share_of(model.lm_head, model.heads, tp)) shares.push_back(std::move(*share));
    return shares;
}

}  // namespace paretoken::microbench::gpu
