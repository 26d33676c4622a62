#include "microbench/gpu/layer/layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <set>
#include <type_traits>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/formats/random_words.h"
#include "microbench/gpu/layer/layer_buffers.h"
#include "microbench/gpu/weights/weights_reference.h"
#include "tests/microbench/gpu/emulated_weights.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint16_t kPoison16 = 0xffff;  // NaN in bf16 and fp16
constexpr std::int32_t kPoisonIndex = 1 << 20;

using Machine = EmulatedWeightsMachine<false>;

std::vector<float> floats_of(const std::vector<std::uint16_t>& codes, bool bf16) {
    std::vector<float> numbers;
    for (const std::uint16_t code : codes) numbers.push_back(bf16 ? float_of_bf16(code) : float_of_f16(code));
    return numbers;
}

// ---- a layer in host memory, whose operations are run by emulated thread blocks

/// Runs the code of the kernels on emulated thread blocks. It has the functions that `launch_op` calls.
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
        if (options.latent) {
            begin_latent();
        } else {
            begin_headed();
        }
        if (options.experts) {
            inputs.draw = drawn_experts(*options.experts, batch(), kSeed);
            store_experts();
        }
        for_each_buffer(
            options,
            [](std::size_t elements, auto& buffer) {
                using Value = typename std::decay_t<decltype(buffer)>::value_type;
                if constexpr (std::is_same_v<Value, float>) {
                    buffer.assign(elements, kPoison);
                } else if constexpr (std::is_same_v<Value, std::uint16_t>) {
                    buffer.assign(elements, kPoison16);
                } else {
                    buffer.assign(elements, kPoisonIndex);
                }
            },
            seen);
        for (std::size_t i = 0; i < seen.residual.size(); ++i) {
            seen.residual[i] = residual_number(kSeed, i);
            seen.down[i] = down_number(kSeed, i);
        }
    }

    std::size_t batch() const { return inputs.options.batch(); }

    LayerBuffers buffers() { return buffers_of(inputs.options, seen); }

    /// Runs one layer. Afterwards `seen` holds the results of every operation.
    void step() {
        seen.residual_before = seen.residual;
        seen.down_before = seen.down;
        for (const LayerOp op : ops_of(inputs.options)) launch_op(op, buffers(), *this);
        gather_appended();
    }

    /// Returns the products of all entries of a launch, one after the other. `weights` holds the matrices of
    /// the entries.
    std::vector<double> product_of(LayerMatrix matrix, std::span<const double> weights) const {
        const LayerOptions& options = inputs.options;
        const MatrixShape shape = matrix_of(options, matrix);
        const ExpertLoad launch = launched(options, matrix);
        std::vector<double> x;
        for (const float number : floats_of(input_of(seen, matrix), is_bf16(options.weights)))
            x.push_back(static_cast<double>(number));
        std::vector<double> y;
        for (std::size_t entry = 0; entry < launch.entries; ++entry) {
            const auto one =
                product({format_of(options, matrix), shape.rows, shape.k},
                        weights.subspan(entry * shape.rows * shape.k, shape.rows * shape.k),
                        std::span(x).subspan(entry * launch.columns * shape.k, launch.columns * shape.k));
            y.insert(y.end(), one.begin(), one.end());
        }
        return y;
    }
    ProductOf products() const {
        return [this](LayerMatrix matrix) { return product_of(matrix, dequantised_matrix(matrix)); };
    }
    LayerMatrices matrices() const {
        LayerMatrices all;
        for (const LayerMatrix matrix : matrices_of(inputs.options))
            all[index_of(matrix)] = dequantised_matrix(matrix);
        return all;
    }
    std::optional<std::string> fault() const { return layer_fault(inputs, seen, products()); }

    // ---- functions that launch_op calls

    void norm(LayerNorm which, float* residual, const float* delta, std::uint16_t* out) {
        NormCall call = norm_call(inputs.options, which);
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
        if (is_listed(matrix)) {
            const auto heads = all_heads();
            return multiply_listed(matrix, heads.data(), x, y);
        }
        switch (format_of(inputs.options, matrix)) {
            case WeightFormat::bf16:
                return multiply_by_batch<Bf16Weights, 1>(matrix, x, y);
            case WeightFormat::fp16:
                return multiply_by_batch<Fp16Weights, 1>(matrix, x, y);
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
    void multiply_experts(LayerMatrix matrix, const RoutingTables& tables, const std::uint16_t* x, float* y) {
        const std::size_t first = matrix == LayerMatrix::expert_down ? inputs.options.load().entries : 0;
        multiply_listed(matrix, tables.of_entries + first, x, y);
    }
    void multiply_listed(LayerMatrix matrix, const std::int32_t* list, const std::uint16_t* x, float* y) {
        switch (inputs.options.weights) {
            case WeightFormat::bf16:
                return multiply_as<Bf16Weights, 1, 1, true>(matrix, x, y, list);
            case WeightFormat::fp8:
                return multiply_as<Fp8Weights, 1, 1, true>(matrix, x, y, list);
            case WeightFormat::int4:
                return multiply_as<Int4Weights, 1, 1, true>(matrix, x, y, list);
            case WeightFormat::mxfp4:
                return multiply_as<Mxfp4Weights, 1, 1, true>(matrix, x, y, list);
            case WeightFormat::fp16:
            case WeightFormat::int8:
                ADD_FAILURE() << "there is no kernel with a list of matrices for this format";
        }
    }
    void route(const float* logits, const RoutingTables& tables) {
        RouteCall call = route_call(inputs.options);
        call.logits = logits;
        call.masks = inputs.draw.masks.data();
        call.stored = inputs.stored.data();
        call.out = tables;
        run_blocks(1, 64, route_shared_bytes(call.tokens, call.active),
                   [&](const Machine& machine) { route_body<2>(machine, call); });
    }
    void gather(const std::uint16_t* rows, const RoutingTables& tables, std::uint16_t* out) {
        const GatherCall call{.rows = rows,
                              .tokens = tables.tokens,
                              .out = out,
                              .hidden = static_cast<std::int32_t>(inputs.options.hidden)};
        run_blocks(inputs.options.load().places(), kGatherThreads, 0,
                   [&](const Machine& machine) { gather_body(machine, call); });
    }
    void mix(const float* results, const RoutingTables& tables, const float* shared, float* out) {
        MixCall call = mix_call(inputs.options);
        call.results = results;
        call.weights = tables.weights;
        call.places = tables.places;
        call.shared = shared;
        call.out = out;
        run_blocks(batch() * static_cast<std::size_t>(gate_blocks_per_row(call.hidden)), kGateThreads, 0,
                   [&](const Machine& machine) { mix_body(machine, call); });
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
    void turn_latent(const float* q, const float* kv, std::uint16_t* nope, std::uint16_t* turned) {
        LatentCall call = latent_call(inputs.options);
        call.q = q;
        call.kv = kv;
        call.turns = inputs.turns.data();
        call.gain = inputs.gains[index_of(LayerNorm::latent)].data();
        call.nope = nope;
        call.absorbed = turned;
        call.pool = reinterpret_cast<std::uint16_t*>(pool_.data());
        call.pages = inputs.table.pages.data();
        call.first_page = inputs.table.first.data();
        call.lengths = inputs.options.lengths.data();
        const std::size_t warps = batch() * (inputs.options.heads.query_heads + 1);
        run_blocks((warps + kRopeWarps - 1) / kRopeWarps, kRopeWarps * 32, 0, [&](const Machine& machine) {
            if (is_bf16(inputs.options.weights)) {
                latent_body<true>(machine, call);
            } else {
                latent_body<false>(machine, call);
            }
        });
    }
    void attend_latent(const std::uint16_t* q, float* out) {
        constexpr std::int32_t kStages = 3;
        const MlaOptions options = inputs.options.mla();
        const SplitPlan plan = split_plan(options.lengths, split_options(options, 3));
        const auto partials = static_cast<std::size_t>(plan.partials) * kWarpTokens;
        std::vector<float> partial_out(partials * kMlaValue, kPoison);
        std::vector<float> partial_lse(partials, kPoison);
        std::vector<std::int32_t> counters(static_cast<std::size_t>(plan.sequences));
        MlaCall call = mla_call(options, kStages);
        call.pool = reinterpret_cast<const std::uint16_t*>(pool_.data());
        call.q = q;
        call.pages = inputs.table.pages.data();
        call.first_page = inputs.table.first.data();
        call.segments = plan.segments.data();
        call.first_segment = plan.first.data();
        call.partial_out = partial_out.data();
        call.partial_lse = partial_lse.data();
        call.counters = counters.data();
        call.out = out;
        run_blocks(plan.pieces(), kThreads, kStages * kMlaStageBytes + kMlaFixedBytes,
                   [&](Machine& machine) { mla_body(machine, call); });
    }
    void narrow(LayerOp op, const float* from, std::uint16_t* to) {
        NarrowCall call = narrow_call(inputs.options, op);
        call.from = from;
        call.to = to;
        const auto warps = static_cast<std::size_t>(call.outer * call.inner);
        run_blocks((warps + kRopeWarps - 1) / kRopeWarps, kRopeWarps * 32, 0, [&](const Machine& machine) {
            if (narrows_to_bf16(inputs.options, op)) {
                narrow_body<true>(machine, call);
            } else {
                narrow_body<false>(machine, call);
            }
        });
    }
    void gate(LayerMatrix matrix, const float* gate_up, std::uint16_t* out) {
        GateCall call = gate_call(inputs.options, matrix);
        call.gate_up = gate_up;
        call.out = out;
        const std::size_t rows = launched(inputs.options, matrix).places();
        run_blocks(rows * static_cast<std::size_t>(gate_blocks_per_row(call.width)), kGateThreads, 0,
                   [&](const Machine& machine) {
                       if (is_bf16(inputs.options.weights)) {
                           gate_body<true>(machine, call);
                       } else {
                           gate_body<false>(machine, call);
                       }
                   });
    }

    const std::vector<std::byte>& pool() const { return pool_; }
    const std::vector<float>& scales() const { return scales_; }

    LayerInputs inputs;
    LayerSeen seen;

  private:
    void begin_headed() {
        const LayerOptions& options = inputs.options;
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
    }
    void begin_latent() {
        const MlaOptions options = inputs.options.mla();
        const auto pages = pages_for(options.lengths, static_cast<std::uint32_t>(options.page));
        pool_.resize(pages * static_cast<std::size_t>(options.page * kMlaRow) * 2);
        for (std::size_t i = 0; i < pool_.size() / 2; ++i) {
            const std::uint16_t code = random_code(KvFormat::bf16, kSeed, i);
            std::memcpy(pool_.data() + i * 2, &code, 2);
        }
    }

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

    /// Batches above 16 use units of kParts 16-row parts, like the 4-bit kernels on a GPU.
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

    /// Returns the number n of stored matrices of experts, the smallest power of two that is enough. The
    /// matrix of the i-th touched expert is (3 i + 1) % n for gate_up and (5 i + 1) % n for down, so that the
    /// matrices are not in the order of the experts.
    std::size_t stored_matrices() const { return std::bit_ceil(inputs.options.load().entries); }
    std::size_t stored_matrices(LayerMatrix matrix) const {
        if (!is_listed(matrix)) return 1;
        return is_of_heads(matrix) ? launched(inputs.options, matrix).entries : stored_matrices();
    }
    static bool is_of_heads(LayerMatrix matrix) {
        return matrix == LayerMatrix::absorb || matrix == LayerMatrix::expand;
    }
    std::vector<std::int32_t> all_heads() const {
        std::vector<std::int32_t> heads(inputs.options.heads.query_heads);
        for (std::size_t i = 0; i < heads.size(); ++i) heads[i] = static_cast<std::int32_t>(i);
        return heads;
    }
    void store_experts() {
        const std::size_t count = inputs.options.experts->count;
        inputs.stored.assign(2 * count, 0);
        for (std::size_t which = 0; which < 2; ++which) {
            for (std::size_t i = 0; i < inputs.draw.touched.size(); ++i) {
                inputs.stored[which * count + static_cast<std::size_t>(inputs.draw.touched[i])] =
                    static_cast<std::int32_t>((i * (3 + 2 * which) + 1) % stored_matrices());
            }
        }
    }
    int parts(LayerMatrix matrix) const {
        const bool tall = bits_of(format_of(inputs.options, matrix)) == 4 && batch() > 16;
        return tall && !is_listed(matrix) ? 2 : 1;
    }
    WeightsShape shape_of(LayerMatrix matrix) const {
        const MatrixShape shape = matrix_of(inputs.options, matrix);
        return {format_of(inputs.options, matrix), shape.rows, shape.k, parts(matrix)};
    }
    /// Returns the words of all stored matrices.
    std::vector<std::uint32_t> words(LayerMatrix matrix) const {
        const WeightsShape shape = shape_of(matrix);
        std::vector<std::uint32_t> result(shape.words() * stored_matrices(matrix));
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = random_code_word(shape.format, random_bits_at(static_cast<std::uint64_t>(matrix), i));
        return result;
    }
    std::vector<std::uint32_t> scale_words(LayerMatrix matrix) const {
        const WeightsShape shape = shape_of(matrix);
        std::vector<std::uint32_t> result(shape.scale_words() * stored_matrices(matrix));
        for (std::size_t i = 0; i < result.size(); ++i) {
            result[i] =
                random_scale_word(shape.format, random_bits_at(10 + static_cast<std::uint64_t>(matrix), i));
        }
        return result;
    }
    std::vector<double> dequantised_matrix(LayerMatrix matrix) const {
        const WeightsShape shape = shape_of(matrix);
        const auto all = words(matrix);
        const auto scales = scale_words(matrix);
        if (!is_listed(matrix)) return dequantised(shape, all, scales);
        std::vector<double> drawn;
        const std::size_t first = matrix == LayerMatrix::expert_down ? inputs.options.experts->count : 0;
        for (const std::int32_t entry : is_of_heads(matrix) ? all_heads() : inputs.draw.touched) {
            const auto at = static_cast<std::size_t>(
                is_of_heads(matrix) ? entry : inputs.stored[first + static_cast<std::size_t>(entry)]);
            const auto one =
                dequantised(shape, std::span(all).subspan(at * shape.words(), shape.words()),
                            std::span(scales).subspan(at * shape.scale_words(), shape.scale_words()));
            drawn.insert(drawn.end(), one.begin(), one.end());
        }
        return drawn;
    }

    template <class Weights, int kColumns, int kParts, bool kExperts = false>
    void multiply_as(LayerMatrix matrix, const std::uint16_t* x, float* y,
                     const std::int32_t* of_entries = nullptr) {
        using Tile = WeightsTile<Weights, kColumns, kParts>;
        const WeightsShape shape = shape_of(matrix);
        ASSERT_EQ(shape.tiles, kParts);
        const auto weights = words_of(words(matrix));
        const auto scales = scale_words(matrix);
        const ExpertLoad launch = launched(inputs.options, matrix);
        const auto x_words = words_of(std::vector<std::uint16_t>(x, x + launch.places() * shape.k));
        const auto units = static_cast<std::uint32_t>(launch.entries * shape.units());
        const std::uint32_t blocks = std::min(3U, units);
        std::vector<float> partials(2 * blocks * launch.columns * shape.unit_rows(), kPoison);
        std::vector<std::int32_t> arrivals(launch.entries * shape.row_blocks());
        const WeightsCall call{.weights = weights.data(),
                               .scales = scales.data(),
                               .x = reinterpret_cast<const std::uint16_t*>(x_words.data()),
                               .y = y,
                               .partials = partials.data(),
                               .arrivals = arrivals.data(),
                               .rows = static_cast<int>(shape.rows),
                               .batch = static_cast<int>(launch.columns),
                               .steps = static_cast<int>(shape.steps()),
                               .division = StackDivision::of(shape, launch.entries, blocks),
                               .experts = {.of_entries = of_entries,
                                           .entries = static_cast<int>(launch.entries),
                                           .stacks = static_cast<int>(shape.row_blocks()) / shape.stacked,
                                           .words = static_cast<std::uint32_t>(shape.words() / 4),
                                           .scales = static_cast<std::uint32_t>(shape.scale_words())}};
        run_blocks(blocks, kWeightThreads, Tile::kSharedBytes, [&](const Machine& machine) {
            WeightsLane<Machine, Weights, kColumns, kParts, kExperts>(machine, call).run();
        });
    }

    void gather_appended() {
        const NewTokenPlaces places = new_token_places(inputs.options, inputs.table);
        seen.appended = {};
        for (const std::uint64_t at : places.rows) {
            const std::byte* const from = pool_.data() + at;
            seen.appended.bytes.insert(seen.appended.bytes.end(), from, from + places.row_bytes);
        }
        for (const std::uint64_t at : places.scales) seen.appended.scales.push_back(scales_[at]);
    }

    std::uint64_t order_;
    std::vector<std::byte> pool_;
    std::vector<float> scales_;
};

/// Returns whether a layer is small enough to emulate. The time of the emulation is proportional to batch ·
/// weights.
bool is_tiny(const LayerOptions& options) {
    double multiplications = 0;
    for (const LayerMatrix matrix : matrices_of(options)) {
        const MatrixShape shape = matrix_of(options, matrix);
        multiplications += static_cast<double>(shape.rows * shape.k * launched(options, matrix).places());
    }
    return multiplications < 3e7;
}

LayerOptions tiny(WeightFormat weights, KvFormat kv, std::vector<std::int32_t> lengths) {
    return {.preset = "tiny",
            .hidden = 128,
            .width = 192,
            .heads = {4, 2, 64},
            .weights = weights,
            .kv = kv,
            .lengths = std::move(lengths)};
}

LayerOptions tiny_routed(WeightFormat weights, std::size_t tokens) {
    LayerOptions options = tiny(weights, KvFormat::bf16, std::vector<std::int32_t>(tokens, 20));
    options.width = 64;  // shared experts
    options.experts = {12, 3, 128};
    return options;
}

LayerOptions tiny_latent(WeightFormat weights, std::vector<std::int32_t> lengths) {
    LayerOptions options = tiny(weights, KvFormat::bf16, std::move(lengths));
    options.heads = {2, 1, 192};
    options.latent = LayerLatent{64};
    return options;
}

double whole_error(const EmulatedLayer& layer) {
    return relative_l2(
        layer.seen.output(),
        layer_reference(layer.inputs, layer.matrices(), layer.seen.residual_before, layer.seen.down_before));
}

TEST(GpuLayer, every_operation_and_the_whole_layer_agree_with_fp64_on_the_rows_of_the_verification) {
    std::size_t emulated = 0;
    for (const LayerOptions& options : layer_suite(RowSet::checks, {})) {
        if (!is_tiny(options)) continue;
        ++emulated;
        EmulatedLayer layer(options, 1);
        layer.step();
        EXPECT_EQ(layer.fault(), std::nullopt) << name_of(options);
        EXPECT_LE(whole_error(layer), layer_bound(options)) << name_of(options);
    }
    EXPECT_GE(emulated, 12U);
}

TEST(GpuLayer, a_layer_begins_with_what_the_one_before_left) {
    EmulatedLayer layer(tiny(WeightFormat::bf16, KvFormat::fp8, {1, 20, 33}), 1);
    layer.step();
    const std::vector<float> handed_on = layer.seen.output();
    layer.step();
    EXPECT_EQ(layer.fault(), std::nullopt);
    EXPECT_LE(whole_error(layer), layer_bound(layer.inputs.options));
    for (std::size_t i = 0; i < handed_on.size(); ++i)
        ASSERT_EQ(layer.seen.residual[i], handed_on[i] + layer.seen.o[i]);
}

TEST(GpuLayer, the_order_of_lanes_and_blocks_changes_no_bit) {
    for (const LayerOptions& options :
         {tiny(WeightFormat::int8, KvFormat::int8, {17, 64, 1}), tiny_routed(WeightFormat::bf16, 5)}) {
        EmulatedLayer first(options, 1);
        EmulatedLayer second(options, 99);
        first.step();
        second.step();
        EXPECT_EQ(first.seen.output(), second.seen.output());
        EXPECT_EQ(first.pool(), second.pool());
        EXPECT_EQ(first.scales(), second.scales());
    }
}

TEST(GpuLayer, the_experts_of_a_step_are_those_that_were_drawn_whatever_the_logits) {
    EmulatedLayer layer(tiny_routed(WeightFormat::bf16, 7), 1);
    layer.step();
    const LayerOptions& options = layer.inputs.options;
    ASSERT_GT(options.load().columns, 1U);  // some experts have several tokens
    std::vector<std::int32_t> entries;
    for (const std::size_t first : {std::size_t{0}, options.experts->count}) {
        for (const std::int32_t expert : layer.inputs.draw.touched)
            entries.push_back(layer.inputs.stored[first + static_cast<std::size_t>(expert)]);
    }
    EXPECT_EQ(layer.seen.route_entries, entries);
    const LayerSeen before = layer.seen;
    layer.step();  // another residual gives other logits
    EXPECT_NE(layer.seen.logits, before.logits);
    EXPECT_NE(layer.seen.route_weights, before.route_weights);
    EXPECT_EQ(layer.seen.route_entries, entries);
    EXPECT_EQ(layer.fault(), std::nullopt);
    EXPECT_LE(whole_error(layer), layer_bound(options));
}

// ---- faults that a check must notice

template <class Value>
std::size_t largest(const std::vector<Value>& values, bool bf16 = true) {
    std::size_t at = 0;
    const auto size_of = [&](std::size_t i) {
        if constexpr (std::is_same_v<Value, float>) return std::abs(values[i]);
        return std::abs(floats_of({static_cast<std::uint16_t>(values[i])}, bf16).front());
    };
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (size_of(i) > size_of(at)) at = i;
    }
    return at;
}
void spoil(std::vector<float>& values) {
    values[largest(values)] *= -1;
}
void spoil(std::vector<std::uint16_t>& codes) {
    codes[largest(codes)] ^= 0x8000;
}

/// Changes one of the results of a layer, and expects a fault whose text begins with a name.
class NamedFaults {
  public:
    explicit NamedFaults(EmulatedLayer& layer) : layer_(layer), right_(layer.seen) {}

    template <class Change>
    void operator()(std::string_view name, const Change& change) const {
        layer_.seen = right_;
        change(layer_.seen);
        const auto fault = layer_.fault();
        ASSERT_TRUE(fault) << name;
        EXPECT_TRUE(fault->starts_with(name)) << name << ": " << *fault;
    }

  private:
    EmulatedLayer& layer_;
    LayerSeen right_;
};

TEST(GpuLayer, one_wrong_number_of_any_operation_is_noticed_and_named) {
    EmulatedLayer layer(tiny(WeightFormat::bf16, KvFormat::bf16, {40, 3}), 1);
    layer.step();
    ASSERT_EQ(layer.fault(), std::nullopt);
    const NamedFaults expect_named(layer);
    expect_named("norm:", [](LayerSeen& s) { spoil(s.normed); });
    expect_named("norm:", [](LayerSeen& s) { spoil(s.down_before); });
    expect_named("qkv:", [](LayerSeen& s) { spoil(s.qkv); });
    expect_named("rope:", [](LayerSeen& s) { spoil(s.q); });
    expect_named("rope: key", [](LayerSeen& s) { s.appended.bytes[1] ^= std::byte{0x80}; });
    expect_named("rope: value", [](LayerSeen& s) { s.appended.bytes[257] ^= std::byte{0x80}; });
    expect_named("attention:", [](LayerSeen& s) { spoil(s.attended); });
    expect_named("o:", [](LayerSeen& s) { spoil(s.o); });
    expect_named("the residual", [](LayerSeen& s) { s.residual[5] *= 1.0001F; });
    expect_named("ffn_norm:", [](LayerSeen& s) { spoil(s.ffn_normed); });
    expect_named("gate_up:", [](LayerSeen& s) { spoil(s.gate_up); });
    expect_named("silu:", [](LayerSeen& s) { spoil(s.gated); });
    expect_named("down:", [](LayerSeen& s) { spoil(s.down); });
    expect_named("down:", [](LayerSeen& s) { s.down.front() = kPoison; });
}

TEST(GpuLayer, one_wrong_number_of_routing_or_of_an_expert_is_noticed_and_named) {
    EmulatedLayer layer(tiny_routed(WeightFormat::bf16, 3), 1);
    layer.step();
    ASSERT_EQ(layer.fault(), std::nullopt);
    const NamedFaults expect_named(layer);
    expect_named("gate_up:", [](LayerSeen& s) { spoil(s.gate_up); });
    expect_named("silu:", [](LayerSeen& s) { spoil(s.gated); });
    expect_named("down:", [](LayerSeen& s) { spoil(s.shared_down); });
    expect_named("router:", [](LayerSeen& s) { spoil(s.logits); });
    expect_named("router:", [](LayerSeen& s) { s.logits[5] = kPoison; });
    expect_named("route:", [](LayerSeen& s) { s.route_weights[2] *= 1.001F; });
    expect_named("route:", [](LayerSeen& s) { std::swap(s.route_places[0], s.route_places[1]); });
    expect_named("route:", [](LayerSeen& s) { s.route_tokens.back() = 0; });
    expect_named("route:", [](LayerSeen& s) { std::swap(s.route_entries[0], s.route_entries[1]); });
    expect_named("gather:", [](LayerSeen& s) { s.gathered.back() ^= 1; });
    expect_named("moe_gate_up:", [](LayerSeen& s) { spoil(s.expert_gate_up); });
    expect_named("moe_silu:", [](LayerSeen& s) { spoil(s.expert_gated); });
    expect_named("moe_down:", [](LayerSeen& s) { spoil(s.expert_down); });
    expect_named("mix:", [](LayerSeen& s) { spoil(s.down); });
    expect_named("mix:", [](LayerSeen& s) { s.down.back() = kPoison; });
}

TEST(GpuLayer, one_wrong_number_of_latent_attention_is_noticed_and_named) {
    EmulatedLayer layer(tiny_latent(WeightFormat::fp8, {40, 3}), 1);
    layer.step();
    ASSERT_EQ(layer.fault(), std::nullopt);
    EXPECT_LE(whole_error(layer), layer_bound(layer.inputs.options));
    const NamedFaults expect_named(layer);
    expect_named("q_a:", [](LayerSeen& s) { spoil(s.q_a); });
    expect_named("q_norm:", [](LayerSeen& s) { spoil(s.q_normed); });
    expect_named("q_b:", [](LayerSeen& s) { spoil(s.q_b); });
    expect_named("kv_a:", [](LayerSeen& s) { spoil(s.kv_a); });
    expect_named("rope:", [](LayerSeen& s) { s.nope[7] ^= 0x8000; });
    expect_named("rope:", [](LayerSeen& s) { s.q[kMlaRow - 1] ^= 0x8000; });
    expect_named("rope: latent rows:", [](LayerSeen& s) { s.appended.bytes[1] ^= std::byte{0x80}; });
    expect_named("rope: latent rows:", [](LayerSeen& s) { s.appended.bytes.back() ^= std::byte{0x80}; });
    expect_named("absorb:", [](LayerSeen& s) { spoil(s.absorbed); });
    expect_named("narrow_q:", [](LayerSeen& s) { s.q[kMlaRow + 3] ^= 0x8000; });
    expect_named("attention:", [](LayerSeen& s) { spoil(s.latent); });
    expect_named("narrow_latent:", [](LayerSeen& s) { s.of_heads[600] ^= 0x4000; });
    expect_named("expand:", [](LayerSeen& s) { spoil(s.expanded); });
    expect_named("narrow_values:", [](LayerSeen& s) { s.attended.back() ^= 0x4000; });
    expect_named("o:", [](LayerSeen& s) { spoil(s.o); });
}

TEST(GpuLayer, a_new_latent_row_is_appended_in_its_page_and_nothing_else_is_touched) {
    EmulatedLayer layer(tiny_latent(WeightFormat::bf16, {1, 16, 17, 33}), 1);
    const std::vector<std::byte> before = layer.pool();
    Random random(3);
    for (auto* numbers : {&layer.seen.q_b, &layer.seen.kv_a}) {
        for (float& x : *numbers) x = static_cast<float>(random.normal());
    }
    layer.turn_latent(layer.seen.q_b.data(), layer.seen.kv_a.data(), layer.seen.nope.data(),
                      layer.seen.q.data());
    const NewTokenPlaces places = new_token_places(layer.inputs.options, layer.inputs.table);
    std::vector<std::byte> elsewhere = layer.pool();
    for (std::size_t request = 0; request < 4; ++request) {
        const std::uint64_t at = places.rows[request];
        std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(at), places.row_bytes,
                    elsewhere.begin() + static_cast<std::ptrdiff_t>(at));
        const auto cached = [&](std::size_t d) {
            return static_cast<double>(float_of_bf16(load_u16(layer.pool().data() + at + 2 * d)));
        };
        const float* const kv = layer.seen.kv_a.data() + request * kMlaRow;
        double squares = 0;
        for (std::size_t d = 0; d < kMlaValue; ++d) squares += static_cast<double>(kv[d] * kv[d]);
        for (const std::size_t d : {0, 1, 127, 128, 511}) {
            const auto gain =
                static_cast<double>(float_of_bf16(layer.inputs.gains[index_of(LayerNorm::latent)][d]));
            const double wanted = static_cast<double>(kv[d]) / std::sqrt(squares / kMlaValue + 1e-5) * gain;
            EXPECT_NEAR(cached(d), wanted, std::abs(wanted) * 0x1.01p-8);
        }
        const double position = layer.inputs.options.lengths[request] - 1;
        for (const std::size_t d : {0, 1, 31}) {
            const double speed = std::exp(-std::log(kRopeBase) * 2 * static_cast<double>(d) / kMlaRope);
            const auto turned = [&](const float* from) {
                return std::complex<double>(from[d], from[d + 32]) * std::polar(1.0, position * speed);
            };
            const auto key = turned(kv + kMlaValue);
            EXPECT_NEAR(cached(kMlaValue + d), key.real(), .004 * std::abs(key));
            EXPECT_NEAR(cached(kMlaValue + 32 + d), key.imag(), .004 * std::abs(key));
            const std::size_t head = request * 2 + 1;  // the second of two heads
            const auto query = turned(layer.seen.q_b.data() + head * kMlaQuery + kMlaNope);
            const auto number = [&](std::size_t i) {
                return static_cast<double>(float_of_bf16(layer.seen.q[head * kMlaRow + kMlaValue + i]));
            };
            EXPECT_NEAR(number(d), query.real(), .004 * std::abs(query));
            EXPECT_NEAR(number(32 + d), query.imag(), .004 * std::abs(query));
        }
    }
    EXPECT_EQ(elsewhere, before);
}

