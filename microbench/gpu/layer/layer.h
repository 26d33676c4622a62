#pragma once
// One decoder layer that decodes, dense or with routed experts: its matrices, its operations in their order,
// the bytes that a step must move, its inputs, and reference results in fp64. Compiles without CUDA.
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/layer/experts.h"
#include "microbench/gpu/layer/latent.h"
#include "microbench/gpu/layer/layer_body.h"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/weights/weights_layout.h"
#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

struct LayerOptions {
    std::string preset;
    std::size_t tp = 1;  ///< GPUs that share the layer; this is one's part, without what they exchange
    std::size_t hidden = 0;
    std::size_t width = 0;  ///< of the feed-forward part, beside routed experts of the shared ones; 0: none
    std::optional<LayerExperts> experts = {};
    HeadShape heads;
    std::optional<LayerLatent> latent = {};  ///< then of `heads` only the query heads count, and kv is bf16
    WeightFormat weights = WeightFormat::bf16;
    /// Of attention's matrices where not the others'. As bf16 or not as those.
    std::optional<WeightFormat> attention_weights = {};
    KvFormat kv = KvFormat::bf16;
    std::int32_t page = 16;
    std::vector<std::int32_t> lengths;  ///< tokens per request that attention sees, the new one among them

    bool operator==(const LayerOptions&) const = default;
    std::size_t batch() const { return lengths.size(); }
    double tokens() const;
    AttentionOptions attention() const;
    MlaOptions mla() const;
    /// Of a layer with experts.
    ExpertLoad load() const;
};

inline constexpr float kLayerEpsilon = 1e-5F;
inline constexpr double kRopeBase = 500000;

enum class LayerMatrix {
    qkv,
    o,
    gate_up,
    down,
    router,
    expert_gate_up,
    expert_down,
    q_a,
    q_b,
    kv_a,
    absorb,
    expand
};
inline constexpr std::size_t kLayerMatrices = 12;
constexpr std::size_t index_of(LayerMatrix matrix) {
    return static_cast<std::size_t>(matrix);
}
enum class LayerNorm { attention, feed_forward, query, latent };
inline constexpr std::size_t kLayerNorms = 4;
constexpr std::size_t index_of(LayerNorm norm) {
    return static_cast<std::size_t>(norm);
}
/// Numbers of a row that it norms; 0 where a layer does not have it.
std::size_t width_of(const LayerOptions& options, LayerNorm norm);

/// Those that a layer has.
std::vector<LayerMatrix> matrices_of(const LayerOptions& options);
/// rows × k, of one expert or head where it is theirs
MatrixShape matrix_of(const LayerOptions& options, LayerMatrix matrix);
/// The router's is one of 16 bits.
WeightFormat format_of(const LayerOptions& options, LayerMatrix matrix);
/// Whether a launch multiplies by a list of matrices: experts, or heads (absorb: keys' part of the latent
/// expansion, into queries; expand: values' part).
bool is_listed(LayerMatrix matrix);
/// The number of matrices in a launch, and the rows of x for each.
ExpertLoad launched(const LayerOptions& options, LayerMatrix matrix);
/// The numbers that all matrices of a launch take and give; 0 if a layer does not have the matrix.
std::size_t inputs_of(const LayerOptions& options, LayerMatrix matrix);
std::size_t outputs_of(const LayerOptions& options, LayerMatrix matrix);

/// In the order of a forward pass, shared experts before routed ones. The residual's additions are the
/// norms': the second norm adds what `o` gave, the first one what the layer before gave last.
enum class LayerOp {
    norm,
    qkv,
    rope,
    q_a,
    q_norm,
    q_b,
    kv_a,
    latent_rope,
    absorb,
    narrow_q,
    attention,
    latent_attention,
    narrow_latent,
    expand,
    narrow_values,
    o,
    ffn_norm,
    gate_up,
    silu,
    down,
    router,
    route,
    gather,
    expert_gate_up,
    expert_silu,
    expert_down,
    mix
};
std::string_view name_of(LayerOp op);
/// Those that a layer has, in order.
std::vector<LayerOp> ops_of(const LayerOptions& options);

/// "layer/preset:llama3-8b/w:bf16/kv:bf16/batch:1/ctx:4096", "/tp:8" after the preset where there is one,
/// "/attn_w:fp16" after the weights, and "/experts:40" at the end: different ones that a step touches.
std::string name_of(const LayerOptions& options);

