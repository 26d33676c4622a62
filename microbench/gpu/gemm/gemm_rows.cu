// The rows gemm_lib/preset:P/op:O/w:F/batch:B, prefill/gemm/engine:lib/preset:P/op:O/w:F/tokens:T and
// ceiling/flops/lib/w:F[/accum:fast]. They measure matrix products of cuBLASLt. The library is used for the
// sizes that arithmetic bounds, which the weight kernels of this program do not cover.
#include <fmt/format.h>

#include <span>

#include "core/random.h"
#include "microbench/gpu/device/device.h"
#include "microbench/gpu/device/fill.cuh"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/device/mma.h"
#include "microbench/gpu/gemm/gemm_plan.cuh"
#include "microbench/gpu/gemm/gemm_suite.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kCheckedTokens = 16;
constexpr std::size_t kPlantedWords = 16;    // words of the checked copy of W that a planted fault changes
constexpr std::size_t kScaleAlignment = 64;  // words

unsigned blocks_for(std::size_t threads) {
    return static_cast<unsigned>(divided_up(threads, kThreads));
}

/// The shape of an operand: `copies` matrices [outer, k].
struct OperandShape {
    GemmForm form;
    Scaling scaling;
    std::size_t outer;
    std::size_t k;
    std::size_t copies;

    std::size_t words() const { return outer * k * bits_of(form) / 32; }
    std::size_t scale_words() const {
        const std::size_t bytes = stored_scales(scaling, outer, k) * scale_bytes(scaling);
        return rounded_up(divided_up(bytes, 4), kScaleAlignment);
    }
    std::uint64_t bytes() const { return 4 * (words() + scale_words()); }
};

__global__ void fill_scales(OperandShape shape, std::uint32_t* words, std::size_t words_of_copy,
                            std::uint64_t seed) {
    const std::size_t rows = scale_rows(shape.scaling, shape.outer);
    const std::size_t columns = scale_columns(shape.scaling, shape.k);
    const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= shape.copies * rows * columns) return;
    std::uint32_t* const copy = words + i / (rows * columns) * words_of_copy;
    const std::size_t place =
        scale_place(shape.scaling, shape.outer, shape.k, i / columns % rows, i % columns);
    const std::uint32_t bits = random_scale(shape.scaling, random_bits_at(seed, i));
    if (scale_bytes(shape.scaling) == 1) {
        reinterpret_cast<std::uint8_t*>(copy)[place] = static_cast<std::uint8_t>(bits);
    } else {
        copy[place] = bits;
    }
}

/// Reads single elements of one copy of an operand, multiplied by their scales, for the reference.
struct ScaledCodes {
    OperandShape shape;
    const std::uint8_t* codes;
    const std::uint8_t* scales;

    __device__ double at(std::size_t index, std::size_t k) const {
        const double element = element_value(shape.form, codes, index * shape.k + k);
        if (shape.scaling == Scaling::none) return element;
        const std::size_t place = scale_place_of(shape.scaling, shape.outer, shape.k, index, k);
        const std::uint32_t bits = scale_bytes(shape.scaling) == 1
                                       ? scales[place]
                                       : reinterpret_cast<const std::uint32_t*>(scales)[place];
        return element * scale_value(shape.scaling, bits);
    }
};

/// A matrix of the form with its scales, in as many copies as the ring needs.
class GemmOperand {
  public:
    GemmOperand() = default;
    GemmOperand(const OperandShape& shape, std::uint64_t seed)
        : shape_(shape), codes_(shape.copies * shape.words()), scales_(shape.copies * shape.scale_words()) {
        fill(codes_, RandomCodes{code_format(shape.form), derived_seed(seed, "codes")});
        if (shape.scaling == Scaling::none) return;
        PARETOKEN_CUDA(cudaMemset(scales_.data(), 0, scales_.bytes()));
        const std::size_t scales =
            shape.copies * scale_rows(shape.scaling, shape.outer) * scale_columns(shape.scaling, shape.k);
        fill_scales<<<blocks_for(scales), kThreads>>>(shape, scales_.data(), shape.scale_words(),
                                                      derived_seed(seed, "scales"));
        PARETOKEN_CUDA_LAUNCHED();
    }

