// gemm_lib/preset:P/op:O/w:F/batch:B and ceiling/flops/lib: cuBLASLt, loaded when it is there, with the
// fastest of its first eight heuristics. For batches that are bound by arithmetic, where hand-written kernels
// end.
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>

#include "microbench/collect.h"
#include "microbench/gpu/device.h"
#include "microbench/gpu/fill.cuh"
#include "microbench/gpu/memory.cuh"
#include "microbench/gpu/rows.h"
#include "microbench/gpu/tensor_parallel.h"
#include "microbench/gpu/weights_layout.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr double kBound = 4e-3;  // bf16 outputs
constexpr std::size_t kWorkspace = 64ULL << 20;
constexpr int kHeuristics = 8;
constexpr int kCheckedColumns = 16;

struct CublasLt {
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtMatmul) matmul = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristics = nullptr;
    decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
    decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
};

void* opened_library() {
    for (const std::string& name :
         {fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), std::string("libcublasLt.so")}) {
        if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
    return nullptr;
}

/// Nothing when this machine does not have it. Never closed: it lives as long as the program.
std::optional<CublasLt> loaded_cublaslt() {
    void* const library = opened_library();
    if (library == nullptr) return std::nullopt;
    CublasLt lt;
    bool complete = true;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
        complete = complete && function != nullptr;
    };
    find(lt.create, "cublasLtCreate");
    find(lt.matmul, "cublasLtMatmul");
    find(lt.heuristics, "cublasLtMatmulAlgoGetHeuristic");
    find(lt.desc_create, "cublasLtMatmulDescCreate");
    find(lt.desc_set, "cublasLtMatmulDescSetAttribute");
    find(lt.desc_destroy, "cublasLtMatmulDescDestroy");
    find(lt.layout_create, "cublasLtMatrixLayoutCreate");
    find(lt.layout_destroy, "cublasLtMatrixLayoutDestroy");
    find(lt.preference_create, "cublasLtMatmulPreferenceCreate");
    find(lt.preference_set, "cublasLtMatmulPreferenceSetAttribute");
    find(lt.preference_destroy, "cublasLtMatmulPreferenceDestroy");
    if (!complete) return std::nullopt;
    return lt;
}

const std::optional<CublasLt>& cublaslt() {
    static const std::optional<CublasLt> lt = loaded_cublaslt();
    return lt;
}

void require_lt(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw RuntimeError(fmt::format("cuBLASLt: {} failed with status {}", what, static_cast<int>(status)));
}

struct GemmRow {
    std::size_t rows;
    std::size_t k;
    std::size_t batch;
    WeightFormat format;  ///< bf16 or fp8
    bool streams;         ///< false: one copy, for the arithmetic alone
    bool plant_fault;
};

__global__ void reference_gemm(WeightFormat format, const std::uint8_t* w, const std::uint8_t* x, double* y,
                               std::size_t rows, std::size_t k, std::size_t columns,
                               std::size_t column_step) {
    const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
    if (warp >= rows * columns) return;
    const std::size_t row = warp % rows;
    const std::size_t column = warp / rows * column_step;
    const auto at = [&](const std::uint8_t* from, std::size_t i) {
        if (format == WeightFormat::fp8) return value_of_e4m3(from[i]);
        return value_of_bf16(reinterpret_cast<const std::uint16_t*>(from)[i]);
    };
    double sum = 0;
    for (std::size_t i = threadIdx.x % kLanes; i < k; i += kLanes)
        sum += at(w, row * k + i) * at(x, column * k + i);
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffU, sum, distance);
    if (threadIdx.x % kLanes == 0) y[warp] = sum;
}

/// y[batch, rows] = x[batch, k] · W[rows, k]ᵀ, bf16 out; both inputs have the weights' type.
class LibraryGemm : public GpuKernel {
  public:
    explicit LibraryGemm(const GemmRow& row) : row_(row) {}
    ~LibraryGemm() override {
        const CublasLt& lt = *cublaslt();
        for (cublasLtMatrixLayout_t layout : {w_layout_, x_layout_, y_layout_}) {
            if (layout != nullptr) lt.layout_destroy(layout);
        }
        if (desc_ != nullptr) lt.desc_destroy(desc_);
    }
    LibraryGemm(const LibraryGemm&) = delete;
    LibraryGemm& operator=(const LibraryGemm&) = delete;

