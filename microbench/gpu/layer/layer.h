#pragma once
// The benchmark rows of one decoder layer in a decode step, dense or with routed experts, except for the
// kernels. This header has the matrices of a layer, its operations in order, the bytes that a step must move,
// the inputs, and the reference results in fp64. A decode step computes one new token for each request of the
// batch. Compiles without CUDA.
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
    std::string preset;  ///< name of the model
    /// Number of GPUs that share the layer. The options describe the part of one GPU, without communication.
    std::size_t tp = 1;
    std::size_t hidden = 0;  ///< length of the vector that represents a token between layers
    /// Width of the dense feed-forward part, or of the shared experts if there are routed experts; 0: none.
    std::size_t width = 0;
    std::optional<LayerExperts> experts = {};
    HeadShape heads;
    /// With latent attention, `heads` only gives the number of query heads, and `kv` is bf16.
    std::optional<LayerLatent> latent = {};
    WeightFormat weights = WeightFormat::bf16;
    /// Weight format of the attention matrices, if it differs from `weights`. Both are bf16 or neither is,
    /// because all products share the 16-bit format of the activations.
    std::optional<WeightFormat> attention_weights = {};
    KvFormat kv = KvFormat::bf16;
    std::int32_t page = 16;             ///< tokens per page of the cache
    std::vector<std::int32_t> lengths;  ///< number of tokens of each request, including the new one

    bool operator==(const LayerOptions&) const = default;
    /// Number of requests.
    std::size_t batch() const { return lengths.size(); }
    /// Number of tokens of all requests.
    double tokens() const;
    /// Return the options of the layer's attention, without and with latent attention.
    AttentionOptions attention() const;
    MlaOptions mla() const;
    /// Returns the load of the routed experts, which the layer must have.
    ExpertLoad load() const;
};

// Both values are those of Llama 3 (rms_norm_eps and rope_theta in its config.json).
inline constexpr float kLayerEpsilon = 1e-5F;
inline constexpr double kRopeBase = 500000;

/// The matrices of all layers. The last five belong to latent attention, which has no `qkv`.
enum class LayerMatrix {
    qkv,             ///< queries, keys and values
    o,               ///< output projection of the attention
    gate_up,         ///< first product of the dense feed-forward part, or of the shared experts
    down,            ///< second product of that part
    router,          ///< logits of the experts
    expert_gate_up,  ///< first product of the routed experts
    expert_down,     ///< second product of the routed experts
    q_a,             ///< queries, down to q_rank
    q_b,             ///< queries, up from q_rank to all heads
    kv_a,            ///< the latent row of the new token
    absorb,          ///< per head: the part of the latent expansion for keys, applied to the queries instead
    expand           ///< per head: the part of the latent expansion for values, applied to the results
};
inline constexpr std::size_t kLayerMatrices = 12;
constexpr std::size_t index_of(LayerMatrix matrix) {
    return static_cast<std::size_t>(matrix);
}
/// The RMS norms of all layers. `attention` and `feed_forward` normalise the input of these parts. The
/// others belong to latent attention: `query` normalises the q_rank numbers between q_a and q_b, and
/// `latent` the latent part of the new token's row.
enum class LayerNorm { attention, feed_forward, query, latent };
inline constexpr std::size_t kLayerNorms = 4;
constexpr std::size_t index_of(LayerNorm norm) {
    return static_cast<std::size_t>(norm);
}
/// Returns the length of the rows that a norm normalises, or 0 if the layer does not have the norm.
std::size_t width_of(const LayerOptions& options, LayerNorm norm);