TEST(GpuLayer, every_operand_that_is_not_the_layers_is_noticed) {
    for (const LayerOptions& options :
         {tiny(WeightFormat::bf16, KvFormat::bf16, {40, 3}), tiny_routed(WeightFormat::fp8, 3),
          tiny_latent(WeightFormat::bf16, {5, 20})}) {
        EmulatedLayer layer(options, 1);
        layer.step();
        const auto planted = planted_faults(layer.inputs);
        EXPECT_EQ(planted.size(), options.experts ? 7U : options.latent ? 6U : 4U);
        for (const PlantedFault& fault : planted)
            EXPECT_TRUE(layer_fault(fault.inputs, layer.seen, layer.products())) << fault.operand;
        for (const LayerMatrix spoilt : matrices_of(options)) {
            const auto products = [&](LayerMatrix matrix) {
                auto weights = layer.matrices()[index_of(matrix)];
                if (matrix == spoilt) weights.front() = -2 * weights.front() - 1;
                return layer.product_of(matrix, weights);
            };
            const auto fault = layer_fault(layer.inputs, layer.seen, products);
            ASSERT_TRUE(fault) << matrix_of(options, spoilt).op;
            EXPECT_TRUE(fault->starts_with(matrix_of(options, spoilt).op + ":")) << *fault;
        }
    }
}

