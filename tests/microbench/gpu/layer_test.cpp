#include "microbench/gpu/layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/random_words.h"
#include "microbench/gpu/weights_reference.h"
#include "tests/microbench/gpu/emulated_weights.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint16_t kPoison16 = 0xffff;  // NaN in bf16 and fp16

using Machine = EmulatedWeightsMachine<false>;

std::vector<float> floats_of(const std::vector<std::uint16_t>& codes, bool bf16) {
    std::vector<float> numbers;
    for (const std::uint16_t code : codes) numbers.push_back(bf16 ? float_of_bf16(code) : float_of_f16(code));
    return numbers;
}

// ---- a layer in host memory, each operation run by emulated thread blocks

/// Runs the kernels' own code on emulated blocks. Meets what `launch_op` asks of a machine.
class EmulatedLayer {
  public:
    EmulatedLayer(const LayerOptions& options, std::uint64_t order)
        : inputs{.options = options,
                 .table = page_tables(options.lengths, static_cast<std::uint32_t>(options.page), 1,
                                      PageOrder::random, kSeed)
                              .front(),
                 .kv_seed = kSeed,
                 .gains = gains_of(options, kSeed),
                 .turns = turns_of(options)},
          order_(order) {
        const PoolShape pool = options.attention().pool();
        const auto pages = pages_for(options.lengths, pool.page);
        const std::size_t width = bytes_of(options.kv);
        pool_.resize(pages * pool.page_bytes());
        for (std::size_t i = 0; i < pool_.size() / width; ++i) {
            const std::uint16_t code = random_code(options.kv, kSeed, i);
            std::memcpy(pool_.data() + i * width, &code, width);
        }
        scales_.resize(pages * pool.page_scales());
        for (std::size_t i = 0; i < scales_.size(); ++i) scales_[i] = random_scale(kSeed, i);
        const std::size_t columns = batch() * options.hidden;
        seen.residual.resize(columns);
        seen.down.resize(columns);
        for (std::size_t i = 0; i < columns; ++i) {
            seen.residual[i] = residual_number(kSeed, i);
            seen.down[i] = down_number(kSeed, i);
        }
        const auto rows_of = [&](LayerMatrix matrix) { return batch() * matrix_of(options, matrix).rows; };
        const std::size_t queries = batch() * options.heads.query_heads * options.heads.head_dim;
        seen.normed.assign(columns, kPoison16);
        seen.qkv.assign(rows_of(LayerMatrix::qkv), kPoison);
        seen.q.assign(queries, kPoison16);
        seen.attended.assign(queries, kPoison16);
        seen.o.assign(columns, kPoison);
        seen.ffn_normed.assign(columns, kPoison16);
        seen.gate_up.assign(rows_of(LayerMatrix::gate_up), kPoison);
        seen.gated.assign(batch() * options.width, kPoison16);
    }

    std::size_t batch() const { return inputs.options.batch(); }

    LayerBuffers buffers() {
        return {.residual = seen.residual.data(),
                .normed = seen.normed.data(),
                .qkv = seen.qkv.data(),
                .q = seen.q.data(),
                .attended = seen.attended.data(),
                .o = seen.o.data(),
                .ffn_normed = seen.ffn_normed.data(),
                .gate_up = seen.gate_up.data(),
                .gated = seen.gated.data(),
                .down = seen.down.data()};
    }

    /// One layer; afterwards `seen` holds what every operation gave.
    void step() {
        seen.residual_before = seen.residual;
        seen.down_before = seen.down;
        for (const LayerOp op : kLayerOps) launch_op(op, buffers(), *this);
        gather_appended();
    }