/// Of the step as a whole: weights and their scales (of experts each touched one once), gains, keys and
/// values that were cached before, the page table, who may choose which expert and where that lies, and the
/// new token's key and value. What operations hand one another stays in a cache at best, and is not counted.
/// Products of experts: of the (token, expert) pairs, not of places that are nobody's.
Work layer_work(const LayerOptions& options);
/// Of one operation for itself, as the rows of its kind count it.
Work op_work(const LayerOptions& options, LayerOp op);

// ---- inputs, by formula

/// bf16, `place` counted on over the norms. About what makes products of random weights of the format
/// (fill.cuh's) come out near 1: softmax then tells tokens apart, and nothing leaves fp16.
std::uint16_t gain_code(const LayerOptions& options, LayerNorm norm, std::uint64_t seed, std::uint64_t place);
/// By LayerNorm.
using LayerGains = std::array<std::vector<std::uint16_t>, kLayerNorms>;
LayerGains gains_of(const LayerOptions& options, std::uint64_t seed);
/// What `residual` and `down` begin with.
float residual_number(std::uint64_t seed, std::uint64_t place);
float down_number(std::uint64_t seed, std::uint64_t place);
/// RopeCall::turns
std::vector<float> turns_of(const LayerOptions& options);

NormCall norm_call(const LayerOptions& options, LayerNorm norm);
RopeCall rope_call(const LayerOptions& options);
/// `matrix`: whose results are gated.
GateCall gate_call(const LayerOptions& options, LayerMatrix matrix);
RouteCall route_call(const LayerOptions& options);
MixCall mix_call(const LayerOptions& options);
LatentCall latent_call(const LayerOptions& options);
NarrowCall narrow_call(const LayerOptions& options, LayerOp op);
/// Queries are bf16, what a product takes as the layer's other 16-bit results are.
bool narrows_to_bf16(const LayerOptions& options, LayerOp op);

// ---- references

/// What is known of a layer apart from its matrices: the caches are filled by the formulas of paged.h and
/// `kv_seed`, gains by `gain_code`.
struct LayerInputs {
    LayerOptions options;
    PageTable table;
    std::uint64_t kv_seed = 0;
    LayerGains gains = {};
    std::vector<float> turns = {};
    ExpertDraw draw = {};
    std::vector<std::int32_t> stored = {};  ///< RouteCall::stored
};

/// The new token's place in the caches of all requests: bytes [batch][K, V][KV heads · head_dim] in the
/// cache's format, and for int8 scales [batch][KV heads][K, V]; of latent caches [batch][576] in bf16.
struct AppendedTokens {
    std::vector<std::byte> bytes;
    std::vector<float> scales;
};

/// Where in a pool and among its scales they lie, in the same order.
struct NewTokenPlaces {
    std::vector<std::uint64_t> rows = {};  ///< [batch][K, V]: byte offsets of `row_bytes` each
    std::uint32_t row_bytes = 0;
    std::vector<std::uint64_t> scales = {};  ///< [batch][KV heads][K, V]
};
NewTokenPlaces new_token_places(const LayerOptions& options, const PageTable& table);

struct LayerSeen;  ///< layer_buffers.h

/// Gives W · x in fp64, x being what the layer multiplied by; of experts those that were drawn, in ascending
/// order, each with its rows; so of heads.
using ProductOf = std::function<std::vector<double>(LayerMatrix)>;

/// Compares every operation with fp64, each from what those before it really gave: nothing when all are
/// right, else the first that is wrong and by how much. Attention of large layers is compared by a sample.
std::optional<std::string> layer_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                       const ProductOf& product_of);

/// The inputs with one operand that is not what the layer had: each must be found wrong. Matrices are the
/// machine's to spoil.
struct PlantedFault {
    std::string operand;
    LayerInputs inputs;
};
std::vector<PlantedFault> planted_faults(const LayerInputs& inputs);

/// By LayerMatrix: [rows, k], of experts those that were drawn, in ascending order, of heads all.
using LayerMatrices = std::array<std::vector<double>, kLayerMatrices>;

/// residual + down after one layer in fp64 throughout, but for the new token's key and value, which are
/// rounded to the cache's format.
std::vector<double> layer_reference(const LayerInputs& inputs, const LayerMatrices& matrices,
                                    std::span<const float> residual, std::span<const float> down);

/// Relative L2 error that a layer's output may have against layer_reference: roundings of 16-bit inputs of
/// its products, and of the cache's format.
double layer_bound(const LayerOptions& options);

/// The rows of a suite; `models` as in GpuSettings.
std::vector<LayerOptions> layer_suite(RowSet set, std::span<const ModelShape> models);

}  // namespace paretoken::microbench::gpu
