// layer/preset:P/w:F/kv:K/batch:B/ctx:C: all operations of a dense decoder layer in one CUDA graph, a ring of
// layers one after the other as in a model's step.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/gpu/attention_machine.cuh"
#include "microbench/gpu/layer.h"
#include "microbench/gpu/paged_attention.cuh"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/weights_stream.cuh"

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
        default:
            return rope_of<KvFormat::int8>(options.heads.head_dim);
    }
}

std::size_t index_of(LayerMatrix matrix) {
    return static_cast<std::size_t>(matrix);
}

StreamedMatrix streamed(const LayerOptions& options, LayerMatrix matrix) {
    const MatrixShape shape = matrix_of(options, matrix);
    const auto variant = variant_for(options.weights, Decode::usual, static_cast<int>(options.batch()));
    if (!variant) {
        throw RuntimeError(fmt::format("no weight kernel for {} at batch {}: use at most 32",
                                       name_of(options.weights), options.batch()));
    }
    return {shape.rows, shape.k, static_cast<int>(options.batch()), *variant};
}

/// Results of a layer, shared by all layers of the ring.
struct LayerResults {
    DeviceBuffer<float> residual, qkv, o, gate_up, down;
    DeviceBuffer<std::uint16_t> normed, q, attended, ffn_normed, gated;

    explicit LayerResults(const LayerOptions& options) {
        const auto outputs = [&](LayerMatrix matrix) {
            return DeviceBuffer<float>(options.batch() * matrix_of(options, matrix).rows);
        };
        const auto inputs = [&](LayerMatrix matrix) {
            return DeviceBuffer<std::uint16_t>(options.batch() * matrix_of(options, matrix).k);
        };
        residual = outputs(LayerMatrix::o);
        normed = inputs(LayerMatrix::qkv);
        qkv = outputs(LayerMatrix::qkv);
        q = inputs(LayerMatrix::o);
        attended = inputs(LayerMatrix::o);
        o = outputs(LayerMatrix::o);
        ffn_normed = inputs(LayerMatrix::gate_up);
        gate_up = outputs(LayerMatrix::gate_up);
        gated = inputs(LayerMatrix::down);
        down = outputs(LayerMatrix::down);
    }
    LayerBuffers buffers() const {
        return {.residual = residual.data(),
                .normed = normed.data(),
                .qkv = qkv.data(),
                .q = q.data(),
                .attended = attended.data(),
                .o = o.data(),
                .ffn_normed = ffn_normed.data(),
                .gate_up = gate_up.data(),
                .gated = gated.data(),
                .down = down.data()};
    }
    /// All but what a layer begins with.
    void poison(Stream stream) {
        for (DeviceBuffer<float>* buffer : {&qkv, &o, &gate_up}) buffer->fill(0xff, stream);
        for (DeviceBuffer<std::uint16_t>* buffer : {&normed, &q, &attended, &ffn_normed, &gated})
            buffer->fill(0xff, stream);
    }
};

/// What `prepare` builds.
struct LayerMemory {
    std::vector<WeightStream> matrices;  ///< by LayerMatrix
    PagedAttention attention;
    DeviceBuffer<std::uint16_t> gains;  ///< [copies, 2, hidden]
    DeviceBuffer<float> turns;
    DeviceBuffer<std::int32_t> lengths;
    LayerResults results;
};

/// Enqueues operations of one copy, as launch_op asks for them.
class LayerLauncher {
  public:
    LayerLauncher(const LayerOptions& options, const LayerMemory& memory, std::size_t copy, Stream stream)
        : options_(options), memory_(memory), copy_(copy), stream_(stream) {}