    ProductOf products() const {
        return [this](LayerMatrix matrix) {
            const MatrixShape shape = matrix_of(inputs.options, matrix);
            std::vector<double> numbers;
            for (const float x : floats_of(input_of(matrix), is_bf16(inputs.options.weights)))
                numbers.push_back(static_cast<double>(x));
            return product({inputs.options.weights, shape.rows, shape.k}, dequantised_matrix(matrix),
                           numbers);
        };
    }
    std::array<std::vector<double>, 4> matrices() const {
        std::array<std::vector<double>, 4> all;
        for (const LayerMatrix matrix : kLayerMatrices)
            all[static_cast<std::size_t>(matrix)] = dequantised_matrix(matrix);
        return all;
    }
    std::optional<std::string> fault() const { return layer_fault(inputs, seen, products()); }

    // ---- what launch_op calls

    void norm(LayerNorm which, float* residual, const float* delta, std::uint16_t* out) {
        NormCall call = norm_call(inputs.options);
        call.residual = residual;
        call.delta = delta;
        call.gain = inputs.gains[static_cast<std::size_t>(which)].data();
        call.out = out;
        run_blocks(batch(), 128, norm_shared_bytes(4), [&](const Machine& machine) {
            if (is_bf16(inputs.options.weights)) {
                norm_body<true, 4>(machine, call);
            } else {
                norm_body<false, 4>(machine, call);
            }
        });
    }
    void multiply(LayerMatrix matrix, const std::uint16_t* x, float* y) {
        switch (inputs.options.weights) {
            case WeightFormat::bf16:
                return multiply_by_batch<Bf16Weights, 1>(matrix, x, y);
            case WeightFormat::fp16:
                return multiply_as<Fp16Weights, 1, 1>(matrix, x, y);
            case WeightFormat::fp8:
                return multiply_by_batch<Fp8Weights, 1>(matrix, x, y);
            case WeightFormat::int8:
                return multiply_by_batch<Int8Weights, 1>(matrix, x, y);
            case WeightFormat::int4:
                return multiply_by_batch<Int4Weights, 2>(matrix, x, y);
            case WeightFormat::mxfp4:
                return multiply_by_batch<Mxfp4Weights, 2>(matrix, x, y);
        }
    }
    void rope(const float* qkv, std::uint16_t* q) {
        RopeCall call = rope_call(inputs.options);
        call.qkv = qkv;
        call.turns = inputs.turns.data();
        call.q = q;
        call.pool = pool_.data();
        call.scales = scales_.data();
        call.pages = inputs.table.pages.data();
        call.first_page = inputs.table.first.data();
        call.lengths = inputs.options.lengths.data();
        const std::size_t warps = batch() * static_cast<std::size_t>(call.heads());
        by_cache([&]<KvFormat kFormat, int kDim>() {
            run_blocks((warps + kRopeWarps - 1) / kRopeWarps, kRopeWarps * 32, 0,
                       [&](const Machine& machine) { rope_body<kFormat, kDim>(machine, call); });
        });
    }
    void attend(const std::uint16_t* q, std::uint16_t* out) {
        const AttentionOptions options = inputs.options.attention();
        const SplitPlan plan = split_plan(options.lengths, split_options(options, 3));
        const auto partials = static_cast<std::size_t>(plan.partials) * kWarpTokens;
        std::vector<float> partial_out(partials * options.heads.head_dim, kPoison);
        std::vector<float> partial_lse(partials, kPoison);
        std::vector<std::int32_t> counters(static_cast<std::size_t>(plan.sequences));
        constexpr std::int32_t kStages = 3;
        AttentionCall call = attention_call(options, kStages);
        call.pool = pool_.data();
        call.scales = scales_.data();
        call.q = q;
        call.pages = inputs.table.pages.data();
        call.first_page = inputs.table.first.data();
        call.segments = plan.segments.data();
        call.first_segment = plan.first.data();
        call.partial_out = partial_out.data();
        call.partial_lse = partial_lse.data();
        call.counters = counters.data();
        call.out = {.narrow = out, .bf16 = is_bf16(inputs.options.weights)};
        by_cache([&]<KvFormat kFormat, int kDim>() {
            run_blocks(plan.pieces(), kThreads, BlockMemory<kFormat, kDim>::bytes(kStages),
                       [&](Machine& machine) { attention_body<kFormat, kDim>(machine, call); });
        });
    }
    void gate(const float* gate_up, std::uint16_t* out) {
        GateCall call = gate_call(inputs.options);
        call.gate_up = gate_up;
        call.out = out;
        run_blocks(batch() * static_cast<std::size_t>(gate_blocks_per_row(call.width)), kGateThreads, 0,
                   [&](const Machine& machine) {
                       if (is_bf16(inputs.options.weights)) {
                           gate_body<true>(machine, call);
                       } else {
                           gate_body<false>(machine, call);
                       }
                   });
    }