    std::uint32_t* codes(std::size_t copy) const { return codes_.data() + copy * shape_.words(); }
    std::uint32_t* scales(std::size_t copy) const {
        return shape_.scaling == Scaling::none ? nullptr : scales_.data() + copy * shape_.scale_words();
    }
    ScaledCodes numbers(std::size_t copy) const {
        return {shape_, reinterpret_cast<const std::uint8_t*>(codes(copy)),
                reinterpret_cast<const std::uint8_t*>(scales(copy))};
    }

  private:
    /// Returns a weight format whose random codes are legal for the form. Only bf16 and e4m3 restrict the
    /// codes; all other formats allow any bits.
    static WeightFormat code_format(GemmForm form) {
        if (form == GemmForm::bf16) return WeightFormat::bf16;
        return bits_of(form) == 8 && form != GemmForm::int8 ? WeightFormat::fp8 : WeightFormat::int8;
    }

    OperandShape shape_{};
    DeviceBuffer<std::uint32_t> codes_;
    DeviceBuffer<std::uint32_t> scales_;
};

__global__ void turn_signs(std::uint32_t* words, std::size_t count, std::uint32_t signs) {
    if (threadIdx.x < count) words[threadIdx.x] ^= signs;
}

/// Computes y [checked, rows] for every `step`-th token in fp64. Each warp computes one result.
__global__ void reference_gemm(ScaledCodes w, ScaledCodes x, double* y, std::size_t checked,
                               std::size_t step) {
    const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
    if (warp >= w.shape.outer * checked) return;
    const std::size_t row = warp % w.shape.outer;
    const std::size_t token = warp / w.shape.outer * step;
    double sum = 0;
    for (std::size_t i = threadIdx.x % kLanes; i < w.shape.k; i += kLanes)
        sum += w.at(row, i) * x.at(token, i);
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffU, sum, distance);
    if (threadIdx.x % kLanes == 0) y[warp] = sum;
}

__global__ void count_unequal(const std::uint32_t* a, const std::uint32_t* b, std::size_t words,
                              unsigned long long* count) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
         i += stride) {
        if (a[i] != b[i]) atomicAdd(count, 1ULL);
    }
}

class LibraryGemm : public GpuKernel {
  public:
    LibraryGemm(GemmRow row, bool plant_fault) : row_(std::move(row)), plant_fault_(plant_fault) {
        if (row_.lack) throw NotAvailable(*row_.lack);
    }

