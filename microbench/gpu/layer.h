#pragma once
// A dense decoder layer at decode, as numbers: its operations in their order and what each reads and writes
// of the others' results, the bytes that a step must move, and what must come out in fp64. The GPU's launches
// and the tests' emulation run the same `launch_op`. Compiles without CUDA.
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "microbench/gpu/attention.h"
#include "microbench/gpu/kernel.h"
#include "microbench/gpu/layer_body.h"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/weights_layout.h"
#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

struct LayerOptions {
    std::string preset;
    std::size_t tp = 1;  ///< GPUs that share the layer; this is one's part, without what they exchange
    std::size_t hidden = 0;
    std::size_t width = 0;  ///< of the feed-forward part
    HeadShape heads;
    WeightFormat weights = WeightFormat::bf16;
    KvFormat kv = KvFormat::bf16;
    std::int32_t page = 16;
    std::vector<std::int32_t> lengths;  ///< tokens per request that attention sees, the new one among them

    bool operator==(const LayerOptions&) const = default;
    std::size_t batch() const { return lengths.size(); }
    AttentionOptions attention() const;
};

inline constexpr float kLayerEpsilon = 1e-5F;
inline constexpr double kRopeBase = 500000;

enum class LayerMatrix { qkv, o, gate_up, down };
inline constexpr LayerMatrix kLayerMatrices[] = {LayerMatrix::qkv, LayerMatrix::o, LayerMatrix::gate_up,
                                                 LayerMatrix::down};
enum class LayerNorm { attention, feed_forward };

/// rows × k
MatrixShape matrix_of(const LayerOptions& options, LayerMatrix matrix);

/// In the order of a forward pass. The residual's additions are the norms': the second norm adds what `o`
/// gave, the first one what `down` gave in the layer before.
enum class LayerOp { norm, qkv, rope, attention, o, ffn_norm, gate_up, silu, down };
inline constexpr LayerOp kLayerOps[] = {LayerOp::norm,      LayerOp::qkv,  LayerOp::rope,
                                        LayerOp::attention, LayerOp::o,    LayerOp::ffn_norm,
                                        LayerOp::gate_up,   LayerOp::silu, LayerOp::down};
std::string_view name_of(LayerOp op);

/// Where results lie: the machine's memory. 16-bit ones are bf16 beside bf16 weights (q: beside a bf16
/// cache), else fp16. Between layers live `residual` and `down`.
struct LayerBuffers {
    float* residual = nullptr;            ///< [batch, hidden]
    std::uint16_t* normed = nullptr;      ///< [batch, hidden]
    float* qkv = nullptr;                 ///< [batch, (query heads + 2 KV heads) · head_dim]
    std::uint16_t* q = nullptr;           ///< [batch, query heads · head_dim]
    std::uint16_t* attended = nullptr;    ///< likewise
    float* o = nullptr;                   ///< [batch, hidden]
    std::uint16_t* ffn_normed = nullptr;  ///< [batch, hidden]
    float* gate_up = nullptr;             ///< [batch, 2 · width]
    std::uint16_t* gated = nullptr;       ///< [batch, width]
    float* down = nullptr;                ///< [batch, hidden]
};

/// Starts one operation on `machine`, which has
///   norm(LayerNorm, residual, delta, out)   multiply(LayerMatrix, x, y)   rope(qkv, q)   attend(q, out)
///   gate(gate_up, out)
template <class Launcher>
void launch_op(LayerOp op, const LayerBuffers& b, Launcher&& machine) {
    switch (op) {
        case LayerOp::norm:
            return machine.norm(LayerNorm::attention, b.residual, b.down, b.normed);
        case LayerOp::qkv:
            return machine.multiply(LayerMatrix::qkv, b.normed, b.qkv);
        case LayerOp::rope:
            return machine.rope(b.qkv, b.q);
        case LayerOp::attention:
            return machine.attend(b.q, b.attended);
        case LayerOp::o:
            return machine.multiply(LayerMatrix::o, b.attended, b.o);
        case LayerOp::ffn_norm:
            return machine.norm(LayerNorm::feed_forward, b.residual, b.o, b.ffn_normed);
        case LayerOp::gate_up:
            return machine.multiply(LayerMatrix::gate_up, b.ffn_normed, b.gate_up);
        case LayerOp::silu:
            return machine.gate(b.gate_up, b.gated);
        case LayerOp::down:
            return machine.multiply(LayerMatrix::down, b.gated, b.down);
    }
}