    void norm(LayerNorm which, float* residual, const float* delta, std::uint16_t* out) const {
        NormCall call = norm_call(options_);
        call.residual = residual;
        call.delta = delta;
        call.gain = memory_.gains.data() + (copy_ * 2 + static_cast<std::size_t>(which)) * options_.hidden;
        call.out = out;
        const auto kernel = is_bf16(options_.weights) ? add_and_norm<true> : add_and_norm<false>;
        kernel<<<batch(), kNormWarps * 32, norm_shared_bytes(kNormWarps), stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void multiply(LayerMatrix matrix, const std::uint16_t* x, float* y) const {
        memory_.matrices[index_of(matrix)].launch(copy_, x, y, stream_);
    }
    void rope(const float* qkv, std::uint16_t* q) const {
        RopeCall call = rope_call(options_);
        call.qkv = qkv;
        call.turns = memory_.turns.data();
        call.q = q;
        call.pool = memory_.attention.pool().data();
        call.scales = memory_.attention.scales().data();
        call.pages = memory_.attention.ring().pages().pages(copy_);
        call.first_page = memory_.attention.ring().pages().first();
        call.lengths = memory_.lengths.data();
        const unsigned warps = batch() * static_cast<unsigned>(call.heads());
        rope_of(options_)<<<(warps + kRopeWarps - 1) / kRopeWarps, kRopeWarps * 32, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }
    void attend(const std::uint16_t* q, std::uint16_t* out) const {
        memory_.attention.launch(copy_, q, {.narrow = out, .bf16 = is_bf16(options_.weights)}, stream_);
    }
    void gate(const float* gate_up, std::uint16_t* out) const {
        GateCall call = gate_call(options_);
        call.gate_up = gate_up;
        call.out = out;
        const auto kernel = is_bf16(options_.weights) ? silu_and_multiply<true> : silu_and_multiply<false>;
        const unsigned blocks = batch() * static_cast<unsigned>(gate_blocks_per_row(call.width));
        kernel<<<blocks, kGateThreads, 0, stream_>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    unsigned batch() const { return static_cast<unsigned>(options_.batch()); }

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
        std::uint64_t bytes =
            PagedAttention::copy_bytes(options_.attention()) + 2 * options_.hidden * sizeof(std::uint16_t);
        for (const LayerMatrix matrix : kLayerMatrices) bytes += streamed(options_, matrix).copy_bytes();
        return bytes;
    }
    Work work() const override { return layer_work(options_); }

    void prepare(std::size_t copies, std::uint64_t seed) override {
        copies_ = copies;
        seed_ = seed;
        memory_.reset();  // before more is asked for
        std::vector<WeightStream> matrices;
        for (const LayerMatrix matrix : kLayerMatrices) {
            matrices.emplace_back(streamed(options_, matrix), copies,
                                  derived_seed(seed, matrix_of(options_, matrix).op));
        }
        std::vector<std::uint16_t> gains;
        for (std::size_t copy = 0; copy < copies; ++copy) {
            for (const auto& gain : gains_of(options_, gain_seed(copy)))
                gains.insert(gains.end(), gain.begin(), gain.end());
        }
        memory_.emplace(LayerMemory{.matrices = std::move(matrices),
                                    .attention = PagedAttention(options_.attention(), copies, seed),
                                    .gains = DeviceBuffer<std::uint16_t>(gains),
                                    .turns = DeviceBuffer<float>(turns_of(options_)),
                                    .lengths = DeviceBuffer<std::int32_t>(options_.lengths),
                                    .results = LayerResults(options_)});
        begin_anew();
    }

    std::optional<std::string> check(Stream stream) override {
        for (const std::size_t copy : {std::size_t{0}, copies_ - 1}) {
            const LayerSeen seen = seen_of(copy, stream);
            if (plant_fault_) memory_->matrices[index_of(LayerMatrix::down)].spoil(copy, stream);
            const LayerInputs inputs = inputs_of(copy);
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
        for (const LayerOp op : kLayerOps) launch_one(op, copy, stream);
    }

    std::vector<Part> parts() override {
        std::vector<Part> parts;
        for (const LayerOp op : kLayerOps) {
            parts.push_back({std::string(name_of(op)), op_work(options_, op),
                             [this, op](std::size_t copy, Stream stream) { launch_one(op, copy, stream); }});
        }
        return parts;
    }

  private:
    std::uint64_t gain_seed(std::size_t copy) const { return derived_seed(seed_, "gains") + copy; }

    void launch_one(LayerOp op, std::size_t copy, Stream stream) const {
        launch_op(op, memory_->results.buffers(), LayerLauncher(options_, *memory_, copy, stream));
    }

    /// What comes into the first layer; the caller synchronises.
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
        return {.options = options_,
                .table = memory_->attention.ring().table(copy),
                .kv_seed = seed_,
                .gains = gains_of(options_, gain_seed(copy)),
                .turns = turns_of(options_)};
    }

    /// Caches' places of the new tokens, spoilt or read.
    void poison_new_tokens(const NewTokenPlaces& places, Stream stream) {
        for (const std::uint64_t at : places.rows) {
            PARETOKEN_CUDA(
                cudaMemsetAsync(memory_->attention.pool().data() + at, 0xff, places.row_bytes, stream));
        }
        for (const std::uint64_t at : places.scales) {
            PARETOKEN_CUDA(
                cudaMemsetAsync(memory_->attention.scales().data() + at, 0xff, sizeof(float), stream));
        }
    }
    AppendedTokens new_tokens(const NewTokenPlaces& places) const {
        AppendedTokens tokens;
        for (const std::uint64_t at : places.rows) {
            const auto bytes = memory_->attention.pool().download(at, places.row_bytes);
            tokens.bytes.insert(tokens.bytes.end(), bytes.begin(), bytes.end());
        }
        for (const std::uint64_t at : places.scales)
            tokens.scales.push_back(memory_->attention.scales().download(at, 1).front());
        return tokens;
    }

    /// One layer from the same beginning, over poisoned results.
    LayerSeen seen_of(std::size_t copy, Stream stream) {
        LayerResults& results = memory_->results;
        const NewTokenPlaces places = new_token_places(options_, memory_->attention.ring().table(copy));
        begin_anew();
        results.poison(stream);
        memory_->attention.poison(stream);
        poison_new_tokens(places, stream);
        PARETOKEN_CUDA(cudaDeviceSynchronize());
        LayerSeen seen;
        seen.residual_before = results.residual.download();
        seen.down_before = results.down.download();
        launch(copy, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        seen.residual = results.residual.download();
        seen.normed = results.normed.download();
        seen.qkv = results.qkv.download();
        seen.q = results.q.download();
        seen.attended = results.attended.download();
        seen.o = results.o.download();
        seen.ffn_normed = results.ffn_normed.download();
        seen.gate_up = results.gate_up.download();
        seen.gated = results.gated.download();
        seen.down = results.down.download();
        seen.appended = new_tokens(places);
        return seen;
    }

    /// From the layer's own inputs of the products, which are still there.
    ProductOf products_of(std::size_t copy, Stream stream) const {
        return [this, copy, stream](LayerMatrix matrix) {
            const LayerBuffers buffers = memory_->results.buffers();
            const std::uint16_t* const inputs[] = {buffers.normed, buffers.attended, buffers.ffn_normed,
                                                   buffers.gated};
            return memory_->matrices[index_of(matrix)].reference(copy, inputs[index_of(matrix)], stream);
        };
    }

    /// The layer as a whole, where a host can compute it.
    std::optional<std::string> whole_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                           std::size_t copy) const {
        constexpr std::size_t kMostWeights = 1 << 24;
        std::size_t weights = 0;
        for (const LayerMatrix matrix : kLayerMatrices)
            weights += matrix_of(options_, matrix).rows * matrix_of(options_, matrix).k;
        if (weights > kMostWeights) return std::nullopt;
        std::array<std::vector<double>, 4> matrices;
        for (const LayerMatrix matrix : kLayerMatrices)
            matrices[index_of(matrix)] = memory_->matrices[index_of(matrix)].dequantised_copy(copy);
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
