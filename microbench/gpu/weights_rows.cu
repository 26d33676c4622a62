// weights/preset:P/op:O/w:F/batch:B, for routed experts with /experts:N: skinny matrix products of a decode
// step, checked against fp64 on the device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cards/model.h"
#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/gpu/device.h"
#include "microbench/gpu/fill.cuh"
#include "microbench/gpu/memory.cuh"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/tensor_parallel.h"
#include "microbench/gpu/weights.cuh"
#include "microbench/gpu/weights_variants.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::size_t kCheckedSlice = 64;  // outputs that it is taken over: a fault in one row must not drown

/// Relative L2 error that an fp32 output may have. The matrix units cut each partial sum off instead of
/// rounding it: along an unbroken chain of k the errors add up. Formats with group scales begin a new sum per
/// group.
double bound_for(const WeightsShape& shape) {
    constexpr double kBound = 2e-5;
    constexpr double kLongChain = 2048;
    if (group_of(shape.format) != 0) return kBound;
    return kBound * std::max(1.0, static_cast<double>(shape.k) / kLongChain);
}

struct ReferenceCall {
    WeightsShape shape;
    const std::int32_t* experts = nullptr;  ///< none: one matrix
    std::size_t entries = 1;
    const std::uint32_t* words = nullptr;
    const std::uint32_t* scales = nullptr;
    const std::uint16_t* x = nullptr;
    double* y = nullptr;  ///< [entries, batch, rows]
    int batch = 0;
};

__device__ double scale_of(const WeightsShape& shape, const std::uint32_t* scales, std::size_t row,
                           std::size_t k) {
    if (bits_of(shape.format) == 16) return 1;
    if (bits_of(shape.format) == 8) return static_cast<double>(__uint_as_float(scales[row]));
    const ScalePlace place = scale_place_of(shape, row, k);
    const std::uint32_t word = scales[place.word];
    if (shape.format == WeightFormat::int4) return value_of_fp16(word >> (16 * place.field) & 0xffff);
    return value_of_e8m0(word >> (8 * place.field) & 0xff);
}

/// One warp per output, element by element, in fp64: nothing of the fast kernels but where a weight lies.
__global__ void reference_kernel(const ReferenceCall call) {
    const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
    if (warp >= call.entries * call.shape.rows * static_cast<std::size_t>(call.batch)) return;
    const std::size_t row = warp % call.shape.rows;
    const std::size_t column = warp / call.shape.rows;  // counted on over entries
    const std::size_t expert =
        call.experts != nullptr ? call.experts[column / static_cast<std::size_t>(call.batch)] : 0;
    const std::uint32_t* const words = call.words + expert * call.shape.words();
    const std::uint32_t* const scales = call.scales + expert * call.shape.scale_words();
    double sum = 0;
    for (std::size_t k = threadIdx.x % kLanes; k < call.shape.k; k += kLanes) {
        const Place place = place_of(call.shape, row, k);
        const double weight = value_of(call.shape.format,
                                       code_at(call.shape.format, words[place.word], place.pair, place.half));
        const std::uint16_t x = call.x[column * call.shape.k + k];
        sum += weight * scale_of(call.shape, scales, row, k) *
               (is_bf16(call.shape.format) ? value_of_bf16(x) : value_of_fp16(x));
    }
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffU, sum, distance);
    if (threadIdx.x % kLanes == 0) call.y[warp] = sum;
}

__global__ void flip_bit(std::uint32_t* word, std::uint32_t bit) {
    *word ^= bit;
}

/// A bit of the first weight of the first row that changes its value whatever it is.
std::uint32_t weighty_bit(WeightFormat format) {
    switch (format) {
        case WeightFormat::bf16:
        case WeightFormat::fp16:
            return placed_code(format, 0x4000, 0, 0);
        case WeightFormat::fp8:
            return placed_code(format, 0x40, 0, 0);
        case WeightFormat::int8:
            return placed_code(format, 0x80, 0, 0);
        default:
            return placed_code(format, 4, 0, 0);
    }
}

double worst_relative_l2(std::span<const float> output, std::span<const double> reference) {
    double worst = 0;
    for (std::size_t at = 0; at < output.size(); at += kCheckedSlice) {
        const std::size_t size = std::min(kCheckedSlice, output.size() - at);
        worst = std::max(worst, relative_l2(output.subspan(at, size), reference.subspan(at, size)));
    }
    return worst;
}

struct WeightsRow {
    std::size_t rows;
    std::size_t k;
    int batch;
    WeightsVariant variant;
    bool plant_fault;
    std::size_t entries = 1;  ///< matrices of a launch; more than one only by a list of experts
};