/// Returns the matrices that a layer has.
std::vector<LayerMatrix> matrices_of(const LayerOptions& options);
/// Returns the shape of a matrix. If each expert or head has such a matrix, it is that of one of them.
MatrixShape matrix_of(const LayerOptions& options, LayerMatrix matrix);
/// Returns the weight format of a matrix. The router has a 16-bit format.
WeightFormat format_of(const LayerOptions& options, LayerMatrix matrix);
/// Returns whether a launch multiplies by a list of matrices, one for each expert or head.
bool is_listed(LayerMatrix matrix);
/// Returns the number of matrices per launch (entries) and the number of rows of the input x per matrix
/// (columns).
ExpertLoad launched(const LayerOptions& options, LayerMatrix matrix);
/// Return the number of elements of the inputs and of the outputs of a launch; 0 if the layer does not have
/// the matrix.
std::size_t inputs_of(const LayerOptions& options, LayerMatrix matrix);
std::size_t outputs_of(const LayerOptions& options, LayerMatrix matrix);

/// The operations of all layers, in the order of a forward pass; shared experts come before routed ones. An
/// operation with the name of a matrix is the product with it. The norms also do the additions to the
/// residual: `norm` adds the last result of the layer before, and `ffn_norm` adds the result of `o`.
/// `narrow_…` converts fp32 results to 16 bits in the order that the next operation needs.
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
/// Returns the operations that a layer has, in order.
std::vector<LayerOp> ops_of(const LayerOptions& options);

/// Returns a name such as "layer/preset:llama3-8b/w:bf16/kv:bf16/batch:1/ctx:4096". "/tp:8" follows the
/// preset if several GPUs share the layer, "/attn_w:fp16" follows the weights if the attention matrices have
/// another format, and "/experts:40" at the end is the number of different experts that a step touches.
std::string name_of(const LayerOptions& options);

/// Returns the memory traffic and the arithmetic of the whole step, as a lower bound. The step reads the
/// weights and their scales (each expert that a token uses once), the weights of the norms (gains), the keys
/// and values of earlier tokens, the page table, the masks that say which experts each token may choose, and
/// the indices of the matrices of the experts in use. It writes the key and value of the new token. Data that
/// one operation passes to the next is not counted, because it can stay in the L2 cache. The arithmetic of
/// experts is counted per (token, expert) pair; the padding of a launch, which gives every expert the same
/// number of columns, is not counted.
Work layer_work(const LayerOptions& options);
/// Returns the work of one operation alone, counted as the benchmark of this kind of operation counts it,
/// including the inputs and outputs that it exchanges with other operations. Attention that is not latent
/// writes 16-bit results here, while its own benchmark writes fp32.
Work op_work(const LayerOptions& options, LayerOp op);

// ---- inputs, computed by formulas

/// Returns one weight of a norm (a gain) in bf16. `place` counts the gains of all norms consecutively. With
/// the gains of the norms before the attention and the feed-forward part, the products with random weights
/// of the format have results near 1. The softmax then distinguishes tokens, and all numbers stay in the
/// range of fp16. The gains of `query` are smaller, because absorption makes the results larger. With those
/// of `latent`, the new latent numbers are as large as those in the cache.
std::uint16_t gain_code(const LayerOptions& options, LayerNorm norm, std::uint64_t seed, std::uint64_t place);
/// The gains of all norms, indexed by LayerNorm.
using LayerGains = std::array<std::vector<std::uint16_t>, kLayerNorms>;
LayerGains gains_of(const LayerOptions& options, std::uint64_t seed);
/// Return element `place` of the initial values of the buffers `residual` and `down` (layer_buffers.h).
float residual_number(std::uint64_t seed, std::uint64_t place);
float down_number(std::uint64_t seed, std::uint64_t place);
/// Returns the cosines and sines of the rotary embedding of the new tokens: [batch, pairs of dimensions, 2].
std::vector<float> turns_of(const LayerOptions& options);

