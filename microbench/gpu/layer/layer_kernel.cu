// The rows layer/preset:P/w:F/kv:K/batch:B/ctx:C, with /experts:N for routed experts: all operations of a
// decoder layer in one CUDA graph. The layers of a ring run one after the other, as in a step of a model.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/gpu/attention/paged_attention.cuh"
#include "microbench/gpu/device/machine.cuh"
#include "microbench/gpu/layer/experts.h"
#include "microbench/gpu/layer/layer.h"
#include "microbench/gpu/layer/layer_buffers.h"
#include "microbench/gpu/mla/mla_attention.cuh"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/weights/weights_stream.cuh"

namespace paretoken::microbench::gpu {
namespace {

template <bool kBf16>
__global__ void __launch_bounds__(kNormWarps * 32) add_and_norm(const NormCall call) {
    const DeviceMachine machine;
    norm_body<kBf16, kNormWarps>(machine, call);
}

template <KvFormat kFormat, int kDim>
__global__ void __launch_bounds__(kRopeWarps * 32) rope_and_append(const __grid_constant__ RopeCall call) {
    const DeviceMachine machine;
    rope_body<kFormat, kDim>(machine, call);
}

template <bool kBf16>
__global__ void __launch_bounds__(kGateThreads) silu_and_multiply(const GateCall call) {
    const DeviceMachine machine;
    gate_body<kBf16>(machine, call);
}

__global__ void __launch_bounds__(kRouteWarps * 32) route_tokens(const __grid_constant__ RouteCall call) {
    const DeviceMachine machine;
    route_body<kRouteWarps>(machine, call);
}

__global__ void __launch_bounds__(kGatherThreads) gather_rows(const GatherCall call) {
    const DeviceMachine machine;
    gather_body(machine, call);
}

__global__ void __launch_bounds__(kGateThreads) mix_experts(const MixCall call) {
    const DeviceMachine machine;
    mix_body(machine, call);
}

template <bool kBf16>
__global__ void __launch_bounds__(kRopeWarps * 32) rope_latent(const __grid_constant__ LatentCall call) {
    const DeviceMachine machine;
    latent_body<kBf16>(machine, call);
}

template <bool kBf16>
__global__ void __launch_bounds__(kRopeWarps * 32) narrow_rows(const NarrowCall call) {
    const DeviceMachine machine;
    narrow_body<kBf16>(machine, call);
}

using Rope = void (*)(RopeCall);

template <KvFormat kFormat>
Rope rope_of(std::size_t head_dim) {
    return head_dim == 128 ? rope_and_append<kFormat, 128> : rope_and_append<kFormat, 64>;
}
Rope rope_of(const LayerOptions& options) {
    switch (options.kv) {
        case KvFormat::bf16:
            return rope_of<KvFormat::bf16>(options.heads.head_dim);
        case KvFormat::fp16:
            return rope_of<KvFormat::fp16>(options.heads.head_dim);
        case KvFormat::fp8:
            return rope_of<KvFormat::fp8>(options.heads.head_dim);
        case KvFormat::int8:
            return rope_of<KvFormat::int8>(options.heads.head_dim);
    }
    return nullptr;
}

StreamedMatrix streamed(const LayerOptions& options, LayerMatrix matrix) {
    const MatrixShape shape = matrix_of(options, matrix);
    const WeightFormat format = format_of(options, matrix);
    const ExpertLoad launch = launched(options, matrix);
    const bool by_list = is_listed(matrix);
    const auto variant = variant_for(format, Decode::usual, static_cast<int>(launch.columns), by_list);
    if (!variant) {
        throw RuntimeError(fmt::format("no weight kernel for {} at batch {}: use a batch of at most 32{}",
                                       name_of(format), options.batch(),
                                       by_list ? ", and at most 8 tokens per expert or head" : ""));
    }
    return {shape.rows, shape.k, static_cast<int>(launch.columns), *variant, launch.entries};
}

/// The buffers of a step in device memory; all layers of the ring share them.
using LayerResults = LayerTable<DeviceBuffer>;

LayerResults allocated(const LayerOptions& options) {
    LayerResults results;
    for_each_buffer(
        options,
        [](std::size_t elements, auto& buffer) { buffer = std::decay_t<decltype(buffer)>(elements); },
        results);
    return results;
}

/// Overwrites all buffers except `residual` and `down`, with which the layer begins. Indices become 0,
/// because kernels use them to address memory; numbers become NaN.
void poison(const LayerOptions& options, LayerResults& results, Stream stream) {
    for_each_buffer(
        options,
        [&results, stream](std::size_t, auto& buffer) {
            const void* const which = &buffer;
            if (which == &results.residual || which == &results.down) return;
            buffer.fill(std::is_same_v<std::decay_t<decltype(buffer)>, DeviceBuffer<std::int32_t>> ? 0 : 0xff,
                        stream);
        },
        results);
}

/// The device memory of a row, built by `prepare`.
struct LayerMemory {
    std::array<std::optional<WeightStream>, kLayerMatrices> matrices;  ///< only those that the layer has
    std::optional<PagedAttention> attention;                           ///< empty for latent attention
    std::optional<MlaAttention> latent;                                ///< empty for grouped-query attention
    DeviceBuffer<std::uint16_t> gains;                                 ///< [copies] of LayerGains
    std::size_t gains_of_copy = 0;
    DeviceBuffer<float> turns;
    DeviceBuffer<std::int32_t> lengths;
    DeviceBuffer<std::uint32_t> masks;  ///< [copies] of ExpertDraw::masks
    DeviceBuffer<std::int32_t> stored;  ///< [copies] of RouteCall::stored
    LayerResults results;
    LayerBuffers buffers;  ///< addresses of `results`