// ---- single kernels

template <bool kBf16, int kWarpsOfBlock>
void expect_normed(std::int32_t hidden, std::size_t rows) {
    Random random(static_cast<std::uint64_t>(hidden));
    const std::size_t size = rows * static_cast<std::size_t>(hidden);
    std::vector<Floats4> residual(size / 4 + 1);  // with four numbers at the end that must not change
    std::vector<Floats4> delta(size / 4);
    std::vector<Pairs2> gain(static_cast<std::size_t>(hidden) / 4);
    std::vector<Pairs2> out(size / 4 + 1, Pairs2{{~0U, ~0U}});
    for (auto* numbers : {&residual, &delta}) {
        for (Floats4& four : *numbers) {
            for (float& x : four.v) x = static_cast<float>(random.normal());
        }
    }
    for (Pairs2& four : gain) {
        for (std::uint32_t& pair : four.w) {
            pair = bf16_of(static_cast<float>(random.uniform() + .5)) |
                   std::uint32_t{bf16_of(static_cast<float>(random.uniform() + .5))} << 16;
        }
    }
    const std::vector<Floats4> before = residual;
    NormCall call{.residual = residual.front().v,
                  .delta = delta.front().v,
                  .gain = reinterpret_cast<const std::uint16_t*>(gain.data()),
                  .out = reinterpret_cast<std::uint16_t*>(out.data()),
                  .hidden = hidden,
                  .epsilon = .25F};
    run_thread_blocks(static_cast<std::uint32_t>(rows), kWarpsOfBlock * 32, norm_shared_bytes(kWarpsOfBlock),
                      1, [&](EmulatedBlock& block, int lane, int piece) {
                          const Machine machine(block, lane, piece);
                          norm_body<kBf16, kWarpsOfBlock>(machine, call);
                      });
    const auto number_of_gain = [&](std::size_t i) {
        const auto code = static_cast<std::uint16_t>(gain[i / 4].w[i % 4 / 2] >> (16 * (i % 2)) & 0xffff);
        return static_cast<double>(float_of_bf16(code));
    };
    for (std::size_t row = 0; row < rows; ++row) {
        double squares = 0;
        const auto sum_at = [&](std::size_t i) {
            const std::size_t at = row * static_cast<std::size_t>(hidden) + i;
            return before[at / 4].v[at % 4] + delta[at / 4].v[at % 4];
        };
        for (std::size_t i = 0; i < static_cast<std::size_t>(hidden); ++i) {
            const auto x = static_cast<double>(sum_at(i));
            squares += x * x;
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(hidden); ++i) {
            const std::size_t at = row * static_cast<std::size_t>(hidden) + i;
            ASSERT_EQ(residual[at / 4].v[at % 4], sum_at(i));
            const double wanted =
                static_cast<double>(sum_at(i)) / std::sqrt(squares / hidden + .25) * number_of_gain(i);
            const auto code = static_cast<std::uint16_t>(out[at / 4].w[at % 4 / 2] >> (16 * (at % 2)));
            const double got = static_cast<double>(kBf16 ? float_of_bf16(code) : float_of_f16(code));
            ASSERT_NEAR(got, wanted, std::abs(wanted) * (kBf16 ? 0x1.01p-8 : 0x1.01p-11) + 1e-7)
                << hidden << ' ' << i;
        }
    }
    EXPECT_EQ(residual.back().v[0], before.back().v[0]);
    EXPECT_EQ(out.back().w[0], ~0U);
}