class WeightsGpuKernel : public GpuKernel {
  public:
    explicit WeightsGpuKernel(const WeightsRow& row)
        : row_(row), shape_{row.variant.format, row.rows, row.k, row.variant.parts} {}

    std::uint64_t copy_bytes() const override {
        return row_.entries * (shape_.words() + shape_.scale_words()) * 4;
    }

    Work work() const override {
        const auto entries = static_cast<double>(row_.entries);
        const auto rows = static_cast<double>(row_.rows);
        const auto k = static_cast<double>(row_.k);
        return {.read_bytes = entries * (format_bytes(shape_.format, rows, k) + k * row_.batch * 2),
                .written_bytes = entries * rows * row_.batch * 4,
                .flops = entries * 2 * rows * k * row_.batch};
    }

    void prepare(std::size_t copies, std::uint64_t seed) override {
        copies_ = copies;
        const std::size_t columns = row_.entries * static_cast<std::size_t>(row_.batch);
        words_ = DeviceBuffer<std::uint32_t>(copies * row_.entries * shape_.words());
        scales_ = DeviceBuffer<std::uint32_t>(copies * row_.entries * shape_.scale_words());
        x_ = DeviceBuffer<std::uint16_t>(row_.k * columns);
        y_ = DeviceBuffer<float>(row_.rows * columns);
        lists_ = DeviceBuffer<std::int32_t>(random_order(copies * row_.entries, seed));
        fill(words_, RandomCodes{shape_.format, seed});
        fill(scales_, RandomScales{shape_.format, seed + 1});
        fill(x_, RandomActivations{is_bf16(shape_.format), seed + 2});
        configure();
    }

    std::optional<std::string> check(Stream stream) override {
        for (const std::size_t copy : {std::size_t{0}, copies_ - 1}) {
            const std::vector<double> reference = reference_of(copy, stream);
            if (row_.plant_fault) {
                flip_bit<<<1, 1, 0, stream>>>(words_.data() + first_matrix(copy) * shape_.words(),
                                              weighty_bit(shape_.format));
            }
            const std::vector<float> first = output_of(copy, stream);
            const double error = worst_relative_l2(span_of(first), span_of(reference));
            const double bound = bound_for(shape_);
            if (!(error <= bound)) return fmt::format("relative error {:.2g} > {:.0g}", error, bound);
            const std::vector<float> second = output_of(copy, stream);
            if (!std::equal(first.begin(), first.end(), second.begin())) return "two launches differ";
        }
        return std::nullopt;
    }

    void launch(std::size_t copy, Stream stream) override {
        WeightsCall call = call_;
        const std::size_t first = row_.variant.experts ? 0 : copy;
        call.weights = reinterpret_cast<const Words*>(words_.data() + first * shape_.words());
        call.scales = scales_.data() + first * shape_.scale_words();
        call.experts.of_entries = lists_.data() + copy * row_.entries;
        row_.variant
            .kernel<<<blocks_, kWeightThreads, static_cast<std::size_t>(row_.variant.shared_bytes), stream>>>(
                call);
        PARETOKEN_CUDA_LAUNCHED();
    }

  private:
    /// Matrices of a list lie anywhere among those of all copies, so that no launch finds its own in a cache.
    static std::vector<std::int32_t> random_order(std::size_t count, std::uint64_t seed) {
        std::vector<std::int32_t> order(count);
        for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::int32_t>(i);
        Random random(seed);
        for (std::size_t left = count; left > 1; --left)
            std::swap(order[left - 1], order[random.below(left)]);
        return order;
    }
    std::size_t first_matrix(std::size_t copy) const {
        return row_.variant.experts ? static_cast<std::size_t>(lists_.download()[copy * row_.entries]) : copy;
    }