    LayerInputs inputs;
    LayerSeen seen;

  private:
    template <class Body>
    void run_blocks(std::size_t blocks, int lanes, int shared_bytes, const Body& body) {
        run_thread_blocks(static_cast<std::uint32_t>(blocks), lanes, static_cast<std::size_t>(shared_bytes),
                          ++order_, [&](EmulatedBlock& block, int lane, int piece) {
                              Machine machine(block, lane, piece);
                              body(machine);
                          });
    }

    template <class Body>
    void by_cache(const Body& body) const {
        const bool wide = inputs.options.heads.head_dim == 128;
        const auto by_dim = [&]<KvFormat kFormat>() {
            if (wide) {
                body.template operator()<kFormat, 128>();
            } else {
                body.template operator()<kFormat, 64>();
            }
        };
        switch (inputs.options.kv) {
            case KvFormat::bf16:
                return by_dim.template operator()<KvFormat::bf16>();
            case KvFormat::fp16:
                return by_dim.template operator()<KvFormat::fp16>();
            case KvFormat::fp8:
                return by_dim.template operator()<KvFormat::fp8>();
            case KvFormat::int8:
                return by_dim.template operator()<KvFormat::int8>();
        }
    }

    /// Taller units at the largest batch, as the 4-bit kernels have them.
    template <class Weights, int kParts>
    void multiply_by_batch(LayerMatrix matrix, const std::uint16_t* x, float* y) {
        if (batch() <= 8) {
            multiply_as<Weights, 1, 1>(matrix, x, y);
        } else if (batch() <= 16) {
            multiply_as<Weights, 2, 1>(matrix, x, y);
        } else {
            multiply_as<Weights, 4, kParts>(matrix, x, y);
        }
    }

    int parts() const { return bits_of(inputs.options.weights) == 4 && batch() > 16 ? 2 : 1; }
    WeightsShape shape_of(LayerMatrix matrix) const {
        const MatrixShape shape = matrix_of(inputs.options, matrix);
        return {inputs.options.weights, shape.rows, shape.k, parts()};
    }
    std::vector<std::uint32_t> words(LayerMatrix matrix) const {
        const WeightsShape shape = shape_of(matrix);
        std::vector<std::uint32_t> result(shape.words());
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = random_code_word(shape.format, random_bits_at(static_cast<std::uint64_t>(matrix), i));
        return result;
    }
    std::vector<std::uint32_t> scale_words(LayerMatrix matrix) const {
        const WeightsShape shape = shape_of(matrix);
        std::vector<std::uint32_t> result(shape.scale_words());
        for (std::size_t i = 0; i < result.size(); ++i) {
            result[i] =
                random_scale_word(shape.format, random_bits_at(10 + static_cast<std::uint64_t>(matrix), i));
        }
        return result;
    }
    std::vector<double> dequantised_matrix(LayerMatrix matrix) const {
        return dequantised(shape_of(matrix), words(matrix), scale_words(matrix));
    }
    const std::vector<std::uint16_t>& input_of(LayerMatrix matrix) const {
        switch (matrix) {
            case LayerMatrix::qkv:
                return seen.normed;
            case LayerMatrix::o:
                return seen.attended;
            case LayerMatrix::gate_up:
                return seen.ffn_normed;
            default:
                return seen.gated;
        }
    }