TEST(GpuLayer, norms_add_to_the_residual_and_scale_rows_of_every_length) {
    expect_normed<true, 4>(4, 3);
    expect_normed<true, 4>(60, 2);
    expect_normed<false, 4>(512, 2);
    expect_normed<true, 4>(516, 1);
    expect_normed<false, 4>(2048, 1);
    expect_normed<true, 1>(512, 2);
    expect_normed<true, kNormWarps>(4160, 1);
}

/// Returns a number of the new token in the cache, multiplied by its scale.
double cached_number(const EmulatedLayer& layer, std::size_t request, std::uint32_t which, std::uint32_t head,
                     std::uint32_t d) {
    const LayerOptions& options = layer.inputs.options;
    const PageStrides strides = options.attention().pool().strides();
    const std::int32_t token = options.lengths[request] - 1;
    const auto page = static_cast<std::uint64_t>(
        layer.inputs.table
            .pages[static_cast<std::size_t>(layer.inputs.table.first[request] + token / options.page)]);
    const auto slot = static_cast<std::uint32_t>(token % options.page);
    const std::byte* const at = layer.pool().data() + page * strides.page + which * strides.value +
                                head * strides.head + slot * strides.token + d * bytes_of(options.kv);
    const std::uint16_t code = bytes_of(options.kv) == 2 ? load_u16(at) : std::to_integer<std::uint16_t>(*at);
    double scale = 1;
    if (!layer.scales().empty()) {
        scale = static_cast<double>(
            layer.scales()[scale_place(static_cast<std::uint32_t>(options.heads.kv_heads),
                                       static_cast<std::uint32_t>(options.page), page, head, which, slot)]);
    }
    return number_of(options.kv, code) * scale;
}