    const DecodeRing& ring() const { return latent ? latent->ring() : attention->ring(); }
};

/// The machine that `launch_op` uses: enqueues the operations of one copy.
class LayerLauncher {
  public:
    LayerLauncher(const LayerOptions& options, const LayerMemory& memory, std::size_t copy, Stream stream)
        : options_(options), memory_(memory), copy_(copy), stream_(stream) {}

    void norm(LayerNorm which, float* residual, const float* delta, std::uint16_t* out) const {
        NormCall call = norm_call(options_, which);
        call.residual = residual;
        call.delta = delta;
        call.gain = gain(which);
        call.out = out;
        const auto kernel = is_bf16(options_.weights) ? add_and_norm<true> : add_and_norm<false>;
        kernel<<<batch(), kNormWarps * 32, norm_shared_bytes(kNormWarps), stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void multiply(LayerMatrix matrix, const std::uint16_t* x, float* y) const {
        memory_.matrices[index_of(matrix)]->launch(copy_, x, y, stream_);
    }
    void multiply_experts(LayerMatrix matrix, const RoutingTables& tables, const std::uint16_t* x,
                          float* y) const {
        const std::size_t first = matrix == LayerMatrix::expert_down ? options_.load().entries : 0;
        memory_.matrices[index_of(matrix)]->launch_by(tables.of_entries + first, x, y, stream_);
    }
    void route(const float* logits, const RoutingTables& tables) const {
        RouteCall call = route_call(options_);
        call.logits = logits;
        call.masks = memory_.masks.data() +
                     copy_ * options_.batch() * static_cast<std::size_t>(mask_words(call.experts));
        call.stored = memory_.stored.data() + copy_ * 2 * options_.experts->count;
        call.out = tables;
        route_tokens<<<1, kRouteWarps * 32, route_shared_bytes(call.tokens, call.active), stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void gather(const std::uint16_t* rows, const RoutingTables& tables, std::uint16_t* out) const {
        const GatherCall call{.rows = rows,
                              .tokens = tables.tokens,
                              .out = out,
                              .hidden = static_cast<std::int32_t>(options_.hidden)};
        gather_rows<<<static_cast<unsigned>(options_.load().places()), kGatherThreads, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void mix(const float* results, const RoutingTables& tables, const float* shared, float* out) const {
        MixCall call = mix_call(options_);
        call.results = results;
        call.weights = tables.weights;
        call.places = tables.places;
        call.shared = shared;
        call.out = out;
        const unsigned blocks = batch() * static_cast<unsigned>(gate_blocks_per_row(call.hidden));
        mix_experts<<<blocks, kGateThreads, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void rope(const float* qkv, std::uint16_t* q) const {
        RopeCall call = rope_call(options_);
        call.qkv = qkv;
        call.turns = memory_.turns.data();
        call.q = q;
        call.pool = memory_.attention->pool().data();
        call.scales = memory_.attention->scales().data();
        call.pages = memory_.ring().pages().pages(copy_);
        call.first_page = memory_.ring().pages().first();
        call.lengths = memory_.lengths.data();
        const unsigned warps = batch() * static_cast<unsigned>(call.heads());
        rope_of(options_)<<<(warps + kRopeWarps - 1) / kRopeWarps, kRopeWarps * 32, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void attend(const std::uint16_t* q, std::uint16_t* out) const {
        memory_.attention->launch(copy_, q, {.narrow = out, .bf16 = is_bf16(options_.weights)}, stream_);
    }
    void turn_latent(const float* q, const float* kv, std::uint16_t* nope, std::uint16_t* turned) const {
        LatentCall call = latent_call(options_);
        call.q = q;
        call.kv = kv;
        call.turns = memory_.turns.data();
        call.gain = gain(LayerNorm::latent);
        call.nope = nope;
        call.absorbed = turned;
        call.pool = memory_.latent->pool().data();
        call.pages = memory_.ring().pages().pages(copy_);
        call.first_page = memory_.ring().pages().first();
        call.lengths = memory_.lengths.data();
        const unsigned warps = batch() * static_cast<unsigned>(call.heads + 1);
        const auto kernel = is_bf16(options_.weights) ? rope_latent<true> : rope_latent<false>;
        kernel<<<(warps + kRopeWarps - 1) / kRopeWarps, kRopeWarps * 32, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void attend_latent(const std::uint16_t* q, float* out) const {
        memory_.latent->launch(copy_, q, out, stream_);
    }
    void narrow(LayerOp op, const float* from, std::uint16_t* to) const {
        NarrowCall call = narrow_call(options_, op);
        call.from = from;
        call.to = to;
        const auto warps = static_cast<unsigned>(call.outer * call.inner);
        const auto kernel = narrows_to_bf16(options_, op) ? narrow_rows<true> : narrow_rows<false>;
        kernel<<<(warps + kRopeWarps - 1) / kRopeWarps, kRopeWarps * 32, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void gate(LayerMatrix matrix, const float* gate_up, std::uint16_t* out) const {
        GateCall call = gate_call(options_, matrix);
        call.gate_up = gate_up;
        call.out = out;
        const auto kernel = is_bf16(options_.weights) ? silu_and_multiply<true> : silu_and_multiply<false>;
        const auto rows = static_cast<unsigned>(launched(options_, matrix).places());
        const unsigned blocks = rows * static_cast<unsigned>(gate_blocks_per_row(call.width));
        kernel<<<blocks, kGateThreads, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    unsigned batch() const { return static_cast<unsigned>(options_.batch()); }
    const std::uint16_t* gain(LayerNorm which) const {
        std::size_t first = copy_ * memory_.gains_of_copy;
        for (std::size_t i = 0; i < index_of(which); ++i)
            first += width_of(options_, static_cast<LayerNorm>(i));
        return memory_.gains.data() + first;
    }

    const LayerOptions& options_;
    const LayerMemory& memory_;
    std::size_t copy_;
    Stream stream_;
};

class LayerKernel final : public GpuKernel {
  public:
    LayerKernel(LayerOptions options, bool plant_fault)
        : options_(std::move(options)), plant_fault_(plant_fault) {}

    std::uint64_t copy_bytes() const override {
        std::uint64_t bytes = options_.latent ? MlaAttention::copy_bytes(options_.mla())
                                              : PagedAttention::copy_bytes(options_.attention());
        for (std::size_t norm = 0; norm < kLayerNorms; ++norm)
            bytes += width_of(options_, static_cast<LayerNorm>(norm)) * sizeof(std::uint16_t);
        for (const LayerMatrix matrix : matrices_of(options_))
            bytes += streamed(options_, matrix).copy_bytes();
        return bytes;
    }
    Work work() const override { return layer_work(options_); }

    void prepare(std::size_t copies, std::uint64_t seed) override {
        copies_ = copies;
        seed_ = seed;
        memory_.reset();  // frees the memory before more is allocated
        LayerResults results = allocated(options_);
        const LayerBuffers buffers = buffers_of(options_, results);
        std::array<std::optional<WeightStream>, kLayerMatrices> matrices;
        for (const LayerMatrix matrix : matrices_of(options_)) {
            matrices[index_of(matrix)].emplace(streamed(options_, matrix), copies,
                                               derived_seed(seed, matrix_of(options_, matrix).op));
        }
        std::vector<std::uint32_t> masks;
        std::vector<std::int32_t> stored;
        for (std::size_t copy = 0; copy < copies && options_.experts; ++copy) {
            const ExpertDraw draw = draw_of(copy);
            masks.insert(masks.end(), draw.masks.begin(), draw.masks.end());
            const auto of_copy = stored_of(matrices, draw, copy);
            stored.insert(stored.end(), of_copy.begin(), of_copy.end());
        }
        std::vector<std::uint16_t> gains;
        for (std::size_t copy = 0; copy < copies; ++copy) {
            for (const auto& gain : gains_of(options_, gain_seed(copy)))
                gains.insert(gains.end(), gain.begin(), gain.end());
        }
        memory_.emplace(LayerMemory{.matrices = std::move(matrices),
                                    .gains = DeviceBuffer<std::uint16_t>(gains),
                                    .gains_of_copy = gains.size() / copies,
                                    .turns = DeviceBuffer<float>(turns_of(options_)),
                                    .lengths = DeviceBuffer<std::int32_t>(options_.lengths),
                                    .masks = DeviceBuffer<std::uint32_t>(masks),
                                    .stored = DeviceBuffer<std::int32_t>(stored),
                                    .results = std::move(results),
                                    .buffers = buffers});
        if (options_.latent) {
            memory_->latent.emplace(options_.mla(), copies, seed);
        } else {
            memory_->attention.emplace(options_.attention(), copies, seed);
        }
        begin_anew();
    }

    std::optional<std::string> check(Stream stream) override {
        for (const std::size_t copy : {std::size_t{0}, copies_ - 1}) {
            const LayerSeen seen = seen_of(copy, stream);
            const LayerInputs inputs = inputs_of(copy);
            if (plant_fault_) return noticed_fault(inputs, seen, copy, stream);
            if (auto wrong = layer_fault(inputs, seen, products_of(copy, stream))) return wrong;
            const LayerSeen again = seen_of(copy, stream);
            if (again.residual != seen.residual || again.down != seen.down ||
                again.appended.bytes != seen.appended.bytes)
                return "the same inputs gave different bits";
            if (auto wrong = whole_fault(inputs, seen, copy)) return wrong;
        }
        return std::nullopt;
    }

    void launch(std::size_t copy, Stream stream) override {
        for (const LayerOp op : ops_of(options_)) launch_one(op, copy, stream);
    }

    std::vector<Part> parts() override {
        std::vector<Part> parts;
        for (const LayerOp op : ops_of(options_)) {
            parts.push_back({std::string(name_of(op)), op_work(options_, op),
                             [this, op](std::size_t copy, Stream stream) { launch_one(op, copy, stream); }});
        }
        return parts;
    }

  private:
    /// Returns the draw of experts of a copy. Every copy of the ring has its own draw.
    ExpertDraw draw_of(std::size_t copy) const {
        return drawn_experts(*options_.experts, options_.batch(), derived_seed(seed_, "experts", copy));
    }
    /// Returns RouteCall::stored of a copy. The drawn experts, in ascending order, are the matrices of the
    /// copy's lists. Other experts have no matrix.
    std::vector<std::int32_t> stored_of(
        const std::array<std::optional<WeightStream>, kLayerMatrices>& matrices, const ExpertDraw& draw,
        std::size_t copy) const {
        const std::size_t count = options_.experts->count;
        std::vector<std::int32_t> stored(2 * count);
        const LayerMatrix of_lists[] = {LayerMatrix::expert_gate_up, LayerMatrix::expert_down};
        for (std::size_t which = 0; which < 2; ++which) {
            const auto list = matrices[index_of(of_lists[which])]->list(copy);
            for (std::size_t i = 0; i < list.size(); ++i)
                stored[which * count + static_cast<std::size_t>(draw.touched[i])] = list[i];
        }
        return stored;
    }

    std::uint64_t gain_seed(std::size_t copy) const { return derived_seed(seed_, "gains") + copy; }

    void launch_one(LayerOp op, std::size_t copy, Stream stream) const {
        launch_op(op, memory_->buffers, LayerLauncher(options_, *memory_, copy, stream));
    }

    /// Sets `residual` and `down` to the input of the first layer. The caller synchronises.
    void begin_anew() {
        std::vector<float> residual(memory_->results.residual.size());
        std::vector<float> down(residual.size());
        for (std::size_t i = 0; i < residual.size(); ++i) {
            residual[i] = residual_number(seed_, i);
            down[i] = down_number(seed_, i);
        }
        memory_->results.residual.upload(residual);
        memory_->results.down.upload(down);
    }

    LayerInputs inputs_of(std::size_t copy) const {
        LayerInputs inputs{.options = options_,
                           .table = memory_->ring().table(copy),
                           .kv_seed = seed_,
                           .gains = gains_of(options_, gain_seed(copy)),
                           .turns = turns_of(options_)};
        if (options_.experts) {
            inputs.draw = draw_of(copy);
            inputs.stored = stored_of(memory_->matrices, inputs.draw, copy);
        }
        return inputs;
    }

    /// Checks the layer once for every operand, with a fault planted in that operand. Returns nothing if a
    /// planted fault was not noticed, otherwise the text of the last fault.
    std::optional<std::string> noticed_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                             std::size_t copy, Stream stream) {
        const ProductOf product_of = products_of(copy, stream);
        std::array<std::vector<double>, kLayerMatrices> products;
        for (const LayerMatrix matrix : matrices_of(options_))
            products[index_of(matrix)] = product_of(matrix);
        const ProductOf of_right = [&](LayerMatrix matrix) { return products[index_of(matrix)]; };
        if (auto wrong = layer_fault(inputs, seen, of_right)) return wrong;
        std::optional<std::string> fault;
        for (const LayerMatrix matrix : matrices_of(options_)) {
            memory_->matrices[index_of(matrix)]->spoil(copy, stream);
            const std::vector<double> spoilt = product_of(matrix);
            memory_->matrices[index_of(matrix)]->spoil(copy, stream);  // flips the bit back
            fault = layer_fault(inputs, seen, [&](LayerMatrix asked) {
                return asked == matrix ? spoilt : products[index_of(asked)];
            });
            if (!fault) return std::nullopt;
        }
        for (const PlantedFault& planted : planted_faults(inputs)) {
            fault = layer_fault(planted.inputs, seen, of_right);
            if (!fault) return std::nullopt;
        }
        return fault;
    }

    std::byte* cache() const {
        return options_.latent ? reinterpret_cast<std::byte*>(memory_->latent->pool().data())
                               : memory_->attention->pool().data();
    }

    /// Sets all bytes of the new tokens' places in the cache, and of their scales, to 0xff.
    void poison_new_tokens(const NewTokenPlaces& places, Stream stream) {
        for (const std::uint64_t at : places.rows)
            PARETOKEN_CUDA(cudaMemsetAsync(cache() + at, 0xff, places.row_bytes, stream));
        for (const std::uint64_t at : places.scales) {
            PARETOKEN_CUDA(
                cudaMemsetAsync(memory_->attention->scales().data() + at, 0xff, sizeof(float), stream));
        }
    }
    AppendedTokens new_tokens(const NewTokenPlaces& places) const {
        AppendedTokens tokens;
        for (const std::uint64_t at : places.rows) {
            std::vector<std::byte> bytes(places.row_bytes);
            PARETOKEN_CUDA(cudaMemcpy(bytes.data(), cache() + at, bytes.size(), cudaMemcpyDeviceToHost));
            tokens.bytes.insert(tokens.bytes.end(), bytes.begin(), bytes.end());
        }
        for (const std::uint64_t at : places.scales)
            tokens.scales.push_back(memory_->attention->scales().download(at, 1).front());
        return tokens;
    }

    /// Runs one layer from its initial input, with poisoned results, and returns its results.
    LayerSeen seen_of(std::size_t copy, Stream stream) {
        LayerResults& results = memory_->results;
        const NewTokenPlaces places = new_token_places(options_, memory_->ring().table(copy));
        begin_anew();
        poison(options_, results, stream);
        if (memory_->attention) memory_->attention->poison(stream);
        if (memory_->latent) memory_->latent->poison(stream);
        for (auto& matrix : memory_->matrices) {
            if (matrix) matrix->poison(stream);
        }
        poison_new_tokens(places, stream);
        PARETOKEN_CUDA(cudaDeviceSynchronize());
        LayerSeen seen;
        seen.residual_before = results.residual.download();
        seen.down_before = results.down.download();
        launch(copy, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        for_each_buffer(
            options_, [](std::size_t, const auto& from, auto& to) { to = from.download(); }, results, seen);
        seen.appended = new_tokens(places);
        return seen;
    }

    /// Returns the products of the layer's own inputs, which are still in its buffers.
    ProductOf products_of(std::size_t copy, Stream stream) const {
        return [this, copy, stream](LayerMatrix matrix) {
            return memory_->matrices[index_of(matrix)]->reference(copy, input_of(memory_->buffers, matrix),
                                                                  stream);
        };
    }

    /// Compares the layer's output with layer_reference if the layer is small enough for the host.
    std::optional<std::string> whole_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                           std::size_t copy) const {
        constexpr std::size_t kMostWeights = 1 << 24;
        std::size_t weights = 0;
        for (const LayerMatrix matrix : matrices_of(options_)) {
            weights += launched(options_, matrix).entries * matrix_of(options_, matrix).rows *
                       matrix_of(options_, matrix).k;
        }
        if (weights > kMostWeights) return std::nullopt;
        LayerMatrices matrices;
        for (const LayerMatrix matrix : matrices_of(options_))
            matrices[index_of(matrix)] = memory_->matrices[index_of(matrix)]->dequantised_copy(copy);
        const auto wanted =
            layer_reference(inputs, matrices, span_of(seen.residual_before), span_of(seen.down_before));
        const std::vector<float> output = seen.output();
        const double error = relative_l2(span_of(output), span_of(wanted));
        if (error <= layer_bound(options_)) return std::nullopt;
        return fmt::format("the layer's output: relative error {:.2g} > {:.1g}", error,
                           layer_bound(options_));
    }

    LayerOptions options_;
    bool plant_fault_;
    std::size_t copies_ = 0;
    std::uint64_t seed_ = 0;
    std::optional<LayerMemory> memory_;
};

}  // namespace

std::vector<GpuRow> layer_rows(const GpuSettings& settings, const DeviceFacts&) {
    std::vector<GpuRow> rows;
    for (const LayerOptions& options : layer_suite(row_set(settings), span_of(settings.models))) {
        rows.push_back({name_of(options), [options, fault = settings.plant_fault] {
                            return std::make_unique<LayerKernel>(options, fault);
                        }});
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
