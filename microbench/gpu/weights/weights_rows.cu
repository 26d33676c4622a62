// The rows weights/preset:P/op:O/w:F/batch:B, with /experts:N for routed experts: the matrix products of a
// decode step, which have few columns. They are checked against fp64 on the device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cards/model.h"
#include "microbench/gpu/device/device.h"
#include "microbench/gpu/device/fill.cuh"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/weights/expert_load.h"
#include "microbench/gpu/weights/tensor_parallel.h"
#include "microbench/gpu/weights/weights_reference.h"
#include "microbench/gpu/weights/weights_stream.cuh"

namespace paretoken::microbench::gpu {
namespace {

class WeightsGpuKernel : public GpuKernel {
  public:
    WeightsGpuKernel(const StreamedMatrix& matrix, bool plant_fault)
        : matrix_(matrix), plant_fault_(plant_fault) {}

    std::uint64_t copy_bytes() const override { return matrix_.copy_bytes(); }
    Work work() const override { return work_of(matrix_); }

    void prepare(std::size_t copies, std::uint64_t seed) override {
        copies_ = copies;
        stream_.reset();  // frees the memory before more is allocated
        stream_.emplace(matrix_, copies, seed);
        x_ = DeviceBuffer<std::uint16_t>(matrix_.k * matrix_.columns());
        y_ = DeviceBuffer<float>(matrix_.rows * matrix_.columns());
        fill(x_, RandomActivations{is_bf16(matrix_.variant.format), seed + 2});
    }

    std::optional<std::string> check(Stream stream) override {
        for (const std::size_t copy : {std::size_t{0}, copies_ - 1}) {
            const std::vector<double> reference = stream_->reference(copy, x_.data(), stream);
            if (plant_fault_) stream_->spoil(copy, stream);
            const std::vector<float> first = output_of(copy, stream);
            const double error = worst_relative_l2(span_of(first), span_of(reference));
            const double bound = product_bound(matrix_.shape());
            if (!(error <= bound)) return fmt::format("relative error {:.2g} > {:.0g}", error, bound);
            const std::vector<float> second = output_of(copy, stream);
            if (!std::equal(first.begin(), first.end(), second.begin()))
                return "two launches with the same inputs gave different outputs";
        }
        return std::nullopt;
    }

    void launch(std::size_t copy, Stream stream) override {
        stream_->launch(copy, x_.data(), y_.data(), stream);
    }

  private:
    /// Returns the output of a launch. Outputs and partial sums are set to NaN before it.
    std::vector<float> output_of(std::size_t copy, Stream stream) {
        y_.fill(0xff, stream);
        stream_->poison(stream);
        launch(copy, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        return y_.download();
    }

    StreamedMatrix matrix_;
    bool plant_fault_;
    std::size_t copies_ = 0;
    std::optional<WeightStream> stream_;
    DeviceBuffer<std::uint16_t> x_;
    DeviceBuffer<float> y_;
};

class WeightRows {
  public:
    explicit WeightRows(const GpuSettings& settings) : settings_(settings) {}

    void add(const std::string& where, const MatrixShape& matrix, WeightFormat format, int batch,
             Decode decode = Decode::usual) {
        const auto variant = variant_for(format, decode, batch);
        if (!variant || !fits(format, matrix.k)) return;
        const StreamedMatrix streamed{matrix.rows, matrix.k, batch, *variant};
        rows.push_back({fmt::format("weights/{}/op:{}/w:{}{}/batch:{}", where, matrix.op, name_of(format),
                                    decode == Decode::shifted ? "/decode:shift" : "", batch),
                        making(streamed)});
    }
    /// Adds the row of routed experts for a batch of `tokens` tokens, which choose their experts evenly. The
    /// number of different experts is the expected one, and each expert has an equal share of the tokens.
    void add_experts(const std::string& where, const MatrixShape& matrix, const cards::MixtureOfExperts& moe,
                     WeightFormat format, int tokens) {
        const ExpertLoad load = expert_load(moe.experts, moe.active, static_cast<std::size_t>(tokens));
        const auto columns = static_cast<int>(load.columns);
        const auto variant = variant_for(format, Decode::usual, columns, true);
        if (!variant || !fits(format, matrix.k)) return;
        const StreamedMatrix streamed{matrix.rows, matrix.k, columns, *variant, load.entries};
        rows.push_back({fmt::format("weights/{}/op:{}/w:{}/batch:{}/experts:{}", where, matrix.op,
                                    name_of(format), tokens, streamed.entries),
                        making(streamed)});
    }
    std::vector<GpuRow> rows;

  private:
    std::function<std::unique_ptr<GpuKernel>()> making(const StreamedMatrix& matrix) const {
        return [matrix, fault = settings_.plant_fault] {
            return std::make_unique<WeightsGpuKernel>(matrix, fault);
        };
    }

    const GpuSettings& settings_;
};

/// Small shapes that reach every branch of the kernel: rows that do not fill the last unit, a single unit,
/// fewer units than warps, shares that begin and end within blocks of rows, and warps that have whole blocks
/// of rows.
struct SmallShape {
    std::size_t rows;
    std::size_t k;
    std::array<int, 4> batches;  // unused elements are 0
};
constexpr SmallShape kSmallShapes[] = {{1, 128, {3}},
                                       {17, 128, {1, 8, 13, 32}},
                                       {200, 384, {1, 7, 16, 32}},
                                       {1016, 2048, {1, 8, 15, 31}},
                                       {65528, 128, {1}}};  // stacks of eight blocks of rows

void add_small_shapes(WeightRows& rows, std::size_t multiprocessors) {
    std::vector<SmallShape> shapes(std::begin(kSmallShapes), std::end(kSmallShapes));
    shapes.push_back({32 * multiprocessors - 8, 256, {1, 32}});  // a thread block for each block of rows
    for (const SmallShape& shape : shapes) {
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

std::vector<GpuRow> weight_rows(const GpuSettings& settings, const DeviceFacts& device) {
    WeightRows rows(settings);
    if (settings.verify_only) {
        add_small_shapes(rows, static_cast<std::size_t>(device.multiprocessors));
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