void expect_turned_and_appended(KvFormat format, const HeadShape& heads) {
    LayerOptions options = tiny(WeightFormat::bf16, format, {1, 16, 17, 31, 1000});
    options.heads = heads;
    EmulatedLayer layer(options, 1);
    const std::vector<std::byte> pool_before = layer.pool();
    const std::size_t all = heads.query_heads + 2 * heads.kv_heads;
    Random random(5);
    for (float& x : layer.seen.qkv) x = static_cast<float>(random.normal());
    layer.rope(layer.seen.qkv.data(), layer.seen.q.data());
    const std::vector<float> q = floats_of(layer.seen.q, format == KvFormat::bf16);
    const std::size_t half = heads.head_dim / 2;
    const double step = format == KvFormat::bf16   ? .004
                        : format == KvFormat::fp16 ? .0005
                        : format == KvFormat::fp8  ? .0625
                                                   : .02;
    for (std::size_t request = 0; request < options.batch(); ++request) {
        for (std::size_t head = 0; head < all; ++head) {
            for (std::size_t d = 0; d < half; ++d) {
                const float* const from = layer.seen.qkv.data() + (request * all + head) * heads.head_dim;
                std::complex<double> point(from[d], from[d + half]);
                const bool is_value = head >= heads.query_heads + heads.kv_heads;
                const double position = options.lengths[request] - 1;
                const double speed = std::exp(-std::log(kRopeBase) * 2 * static_cast<double>(d) /
                                              static_cast<double>(heads.head_dim));
                if (!is_value) point *= std::polar(1.0, position * speed);
                for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
                    const double wanted = which == 0 ? point.real() : point.imag();
                    if (head < heads.query_heads) {
                        const std::size_t at =
                            (request * heads.query_heads + head) * heads.head_dim + d + which * half;
                        ASSERT_NEAR(static_cast<double>(q[at]), wanted,
                                    (format == KvFormat::bf16 ? .004 : .0005) * std::abs(wanted) + 1e-5);
                        continue;
                    }
                    const auto kv_head =
                        static_cast<std::uint32_t>((head - heads.query_heads) % heads.kv_heads);
                    const double got = cached_number(layer, request, is_value ? 1 : 0, kv_head,
                                                     static_cast<std::uint32_t>(d + which * half));
                    const double size = format == KvFormat::int8 ? 1 : std::abs(wanted);
                    ASSERT_NEAR(got, wanted, step * size + 1e-3) << name_of(format) << ' ' << d;
                }
            }
        }
    }
    // Nothing else in the cache was touched.
    const std::size_t token_bytes = 2 * heads.kv_heads * heads.head_dim * bytes_of(format);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < pool_before.size(); ++i) changed += layer.pool()[i] != pool_before[i] ? 1 : 0;
    EXPECT_LE(changed, options.batch() * token_bytes);
}