/// "layer/preset:llama3-8b/w:bf16/kv:bf16/batch:1/ctx:4096", "/tp:8" after the preset where there is one.
std::string name_of(const LayerOptions& options);

/// Of the step as a whole: weights and their scales, gains, keys and values that were cached before, the page
/// table, and the new token's key and value. What operations hand one another stays in a cache at best, and
/// is not counted.
Work layer_work(const LayerOptions& options);
/// Of one operation for itself, as the rows of its kind count it.
Work op_work(const LayerOptions& options, LayerOp op);

// ---- inputs, by formula

/// bf16. About what makes products of random weights of the format (fill.cuh's) come out near 1: softmax then
/// tells tokens apart, and nothing leaves fp16.
std::uint16_t gain_code(const LayerOptions& options, std::uint64_t seed, std::uint64_t place);
/// Both norms', by LayerNorm.
std::array<std::vector<std::uint16_t>, 2> gains_of(const LayerOptions& options, std::uint64_t seed);
/// What `residual` and `down` begin with.
float residual_number(std::uint64_t seed, std::uint64_t place);
float down_number(std::uint64_t seed, std::uint64_t place);
/// RopeCall::turns
std::vector<float> turns_of(const LayerOptions& options);

NormCall norm_call(const LayerOptions& options);
RopeCall rope_call(const LayerOptions& options);
GateCall gate_call(const LayerOptions& options);

// ---- references

/// What is known of a layer apart from its matrices: the caches are filled by the formulas of paged.h and
/// `kv_seed`, gains by `gain_code`.
struct LayerInputs {
    LayerOptions options;
    PageTable table;
    std::uint64_t kv_seed = 0;
    std::array<std::vector<std::uint16_t>, 2> gains = {};  ///< by LayerNorm
    std::vector<float> turns = {};
};

/// The new token's place in the caches of all requests: bytes [batch][K, V][KV heads · head_dim] in the
/// cache's format, and for int8 scales [batch][KV heads][K, V].
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

/// Every buffer after a step.
struct LayerSeen {
    std::vector<float> residual_before, down_before;
    std::vector<float> residual;
    std::vector<std::uint16_t> normed;
    std::vector<float> qkv;
    std::vector<std::uint16_t> q;
    AppendedTokens appended;
    std::vector<std::uint16_t> attended;
    std::vector<float> o;
    std::vector<std::uint16_t> ffn_normed;
    std::vector<float> gate_up;
    std::vector<std::uint16_t> gated;
    std::vector<float> down;

    /// residual + down: what the next layer begins with
    std::vector<float> output() const;
};

/// Gives W · x in fp64, x being what the layer multiplied by.
using ProductOf = std::function<std::vector<double>(LayerMatrix)>;

/// Compares every operation with fp64, each from what those before it really gave: nothing when all are
/// right, else the first that is wrong and by how much. Attention of large layers is compared by a sample.
std::optional<std::string> layer_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                       const ProductOf& product_of);

/// residual + down after one layer in fp64 throughout, but for the new token's key and value, which are
/// rounded to the cache's format. `matrices` by LayerMatrix, [rows, k].
std::vector<double> layer_reference(const LayerInputs& inputs,
                                    const std::array<std::vector<double>, 4>& matrices,
                                    std::span<const float> residual, std::span<const float> down);

/// Relative L2 error that a layer's output may have against layer_reference: roundings of 16-bit inputs of
/// four products, and of the cache's format.
double layer_bound(const LayerOptions& options);

/// The rows of a suite; `models` as in GpuSettings.
std::vector<LayerOptions> layer_suite(RowSet set, std::span<const ModelShape> models);

}  // namespace paretoken::microbench::gpu