    std::uint64_t copy_bytes() const override { return row_.streams ? weight_shape(1).bytes() : 0; }
    Work work() const override {
        if (!row_.streams) return {.flops = row_.shape.flops()};
        return {.read_bytes = weight_bytes(row_.form, row_.shape) + token_bytes(row_.form, row_.shape),
                .written_bytes = static_cast<double>(result_words() * 4),
                .flops = row_.shape.flops()};
    }
    void prepare(std::size_t copies, std::uint64_t seed) override {
        const GemmShape& shape = row_.shape;
        w_ = GemmOperand(weight_shape(copies), derived_seed(seed, "weights"));
        x_ = GemmOperand({row_.form, traits_of(row_.form).tokens, shape.tokens, shape.k, 1},
                         derived_seed(seed, "tokens"));
        y_ = DeviceBuffer<std::uint32_t>(result_words());
        operands_.clear();
        for (std::size_t copy = 0; copy < copies; ++copy) {
            operands_.push_back({w_.codes(copy), w_.scales(copy), x_.codes(0), x_.scales(0), y_.data()});
        }
        PARETOKEN_CUDA(cudaDeviceSynchronize());  // the plan times algorithms; no fill may run meanwhile
        plan_ = std::make_unique<MatmulPlan>(row_.form, shape, operands_,
                                             MatmulPlan::Wanted{row_.expected, row_.fast_accumulation});
    }
    std::optional<std::string> check(Stream stream) override {
        // The step is odd, so that the checked tokens lie at all places of a tile.
        const std::size_t step = row_.shape.tokens / kCheckedTokens | 1;
        const std::size_t checked = divided_up(row_.shape.tokens, step);
        const std::size_t copy = operands_.size() - 1;
        const DeviceBuffer<double> expected(checked * row_.shape.rows);
        reference_gemm<<<blocks_for(expected.size() * kLanes), kThreads, 0, stream>>>(
            w_.numbers(copy), x_.numbers(0), expected.data(), checked, step);
        PARETOKEN_CUDA_LAUNCHED();
        if (plant_fault_)
            turn_signs<<<1, kThreads, 0, stream>>>(w_.codes(copy), kPlantedWords,
                                                   traits_of(row_.form).sign_bits);
        y_.fill(0xff, stream);  // NaN in bf16, or -1 in int8's 32-bit results
        launch(copy, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        const std::vector<double> reference = expected.download();
        const std::size_t words = result_words() / row_.shape.tokens;
        for (std::size_t i = 0; i < checked; ++i) {
            const std::span<const double> wanted(reference.data() + i * row_.shape.rows, row_.shape.rows);
            if (auto wrong =
                    fault_of(row_.form, span_of(y_.download(i * step * words, words)), wanted, bound()))
                return fmt::format("token {}: {}", i * step, *wrong);
        }
        return difference_of_a_second_launch(copy, stream);
    }
    void launch(std::size_t copy, Stream stream) override { plan_->enqueue(operands_[copy], stream); }

  private:
    OperandShape weight_shape(std::size_t copies) const {
        return {row_.form, traits_of(row_.form).weights, row_.shape.rows, row_.shape.k, copies};
    }
    std::size_t result_words() const {
        return row_.shape.tokens * row_.shape.rows * result_bytes(row_.form) / 4;
    }

    double bound() const {
        return row_.fast_accumulation ? fast_result_bound(row_.form, row_.shape.k) : result_bound(row_.form);
    }

    /// Overwrites the output with another invalid value before the second launch, so that a word that no
    /// launch writes differs too.
    std::optional<std::string> difference_of_a_second_launch(std::size_t copy, Stream stream) {
        const DeviceBuffer<std::uint32_t> first(y_.size());
        const DeviceBuffer<unsigned long long> unequal(1);
        PARETOKEN_CUDA(
            cudaMemcpyAsync(first.data(), y_.data(), y_.bytes(), cudaMemcpyDeviceToDevice, stream));
        PARETOKEN_CUDA(cudaMemsetAsync(unequal.data(), 0, unequal.bytes(), stream));
        y_.fill(0xa5, stream);
        launch(copy, stream);
        count_unequal<<<1024, kThreads, 0, stream>>>(first.data(), y_.data(), y_.size(), unequal.data());
        PARETOKEN_CUDA_LAUNCHED();
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        const auto count = unequal.download().front();
        if (count == 0) return std::nullopt;
        return fmt::format("two launches differ in {} of {} words, or do not write them", count, y_.size());
    }

    GemmRow row_;
    bool plant_fault_;
    GemmOperand w_;
    GemmOperand x_;
    DeviceBuffer<std::uint32_t> y_;
    std::vector<MatmulOperands> operands_;
    std::unique_ptr<MatmulPlan> plan_;
};

}  // namespace

std::vector<GpuRow> gemm_rows(const GpuSettings& settings, const DeviceFacts& device) {
    std::vector<GemmRow> suite = gemm_suite(settings, device.capability);
    if (!has_cublaslt()) {
        suite.resize(1);
        suite.front().lack =
            "no libcublasLt.so of version 12.9 or later was found: install it where the loader finds it";
    }
    std::vector<GpuRow> rows;
    for (const GemmRow& row : suite) {
        rows.push_back({row.name, [row, fault = settings.plant_fault] {
                            return std::make_unique<LibraryGemm>(row, fault);
                        }});
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