TEST(GpuLayer, queries_and_keys_are_turned_by_their_position_and_appended_in_every_format) {
    for (const KvFormat format : {KvFormat::bf16, KvFormat::fp16, KvFormat::fp8, KvFormat::int8}) {
        expect_turned_and_appended(format, {3, 1, 128});
        expect_turned_and_appended(format, {4, 2, 64});
    }
}

TEST(GpuLayer, a_key_of_zeros_and_one_beyond_the_format_are_appended_as_numbers) {
    for (const KvFormat format : {KvFormat::fp8, KvFormat::int8}) {
        EmulatedLayer layer(tiny(WeightFormat::bf16, format, {9}), 1);
        std::fill(layer.seen.qkv.begin(), layer.seen.qkv.end(), 0.0F);
        const std::size_t first_value = (4 + 2) * 64;
        layer.seen.qkv[first_value] = -1000;
        layer.rope(layer.seen.qkv.data(), layer.seen.q.data());
        EXPECT_EQ(cached_number(layer, 0, 0, 0, 7), 0);
        EXPECT_NEAR(cached_number(layer, 0, 1, 0, 0), format == KvFormat::fp8 ? -448 : -1000, 1e-3);
        EXPECT_EQ(cached_number(layer, 0, 1, 0, 1), 0);
    }
}