    template <class Weights, int kColumns, int kParts>
    void multiply_as(LayerMatrix matrix, const std::uint16_t* x, float* y) {
        using Tile = WeightsTile<Weights, kColumns, kParts>;
        const WeightsShape shape = shape_of(matrix);
        ASSERT_EQ(shape.tiles, kParts);
        const auto weights = words_of(words(matrix));
        const auto scales = scale_words(matrix);
        const auto x_words = words_of(std::vector<std::uint16_t>(x, x + batch() * shape.k));
        const auto units = static_cast<std::uint32_t>(shape.units());
        const std::uint32_t blocks = std::min(3U, units);
        std::vector<float> partials(2 * blocks * batch() * shape.unit_rows(), kPoison);
        std::vector<std::int32_t> arrivals(shape.row_blocks());
        const WeightsCall call{
            .weights = weights.data(),
            .scales = scales.data(),
            .x = reinterpret_cast<const std::uint16_t*>(x_words.data()),
            .y = y,
            .partials = partials.data(),
            .arrivals = arrivals.data(),
            .rows = static_cast<int>(shape.rows),
            .batch = static_cast<int>(batch()),
            .steps = static_cast<int>(shape.steps()),
            .division = {EvenShares::of(units, blocks), static_cast<std::uint32_t>(shape.steps())}};
        run_blocks(blocks, kWeightThreads, Tile::kSharedBytes, [&](const Machine& machine) {
            WeightsLane<Machine, Weights, kColumns, kParts>(machine, call).run();
        });
    }

    void gather_appended() {
        const LayerOptions& options = inputs.options;
        const PageStrides strides = options.attention().pool().strides();
        const std::size_t row = options.heads.kv_heads * options.heads.head_dim * bytes_of(options.kv);
        seen.appended = {};
        for (std::size_t request = 0; request < batch(); ++request) {
            const std::int32_t token = options.lengths[request] - 1;
            const auto page = static_cast<std::uint64_t>(
                inputs.table
                    .pages[static_cast<std::size_t>(inputs.table.first[request] + token / options.page)]);
            const auto slot = static_cast<std::uint32_t>(token % options.page);
            for (std::uint32_t which = 0; which < 2; ++which) {
                const std::byte* const from =
                    pool_.data() + page * strides.page + which * strides.value + slot * strides.token;
                seen.appended.bytes.insert(seen.appended.bytes.end(), from, from + row);
            }
            for (std::uint32_t head = 0; !scales_.empty() && head < options.heads.kv_heads; ++head) {
                for (std::uint32_t which = 0; which < 2; ++which) {
                    seen.appended.scales.push_back(scales_[scale_place(
                        static_cast<std::uint32_t>(options.heads.kv_heads),
                        static_cast<std::uint32_t>(options.page), page, head, which, slot)]);
                }
            }
        }
    }

    std::uint64_t order_;
    std::vector<std::byte> pool_;
    std::vector<float> scales_;
};

/// Emulating takes time in proportion to batch · weights.
bool is_tiny(const LayerOptions& options) {
    double multiplications = 0;
    for (const LayerMatrix matrix : kLayerMatrices) {
        const MatrixShape shape = matrix_of(options, matrix);
        multiplications += static_cast<double>(shape.rows * shape.k * options.batch());
    }
    return multiplications < 3e7;
}

TEST(GpuLayer, every_operation_and_the_whole_layer_agree_with_fp64_on_the_rows_of_the_verification) {
    std::size_t emulated = 0;
    for (const LayerOptions& options : layer_suite(RowSet::checks, {})) {
        if (!is_tiny(options)) continue;
        ++emulated;
        EmulatedLayer layer(options, 1);
        layer.step();
        EXPECT_EQ(layer.fault(), std::nullopt) << name_of(options);
        const auto wanted = layer_reference(layer.inputs, layer.matrices(), layer.seen.residual_before,
                                            layer.seen.down_before);
        const double error = relative_l2(layer.seen.output(), wanted);
        EXPECT_LE(error, layer_bound(options)) << name_of(options);
    }
    EXPECT_GE(emulated, 6U);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