    std::uint64_t copy_bytes() const override { return row_.streams ? weight_bytes() : 0; }
    Work work() const override {
        const double flops = 2.0 * static_cast<double>(row_.rows) * static_cast<double>(row_.k) *
                             static_cast<double>(row_.batch);
        if (!row_.streams) return {.flops = flops};
        return {.read_bytes = static_cast<double>(weight_bytes() + row_.batch * row_.k * element_bytes()),
                .written_bytes = static_cast<double>(row_.rows * row_.batch * 2),
                .flops = flops};
    }
    void prepare(std::size_t copies, std::uint64_t seed) override {
        copies_ = copies;
        w_ = DeviceBuffer<std::uint32_t>(copies * weight_bytes() / 4);
        x_ = DeviceBuffer<std::uint32_t>(row_.batch * row_.k * element_bytes() / 4);
        y_ = DeviceBuffer<std::uint16_t>(row_.rows * row_.batch);
        workspace_ = DeviceBuffer<std::uint8_t>(kWorkspace);
        fill(w_, RandomCodes{row_.format, seed});
        fill(x_, RandomCodes{row_.format, seed + 1});
        PARETOKEN_CUDA(cudaDeviceSynchronize());  // candidates are timed: not beside a fill
        describe();
        choose_algorithm();
    }
    std::optional<std::string> check(Stream stream) override {
        const std::size_t step = std::max<std::size_t>(1, row_.batch / kCheckedColumns);
        const std::size_t columns = (row_.batch + step - 1) / step;
        const std::size_t copy = copies_ - 1;
        const DeviceBuffer<double> expected(columns * row_.rows);
        constexpr unsigned kThreads = 256;
        reference_gemm<<<static_cast<unsigned>((expected.size() * kLanes + kThreads - 1) / kThreads),
                         kThreads, 0, stream>>>(row_.format,
                                                reinterpret_cast<const std::uint8_t*>(w_of(copy)),
                                                reinterpret_cast<const std::uint8_t*>(x_.data()),
                                                expected.data(), row_.rows, row_.k, columns, step);
        PARETOKEN_CUDA_LAUNCHED();
        const std::vector<std::uint16_t> first = output_of(copy, stream);
        const std::vector<double> reference = expected.download();
        std::vector<float> output;
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t r = 0; r < row_.rows; ++r) {
                const std::uint32_t bits = std::uint32_t{first[c * step * row_.rows + r]} << 16;
                output.push_back(std::bit_cast<float>(bits));
            }
        }
        if (row_.plant_fault) output.front() = std::numeric_limits<float>::quiet_NaN();
        const double error = relative_l2(span_of(output), span_of(reference));
        if (!(error <= kBound)) return fmt::format("relative error {:.2g} > {:.0g}", error, kBound);
        if (first != output_of(copy, stream)) return "two launches differ";
        return std::nullopt;
    }
    void launch(std::size_t copy, Stream stream) override {
        require_lt(run(copy, algorithm_, stream), "cublasLtMatmul");
    }

  private:
    std::size_t element_bytes() const { return row_.format == WeightFormat::fp8 ? 1 : 2; }
    std::uint64_t weight_bytes() const { return row_.rows * row_.k * element_bytes(); }
    const std::uint32_t* w_of(std::size_t copy) const { return w_.data() + copy * weight_bytes() / 4; }

    cublasStatus_t run(std::size_t copy, const cublasLtMatmulAlgo_t& algorithm, Stream stream) {
        const float one = 1;
        const float zero = 0;
        return cublaslt()->matmul(handle(), desc_, &one, w_of(copy), w_layout_, x_.data(), x_layout_, &zero,
                                  y_.data(), y_layout_, y_.data(), y_layout_, &algorithm, workspace_.data(),
                                  workspace_.size(), stream);
    }
    static cublasLtHandle_t handle() {
        static const cublasLtHandle_t handle = [] {
            cublasLtHandle_t created = nullptr;
            require_lt(cublaslt()->create(&created), "cublasLtCreate");
            return created;
        }();
        return handle;
    }
    void describe() {
        const CublasLt& lt = *cublaslt();
        const cudaDataType_t type = row_.format == WeightFormat::fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
        require_lt(lt.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
        const cublasOperation_t transposed = CUBLAS_OP_T;
        require_lt(lt.desc_set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
                   "setting TRANSA");
        // Column-major as the library sees it: W is [k, rows], x [k, batch], y [rows, batch].
        require_lt(lt.layout_create(&w_layout_, type, row_.k, row_.rows, static_cast<std::int64_t>(row_.k)),
                   "the layout of W");
        require_lt(lt.layout_create(&x_layout_, type, row_.k, row_.batch, static_cast<std::int64_t>(row_.k)),
                   "the layout of x");
        require_lt(lt.layout_create(&y_layout_, CUDA_R_16BF, row_.rows, row_.batch,
                                    static_cast<std::int64_t>(row_.rows)),
                   "the layout of y");
    }
    void choose_algorithm() {
        const CublasLt& lt = *cublaslt();
        cublasLtMatmulPreference_t preference = nullptr;
        require_lt(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
        const std::size_t workspace = workspace_.size();
        lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
        std::array<cublasLtMatmulHeuristicResult_t, kHeuristics> found{};
        int count = 0;
        const cublasStatus_t status = lt.heuristics(handle(), desc_, w_layout_, x_layout_, y_layout_,
                                                    y_layout_, preference, kHeuristics, found.data(), &count);
        lt.preference_destroy(preference);
        require_lt(status, "cublasLtMatmulAlgoGetHeuristic");
        if (count == 0) throw RuntimeError("cuBLASLt has no algorithm for this shape on this GPU");
        const OwnedStream stream = new_stream();
        const OwnedEvent begin = new_event();
        const OwnedEvent end = new_event();
        float best = std::numeric_limits<float>::infinity();
        for (int i = 0; i < count; ++i) {
            if (run(0, found[static_cast<std::size_t>(i)].algo, stream.get()) != CUBLAS_STATUS_SUCCESS)
                continue;
            PARETOKEN_CUDA(cudaEventRecord(begin.get(), stream.get()));
            for (std::size_t n = 0; n < 8; ++n)
                run(n % copies_, found[static_cast<std::size_t>(i)].algo, stream.get());
            PARETOKEN_CUDA(cudaEventRecord(end.get(), stream.get()));
            PARETOKEN_CUDA(cudaEventSynchronize(end.get()));
            float milliseconds = 0;
            PARETOKEN_CUDA(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
            if (milliseconds >= best) continue;
            best = milliseconds;
            algorithm_ = found[static_cast<std::size_t>(i)].algo;
        }
        if (best == std::numeric_limits<float>::infinity())
            throw RuntimeError("cuBLASLt refused all of its own heuristics");
    }
    std::vector<std::uint16_t> output_of(std::size_t copy, Stream stream) {
        y_.fill(0xff, stream);  // NaN
        launch(copy, stream);
        PARETOKEN_CUDA(cudaStreamSynchronize(stream));
        return y_.download();
    }

    GemmRow row_;
    std::size_t copies_ = 1;
    DeviceBuffer<std::uint32_t> w_;
    DeviceBuffer<std::uint32_t> x_;
    DeviceBuffer<std::uint16_t> y_;
    DeviceBuffer<std::uint8_t> workspace_;
    cublasLtMatmulDesc_t desc_ = nullptr;
    cublasLtMatrixLayout_t w_layout_ = nullptr;
    cublasLtMatrixLayout_t x_layout_ = nullptr;
    cublasLtMatrixLayout_t y_layout_ = nullptr;
    cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace

std::vector<GpuRow> gemm_rows(const GpuSettings& settings, const DeviceFacts& device) {
    std::vector<GpuRow> rows;
    if (!cublaslt()) return rows;
    std::vector<WeightFormat> formats{WeightFormat::bf16};
    if (device.capability >= 89) formats.push_back(WeightFormat::fp8);
    const auto add = [&](std::string name, const GemmRow& row) {
        rows.push_back({std::move(name), [row] { return std::make_unique<LibraryGemm>(row); }});
    };
    if (settings.verify_only) {
        for (const WeightFormat format : formats) {
            add(fmt::format("gemm_lib/verify/op:512x1024/w:{}/batch:64", name_of(format)),
                {512, 1024, 64, format, true, settings.plant_fault});
        }
        return rows;
    }
    for (const WeightFormat format : formats) {
        add(fmt::format("ceiling/flops/lib/w:{}", name_of(format)),
            {8192, 8192, 8192, format, false, settings.plant_fault});
    }
    const std::vector<ModelShape> models =
        settings.models.empty() ? std::vector{model_shape("llama3-8b")} : settings.models;
    const std::vector<std::size_t> batches = settings.quick ? std::vector<std::size_t>{64}
                                             : settings.full
                                                 ? std::vector<std::size_t>{1, 16, 64, 128, 256, 512}
                                                 : std::vector<std::size_t>{64, 256};
    for (const ModelShape& model : models) {
        for (const MatrixShape& matrix : shares_of(model, 1)) {
            if (settings.quick && matrix.op != "gate_up") continue;
            if (matrix.rows % 16 != 0 || matrix.k % 16 != 0) continue;
            for (const WeightFormat format : formats) {
                for (const std::size_t batch : batches) {
                    if (format == WeightFormat::fp8 && batch % 16 != 0) continue;
                    add(fmt::format("gemm_lib/preset:{}/op:{}/w:{}/batch:{}", model.name, matrix.op,
                                    name_of(format), batch),
                        {matrix.rows, matrix.k, batch, format, true, settings.plant_fault});
                }
            }
        }
    }
    return rows;
}

}  // namespace paretoken::microbench::gpu