template <bool kBf16>
void expect_gated(std::int32_t width, std::size_t rows) {
    Random random(static_cast<std::uint64_t>(width));
    std::vector<Floats4> gate_up(rows * static_cast<std::size_t>(width) / 2);
    for (Floats4& four : gate_up) {
        for (float& x : four.v) x = static_cast<float>(random.normal() * 4);
    }
    gate_up.front().v[0] = -200;  // e^200 is too large for a float
    gate_up.front().v[1] = 200;
    std::vector<Pairs2> out(rows * static_cast<std::size_t>(width) / 4 + 1, Pairs2{{~0U, ~0U}});
    const GateCall call{
        .gate_up = gate_up.front().v, .out = reinterpret_cast<std::uint16_t*>(out.data()), .width = width};
    run_thread_blocks(
        static_cast<std::uint32_t>(rows) * static_cast<std::uint32_t>(gate_blocks_per_row(width)),
        kGateThreads, 0, 1, [&](EmulatedBlock& block, int lane, int piece) {
            const Machine machine(block, lane, piece);
            gate_body<kBf16>(machine, call);
        });
    const auto input = [&](std::size_t at) { return static_cast<double>(gate_up[at / 4].v[at % 4]); };
    for (std::size_t i = 0; i < rows * static_cast<std::size_t>(width); ++i) {
        const std::size_t row = i / static_cast<std::size_t>(width);
        const std::size_t gate_at =
            row * 2 * static_cast<std::size_t>(width) + i % static_cast<std::size_t>(width);
        const double gate = input(gate_at);
        const double wanted = gate / (1 + std::exp(-gate)) * input(gate_at + static_cast<std::size_t>(width));
        const auto code = static_cast<std::uint16_t>(out[i / 4].w[i % 4 / 2] >> (16 * (i % 2)));
        const double got = static_cast<double>(kBf16 ? float_of_bf16(code) : float_of_f16(code));
        ASSERT_NEAR(got, wanted, std::abs(wanted) * (kBf16 ? 0x1.01p-8 : 0x1.01p-11) + 1e-6) << i;
    }
    EXPECT_EQ(out.back().w[1], ~0U);
}

TEST(GpuLayer, gates_multiply_rows_of_every_width) {
    expect_gated<true>(4, 3);
    expect_gated<false>(512, 2);
    expect_gated<true>(516, 2);
    expect_gated<false>(1536, 1);
}

// ---- bytes and operations

TEST(GpuLayer, bytes_are_those_of_weights_and_of_keys_and_values_that_were_cached_before) {
    const auto suite = layer_suite(RowSet::quick, {});
    ASSERT_FALSE(suite.empty());
    EXPECT_EQ(name_of(suite.front()), "layer/preset:llama3-8b/w:bf16/kv:bf16/batch:1/ctx:4096");
    const Work work = layer_work(suite.front());
    constexpr double kWeights = 6144.0 * 4096 + 4096.0 * 4096 + 28672.0 * 4096 + 4096.0 * 14336;
    constexpr double kTokenBytes = 2 * 8 * 128 * 2;
    EXPECT_EQ(work.read_bytes, kWeights * 2 + 2 * 4096 * 2 + 4095 * kTokenBytes + 256 * 4);
    EXPECT_EQ(work.written_bytes, kTokenBytes);
    EXPECT_EQ(work.flops, 2 * kWeights + 4.0 * 4096 * 32 * 128);
}