    /// As many thread blocks as run at once, but no more than there are units.
    void configure() {
        const auto kernel = reinterpret_cast<const void*>(row_.variant.kernel);
        PARETOKEN_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            row_.variant.shared_bytes));
        int per_multiprocessor = 0;
        PARETOKEN_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &per_multiprocessor, kernel, kWeightThreads,
            static_cast<std::size_t>(row_.variant.shared_bytes)));
        int multiprocessors = 0;
        PARETOKEN_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
        const std::size_t resident = static_cast<std::size_t>(std::max(1, per_multiprocessor)) *
                                     static_cast<std::size_t>(multiprocessors);
        blocks_ = static_cast<unsigned>(std::min(resident, row_.entries * shape_.units()));
        partials_ =
            DeviceBuffer<float>(2 * blocks_ * static_cast<std::size_t>(row_.batch) * shape_.unit_rows());
        arrivals_ = DeviceBuffer<std::int32_t>(row_.entries * shape_.row_blocks());
        arrivals_.fill(0);
        call_ = {.x = x_.data(),
                 .y = y_.data(),
                 .partials = partials_.data(),
                 .arrivals = arrivals_.data(),
                 .rows = static_cast<int>(row_.rows),
                 .batch = row_.batch,
                 .steps = static_cast<int>(shape_.steps()),
                 .division = {.thread_blocks = EvenShares::of(
                                  static_cast<std::uint32_t>(row_.entries * shape_.units()), blocks_),
                              .steps = static_cast<std::uint32_t>(shape_.steps())},
                 .experts = {.entries = static_cast<int>(row_.entries),
                             .row_blocks = static_cast<int>(shape_.row_blocks()),
                             .words = static_cast<std::uint32_t>(shape_.words() / 4),
                             .scales = static_cast<std::uint32_t>(shape_.scale_words())}};
    }

    std::vector<double> reference_of(std::size_t copy, Stream stream) {
        const DeviceBuffer<double> y(y_.size());
        const std::size_t first = row_.variant.experts ? 0 : copy;
        const ReferenceCall call{
            .shape = shape_,
            .experts = row_.variant.experts ? lists_.data() + copy * row_.entries : nullptr,
            .entries = row_.entries,
            .words = words_.data() + first * shape_.words(),
            .scales = scales_.data() + first * shape_.scale_words(),
            .x = x_.data(),
            .y = y.data(),
            .batch = row_.batch};
        constexpr unsigned kThreads = 256;
        reference_kernel<<<static_cast<unsigned>((y.size() * kLanes + kThreads - 1) / kThreads), kThreads, 0,
                           stream>>>(call);
        PARETOKEN_CUDA_LAUNCHED();
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        return y.download();
    }

    /// Poisoned with NaN before.
    std::vector<float> output_of(std::size_t copy, Stream stream) {
        y_.fill(0xff, stream);
        launch(copy, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        return y_.download();
    }

    WeightsRow row_;
    WeightsShape shape_;
    std::size_t copies_ = 0;
    unsigned blocks_ = 0;
    DeviceBuffer<std::uint32_t> words_;
    DeviceBuffer<std::uint32_t> scales_;
    DeviceBuffer<std::uint16_t> x_;
    DeviceBuffer<float> y_;
    DeviceBuffer<float> partials_;
    DeviceBuffer<std::int32_t> arrivals_;
    DeviceBuffer<std::int32_t> lists_;  // [copies, entries]: which of all matrices
    WeightsCall call_;
};

/// The one with the fewest columns that hold the batch; nothing when none does.
std::optional<WeightsVariant> variant_for(WeightFormat format, Decode decode, int batch,
                                          bool experts = false) {
    std::optional<WeightsVariant> best;
    for (const auto variants :
         {weights_variants_16_bits(), weights_variants_8_bits(), weights_variants_4_bits()}) {
        for (const WeightsVariant& variant : variants) {
            if (variant.format != format || variant.decode != decode || variant.experts != experts) continue;
            if (variant.most_batch < batch) continue;
            if (!best || variant.most_batch < best->most_batch) best = variant;
        }
    }
    return best;
}

class WeightRows {
  public:
    explicit WeightRows(const GpuSettings& settings) : settings_(settings) {}

    void add(const std::string& where, const MatrixShape& matrix, WeightFormat format, int batch,
             Decode decode = Decode::usual) {
        const auto variant = variant_for(format, decode, batch);
        if (!variant || !fits(format, matrix.k)) return;
        const WeightsRow row{matrix.rows, matrix.k, batch, *variant, settings_.plant_fault};
        rows.push_back({fmt::format("weights/{}/op:{}/w:{}{}/batch:{}", where, matrix.op, name_of(format),
                                    decode == Decode::shifted ? "/decode:shift" : "", batch),
                        [row] { return std::make_unique<WeightsGpuKernel>(row); }});
    }
    /// `tokens` of a batch draw their experts evenly: as many different ones as expected, each with its share
    /// of them.
    void add_experts(const std::string& where, const MatrixShape& matrix, const cards::MixtureOfExperts& moe,
                     WeightFormat format, int tokens) {
        const auto experts = static_cast<double>(moe.experts);
        const auto drawn = static_cast<double>(moe.active) * tokens;
        const double distinct =
            std::round(cards::distinct_experts(experts, static_cast<double>(moe.active), tokens));
        const auto columns = static_cast<int>(std::ceil(drawn / distinct));
        const auto variant = variant_for(format, Decode::usual, columns, true);
        if (!variant || !fits(format, matrix.k)) return;
        const WeightsRow row{matrix.rows,
                             matrix.k,
                             columns,
                             *variant,
                             settings_.plant_fault,
                             static_cast<std::size_t>(distinct)};
        rows.push_back({fmt::format("weights/{}/op:{}/w:{}/batch:{}/experts:{}", where, matrix.op,
                                    name_of(format), tokens, row.entries),
                        [row] { return std::make_unique<WeightsGpuKernel>(row); }});
    }
    std::vector<GpuRow> rows;