/// The following functions return the arguments of launches without the pointers, which the caller sets.
NormCall norm_call(const LayerOptions& options, LayerNorm norm);
RopeCall rope_call(const LayerOptions& options);
/// `matrix` is the matrix whose results are gated.
GateCall gate_call(const LayerOptions& options, LayerMatrix matrix);
RouteCall route_call(const LayerOptions& options);
MixCall mix_call(const LayerOptions& options);
LatentCall latent_call(const LayerOptions& options);
NarrowCall narrow_call(const LayerOptions& options, LayerOp op);
/// Returns whether a narrowing operation writes bf16. `narrow_q`, for the queries of latent attention,
/// always does; the others write the 16-bit format of the layer's activations.
bool narrows_to_bf16(const LayerOptions& options, LayerOp op);

// ---- references

/// The inputs of a layer except its matrices. The caches are filled by the formulas of
/// microbench/gpu/attention/paged.h with `kv_seed`, and the gains are those of `gain_code`.
struct LayerInputs {
    LayerOptions options;
    PageTable table;  ///< of the cache
    std::uint64_t kv_seed = 0;
    LayerGains gains = {};
    std::vector<float> turns = {};  ///< as turns_of returns them
    ExpertDraw draw = {};
    std::vector<std::int32_t> stored = {};  ///< RouteCall::stored
};

/// The contents of the new token's place in the caches of all requests. `bytes` is [batch][K, V][KV heads ·
/// head_dim] in the cache's format, or [batch][576] in bf16 for latent caches. `scales` is [batch][KV
/// heads][K, V], for int8 only.
struct AppendedTokens {
    std::vector<std::byte> bytes;
    std::vector<float> scales;
};

/// The positions of AppendedTokens in the pool and among its scales, in the same order.
struct NewTokenPlaces {
    std::vector<std::uint64_t> rows = {};    ///< [batch][K, V], or [batch] if latent: offsets in bytes
    std::uint32_t row_bytes = 0;             ///< size of each row
    std::vector<std::uint64_t> scales = {};  ///< [batch][KV heads][K, V]
};
NewTokenPlaces new_token_places(const LayerOptions& options, const PageTable& table);

struct LayerSeen;  ///< the contents of all buffers after a step; defined in layer_buffers.h

/// Returns W · x in fp64, where x is the input that the layer really multiplied. For a matrix of the routed
/// experts, it returns the products of the drawn experts in ascending order, each with its own rows of x.
/// For a matrix that each head has, it returns the products of all heads in order.
using ProductOf = std::function<std::vector<double>(LayerMatrix)>;

/// Compares the result of every operation with fp64. The reference of an operation uses the results that
/// the layer itself computed before it. Returns nothing if all results are right, otherwise a description
/// of the first operation that is wrong and its error. Attention of large layers is compared by a sample.
std::optional<std::string> layer_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                       const ProductOf& product_of);

/// Inputs in which one operand differs from that of the layer, so that a check with them must find a fault.
/// Matrices are not part of the inputs; the code that holds them plants faults in them.
struct PlantedFault {
    std::string operand;  ///< name of the operand that differs, for messages
    LayerInputs inputs;
};
/// Returns one set of inputs for each operand of the layer.
std::vector<PlantedFault> planted_faults(const LayerInputs& inputs);

/// The matrices of a layer, indexed by LayerMatrix, each [rows, k]. A list of experts holds the drawn experts
/// in ascending order, and a list of heads holds all heads.
using LayerMatrices = std::array<std::vector<double>, kLayerMatrices>;

/// Returns the sum of the buffers `residual` and `down` [batch, hidden] after one layer, computed in fp64
/// from their contents before it. Only the new token's key and value are rounded, to the cache's format.
std::vector<double> layer_reference(const LayerInputs& inputs, const LayerMatrices& matrices,
                                    std::span<const float> residual, std::span<const float> down);

/// Returns the largest relative L2 error that a layer's output may have against layer_reference. The error
/// comes from rounding the inputs of products to 16 bits, and keys and values to the cache's format.
double layer_bound(const LayerOptions& options);

/// Returns the options of the rows of a suite. If `models` is empty, the suite is that of the default models.
std::vector<LayerOptions> layer_suite(RowSet set, std::span<const ModelShape> models);

}  // namespace paretoken::microbench::gpu