TEST(GpuLayer, bytes_of_experts_are_those_of_the_different_ones_that_a_step_touches) {
    const auto full = layer_suite(RowSet::full, {});
    const auto with_name = [&](std::string_view name) {
        const auto found = std::find_if(
            full.begin(), full.end(), [&](const LayerOptions& options) { return name_of(options) == name; });
        EXPECT_NE(found, full.end()) << name;
        return found != full.end() ? *found : full.front();
    };
    constexpr double kTokenBytes = 2 * 4 * 128 * 2;
    constexpr double kAttention = 5120.0 * 2048 + 2048.0 * 4096;
    constexpr double kExpert = 1536.0 * 2048 + 2048.0 * 768;
    const LayerOptions one =
        with_name("layer/preset:qwen3-30b-a3b/w:bf16/kv:bf16/batch:1/ctx:4096/experts:8");
    Work work = layer_work(one);
    EXPECT_EQ(work.read_bytes, (kAttention + 128 * 2048 + 8 * kExpert) * 2 + 2 * 2048 * 2 +
                                   4095 * kTokenBytes + 256 * 4 + 4 * 4 + 2 * 8 * 4);
    EXPECT_EQ(work.flops, 2 * (kAttention + 128 * 2048 + 8 * kExpert) + 4.0 * 4096 * 32 * 128);
    // 128 · (1 - (1 - 8 / 128) ^ 8) = 51.6 experts are touched; each of the 8 tokens goes through 8 of them.
    work = layer_work(with_name("layer/preset:qwen3-30b-a3b/w:bf16/kv:bf16/batch:8/ctx:4096/experts:52"));
    EXPECT_EQ(work.read_bytes, (kAttention + 128 * 2048 + 52 * kExpert) * 2 + 2 * 2048 * 2 +
                                   8 * (4095 * kTokenBytes + 256 * 4 + 4 * 4) + 2 * 52 * 4);
    EXPECT_EQ(work.flops, 8 * (2 * (kAttention + 128 * 2048 + 8 * kExpert) + 4.0 * 4096 * 32 * 128));
    // Attention and router have 16-bit weights. Experts have 4-bit weights with a byte of scale per 32.
    work = layer_work(
        with_name("layer/preset:gpt-oss-120b/w:mxfp4/attn_w:fp16/kv:bf16/batch:1/ctx:4096/experts:4"));
    EXPECT_EQ(work.read_bytes, (5120.0 * 2880 + 2880.0 * 4096 + 128 * 2880) * 2 +
                                   4 * (5760.0 * 2880 + 2880.0 * 2880) * 17 / 32 + 2 * 2880 * 2 +
                                   4095 * 2.0 * 8 * 64 * 2 + 256 * 4 + 4 * 4 + 2 * 4 * 4);
}

TEST(GpuLayer, bytes_of_latent_attention_are_its_matrices_and_one_row_per_cached_token) {
    const auto full = layer_suite(RowSet::full, {});
    const auto found = std::find_if(full.begin(), full.end(), [](const LayerOptions& options) {
        return name_of(options) == "layer/preset:deepseek-v3/w:fp8/kv:bf16/batch:1/ctx:4096/experts:8";
    });
    ASSERT_NE(found, full.end());
    const auto fp8 = [](double rows, double k) { return rows * k + rows * 4; };
    const double heads = 128;
    const double attention = fp8(1536, 7168) + fp8(heads * 192, 1536) + fp8(576, 7168) +
                             heads * (fp8(512, 128) + fp8(128, 512)) + fp8(7168, heads * 128);
    // Eight routed experts, a shared one, and the router.
    const double feed_forward = 9 * (fp8(4096, 7168) + fp8(7168, 2048)) + 256.0 * 7168 * 2;
    const Work work = layer_work(*found);
    EXPECT_EQ(work.read_bytes, attention + feed_forward + (2 * 7168 + 1536 + 512) * 2 + 4095.0 * 576 * 2 +
                                   64 * 4 + 8 * 4 + 2 * 8 * 4);
    EXPECT_EQ(work.written_bytes, 576 * 2);
}

TEST(GpuLayer, a_launch_of_experts_counts_what_a_row_of_their_matrix_counts) {
    const LayerOptions options = tiny_routed(WeightFormat::bf16, 7);
    const ExpertLoad load = options.load();
    ASSERT_EQ(load, expert_load(12, 3, 7));
    const Work down = op_work(options, LayerOp::expert_down);
    const auto entries = static_cast<double>(load.entries);
    const auto columns = static_cast<double>(load.columns);
    EXPECT_EQ(down.read_bytes, entries * (128.0 * 128 * 2 + columns * 128 * 2));
    EXPECT_EQ(down.written_bytes, entries * columns * 128 * 4);
    EXPECT_EQ(down.flops, 2 * 128.0 * 128 * 7 * 3);  // counts pairs, not places
    const Work mix = op_work(options, LayerOp::mix);
    EXPECT_EQ(mix.read_bytes, 7 * 3 * (128 * 4 + 8) + 7 * 128 * 4);
    EXPECT_EQ(mix.written_bytes, 7 * 128 * 4);
}

TEST(GpuLayer, its_operations_move_no_less_than_the_layer) {
    for (const LayerOptions& options : layer_suite(RowSet::full, {})) {
        Work parts;
        for (const LayerOp op : ops_of(options)) {
            const Work one = op_work(options, op);
            EXPECT_GT(one.read_bytes, 0) << name_of(op);
            parts.read_bytes += one.read_bytes;
            parts.written_bytes += one.written_bytes;
            parts.flops += one.flops;
        }
        const Work whole = layer_work(options);
        EXPECT_GT(parts.read_bytes + parts.written_bytes, whole.read_bytes + whole.written_bytes);
        EXPECT_EQ(parts.flops, whole.flops) << name_of(options);
    }
}

TEST(GpuLayer, suites_have_dense_models_names_of_their_own_and_a_gpus_share) {
    std::set<std::string> names;
    std::size_t shared = 0;
    const auto full = layer_suite(RowSet::full, {});
    for (const LayerOptions& options : full) {
        names.insert(name_of(options));
        if (options.tp != 8) continue;
        ++shared;
        if (options.latent) {
            EXPECT_EQ(options.heads.query_heads, 128U / 8);
            EXPECT_EQ(options.experts->width, 2048U / 8);
            continue;
        }
        EXPECT_EQ(options.heads, (HeadShape{8, 1, 128}));
        EXPECT_EQ(options.width, 28672U / 8);
        EXPECT_EQ(options.hidden, 8192U);
        EXPECT_NE(name_of(options).find("/tp:8/w:"), std::string::npos);
    }
    EXPECT_EQ(names.size(), full.size());
    EXPECT_GT(shared, 0U);
    EXPECT_LT(layer_suite(RowSet::quick, {}).size(), layer_suite(RowSet::standard, {}).size());
    ModelShape other = model_shape("deepseek-v3");
    other.mla->kv_rank = 256;  // no kernel supports such rows
    EXPECT_TRUE(layer_suite(RowSet::full, std::vector{other}).empty());
    const std::vector<ModelShape> one{model_shape("qwen3-32b")};
    const auto named = layer_suite(RowSet::quick, one);
    ASSERT_EQ(named.size(), 2U);
    EXPECT_EQ(named.front().preset, "qwen3-32b");
}

}  // namespace
}  // namespace paretoken::microbench::gpu