  private:
    const GpuSettings& settings_;
};

/// Small shapes that reach every branch: ragged rows, one unit, fewer units than warps, shares that begin and
/// end inside blocks of rows, warps that have blocks of rows for themselves.
struct SmallShape {
    std::size_t rows;
    std::size_t k;
    std::array<int, 4> batches;  // 0: none
};
constexpr SmallShape kSmallShapes[] = {{1, 128, {3}},
                                       {17, 128, {1, 8, 13, 32}},
                                       {200, 384, {1, 7, 16, 32}},
                                       {1000, 2048, {1, 8, 15, 31}},
                                       {40000, 128, {2}}};

void add_small_shapes(WeightRows& rows) {
    for (const SmallShape& shape : kSmallShapes) {
        const MatrixShape matrix{fmt::format("{}x{}", shape.rows, shape.k), shape.rows, shape.k};
        for (const int batch : shape.batches) {
            if (batch == 0) continue;
            for (const WeightFormat format : kWeightFormats) rows.add("verify", matrix, format, batch);
            if (batch <= 8) rows.add("verify", matrix, WeightFormat::fp8, batch, Decode::shifted);
            for (const WeightFormat format : kWeightFormats) {
                if (shape.rows == 200)
                    rows.add_experts("verify", matrix, {.experts = 16, .active = 2}, format, batch);
            }
        }
    }
}

void add_model(WeightRows& rows, const ModelShape& model, const GpuSettings& settings,
               std::span<const WeightFormat> formats) {
    const std::vector<std::size_t> divisions =
        settings.full ? std::vector<std::size_t>{1, 2, 4, 8} : std::vector<std::size_t>{1};
    const std::vector<int> batches = settings.quick  ? std::vector<int>{1, 8}
                                     : settings.full ? std::vector<int>{1, 2, 4, 8, 16, 32}
                                                     : std::vector<int>{1, 8, 32};
    for (const std::size_t tp : divisions) {
        const std::string where =
            tp == 1 ? fmt::format("preset:{}", model.name) : fmt::format("preset:{}/tp:{}", model.name, tp);
        for (const MatrixShape& matrix : shares_of(model, tp)) {
            for (const WeightFormat format : formats) {
                const bool routed = model.moe && matrix.op.starts_with("moe_");
                for (const int batch : batches) {
                    if (routed) {
                        rows.add_experts(where, matrix, *model.moe, format, batch);
                    } else {
                        rows.add(where, matrix, format, batch);
                    }
                }
                if (routed) continue;
                if (format == WeightFormat::fp8) rows.add(where, matrix, format, 1, Decode::shifted);
            }
        }
    }
}

}  // namespace

std::vector<GpuRow> weight_rows(const GpuSettings& settings, const DeviceFacts&) {
    WeightRows rows(settings);
    if (settings.verify_only) {
        add_small_shapes(rows);
        return std::move(rows.rows);
    }
    constexpr WeightFormat kQuick[] = {WeightFormat::bf16, WeightFormat::fp8, WeightFormat::int4};
    if (!settings.models.empty()) {
        for (const ModelShape& model : settings.models)
            add_model(rows, model, settings,
                      settings.quick ? std::span<const WeightFormat>(kQuick) : kWeightFormats);
        return std::move(rows.rows);
    }
    if (settings.quick) {
        ModelShape model = model_shape("llama3-8b");
        std::erase_if(model.layer,
                      [](const MatrixShape& matrix) { return matrix.op != "gate_up" && matrix.op != "o"; });
        model.lm_head = {};
        add_model(rows, model, settings, kQuick);
        return std::move(rows.rows);
    }
    add_model(rows, model_shape("llama3-8b"), settings, kWeightFormats);
    if (!settings.full) {
        constexpr WeightFormat kLarge[] = {WeightFormat::fp8, WeightFormat::int4};
        add_model(rows, model_shape("llama3-70b"), settings, kLarge);
        ModelShape routed = model_shape("gpt-oss-120b");
        std::erase_if(routed.layer, [](const MatrixShape& matrix) { return !matrix.op.starts_with("moe_"); });
        routed.lm_head = {};
        constexpr WeightFormat kShipped[] = {WeightFormat::mxfp4};
        add_model(rows, routed, settings, kShipped);
        return std::move(rows.rows);
    }
    for (const ModelShape& model : model_shapes()) {
        if (model.name != "llama3-8b" && model.name != "smollm2-135m")
            add_model(rows, model, settings, kWeightFormats);
    }
    return std::move(rows.rows);
}

}  // namespace paretoken::microbench::gpu
