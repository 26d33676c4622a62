#include "microbench/gpu/gemm/gemm_plan.cuh"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "microbench/rows.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::size_t kWorkspace = 64ULL << 20;
constexpr std::size_t kLeastVersion = 120900;  // 12.9, whose enums of types and scale modes are those of 13
constexpr int kSuggestions = 8;
constexpr std::size_t kTimedLaunches = 8;

struct CublasLt {
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtGetVersion) version = nullptr;
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

/// Opens the cublasLt of the CUDA version that this program was built with, or another one that is new
/// enough.
void* opened_library() {
    for (const std::string& name : {fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR),
                                    std::string("libcublasLt.so.12"), std::string("libcublasLt.so")}) {
        void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) continue;
        const auto version =
            reinterpret_cast<decltype(&cublasLtGetVersion)>(dlsym(library, "cublasLtGetVersion"));
        if (version != nullptr && version() >= kLeastVersion) return library;
        dlclose(library);
    }
    return nullptr;
}

/// Returns the functions of the library, or nothing if this machine does not have it. The library stays open
/// until the program ends.
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
    find(lt.version, "cublasLtGetVersion");
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

cublasLtHandle_t handle() {
    static const cublasLtHandle_t handle = [] {
        cublasLtHandle_t created = nullptr;
        require_lt(cublaslt()->create(&created), "cublasLtCreate");
        return created;
    }();
    return handle;
}

cudaDataType_t element_type(GemmForm form) {
    switch (form) {
        case GemmForm::bf16:
            return CUDA_R_16BF;
        case GemmForm::int8:
            return CUDA_R_8I;
        case GemmForm::nvfp4:
            return CUDA_R_4F_E2M1;
        case GemmForm::fp8:
        case GemmForm::fp8_rows:
        case GemmForm::fp8_blocks:
        case GemmForm::mxfp8:
            break;
    }
    return CUDA_R_8F_E4M3;
}

cublasLtMatmulMatrixScale_t mode_of(Scaling scaling) {
    switch (scaling) {
        case Scaling::row:
            return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
        case Scaling::groups_of_128:
            return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
        case Scaling::blocks_of_128:
            return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
        case Scaling::groups_of_32:
            return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
        case Scaling::groups_of_16:
            return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
        case Scaling::none:
        case Scaling::operand:
            break;
    }
    return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

template <class Value>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const Value& value,
         const char* what) {
    require_lt(cublaslt()->desc_set(desc, attribute, &value, sizeof value), what);
}

OwnedMatmulDesc new_desc(GemmForm form, bool fast_accumulation) {
    const bool whole = form == GemmForm::int8;
    cublasLtMatmulDesc_t created = nullptr;
    require_lt(cublaslt()->desc_create(&created, whole ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                                       whole ? CUDA_R_32I : CUDA_R_32F),
               "cublasLtMatmulDescCreate");
    OwnedMatmulDesc desc(created);
    set(created, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T, "setting TRANSA");
    const std::int8_t fast = fast_accumulation ? 1 : 0;
    if (fast_accumulation) set(created, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast, "setting FAST_ACCUM");
    if (traits_of(form).weights != Scaling::none) {
        set(created, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode_of(traits_of(form).weights),
            "setting W's scaling");
        set(created, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode_of(traits_of(form).tokens),
            "setting x's scaling");
    }
    return desc;
}

/// Describes a matrix without gaps that the library regards as column-major.
OwnedMatrixLayout new_layout(cudaDataType_t type, std::size_t rows, std::size_t columns, const char* what) {
    cublasLtMatrixLayout_t created = nullptr;
    require_lt(cublaslt()->layout_create(&created, type, rows, columns, static_cast<std::int64_t>(rows)),
               what);
    return OwnedMatrixLayout(created);
}

}  // namespace

bool has_cublaslt() {
    return cublaslt().has_value();
}

void DestroyMatmulDesc::operator()(cublasLtMatmulDesc_t desc) const {
    cublaslt()->desc_destroy(desc);
}

void DestroyMatrixLayout::operator()(cublasLtMatrixLayout_t layout) const {
    cublaslt()->layout_destroy(layout);
}

MatmulPlan::MatmulPlan(GemmForm form, const GemmShape& shape, const std::vector<MatmulOperands>& copies,
                       const Wanted& wanted)
    : form_(form),
      shape_(shape),
      wanted_(wanted),
      desc_(new_desc(form, wanted.fast_accumulation)),
      w_layout_(new_layout(element_type(form), shape.k, shape.rows, "the layout of W")),
      x_layout_(new_layout(element_type(form), shape.k, shape.tokens, "the layout of x")),
      y_layout_(new_layout(form == GemmForm::int8 ? CUDA_R_32I : CUDA_R_16BF, shape.rows, shape.tokens,
                           "the layout of y")),
      workspace_(kWorkspace) {
    point_at_scales(copies.front());
    const OwnedStream stream = new_stream();
    const OwnedEvent begin = new_event();
    const OwnedEvent end = new_event();
    float best = std::numeric_limits<float>::infinity();
    cublasStatus_t status = CUBLAS_STATUS_NOT_SUPPORTED;
    for (const Algorithm& suggestion : suggestions()) {
        const cublasStatus_t ran = run(copies.front(), suggestion, stream.get());
        if (ran != CUBLAS_STATUS_SUCCESS) {
            status = ran;
            continue;
        }
        PARETOKEN_CUDA(cudaEventRecord(begin.get(), stream.get()));
        for (std::size_t n = 0; n < kTimedLaunches; ++n)
            require_lt(run(copies[n % copies.size()], suggestion, stream.get()), "cublasLtMatmul");
        PARETOKEN_CUDA(cudaEventRecord(end.get(), stream.get()));
        PARETOKEN_CUDA(cudaEventSynchronize(end.get()));
        float milliseconds = 0;
        PARETOKEN_CUDA(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
        if (milliseconds >= best) continue;
        best = milliseconds;
        algorithm_ = suggestion;
    }
    if (best == std::numeric_limits<float>::infinity()) refuse(status);
}

void MatmulPlan::enqueue(const MatmulOperands& operands, Stream stream) {
    require_lt(run(operands, algorithm_, stream), "cublasLtMatmul");
}

std::vector<MatmulPlan::Algorithm> MatmulPlan::suggestions() {
    const CublasLt& lt = *cublaslt();
    cublasLtMatmulPreference_t preference = nullptr;
    require_lt(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t workspace = workspace_.size();
    cublasStatus_t status =
        lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    std::array<cublasLtMatmulHeuristicResult_t, kSuggestions> found{};
    int count = 0;
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = lt.heuristics(handle(), desc_.get(), w_layout_.get(), x_layout_.get(), y_layout_.get(),
                               y_layout_.get(), preference, kSuggestions, found.data(), &count);
    }
    lt.preference_destroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0) refuse(status);
    std::vector<Algorithm> algorithms;
    for (int i = 0; i < count; ++i) algorithms.push_back({found[static_cast<std::size_t>(i)].algo});
    return algorithms;
}

cublasStatus_t MatmulPlan::run(const MatmulOperands& operands, const Algorithm& algorithm, Stream stream) {
    const float one = 1;
    const float zero = 0;
    const std::int32_t whole_one = 1;
    const std::int32_t whole_zero = 0;
    const bool whole = form_ == GemmForm::int8;
    point_at_scales(operands);
    return cublaslt()->matmul(handle(), desc_.get(), whole ? static_cast<const void*>(&whole_one) : &one,
                              operands.w, w_layout_.get(), operands.x, x_layout_.get(),
                              whole ? static_cast<const void*>(&whole_zero) : &zero, operands.y,
                              y_layout_.get(), operands.y, y_layout_.get(), &algorithm.value,
                              workspace_.data(), workspace_.size(), stream);
}

void MatmulPlan::point_at_scales(const MatmulOperands& operands) {
    if (operands.w_scales == nullptr) return;
    set(desc_.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.w_scales, "setting W's scales");
    set(desc_.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.x_scales, "setting x's scales");
}

void MatmulPlan::refuse(cublasStatus_t status) const {
    const std::size_t version = cublaslt()->version();
    const std::string sentence =
        fmt::format("cuBLASLt {}.{}.{} has no kernel for w:{}, {} x {} by {} tokens, on this GPU (status {})",
                    version / 10000, version / 100 % 100, version % 100, name_of(form_), shape_.rows,
                    shape_.k, shape_.tokens, static_cast<int>(status));
    if (wanted_.expected) throw RuntimeError(sentence);
    throw NotAvailable(sentence);
}

}  // namespace paretoken::microbench::gpu
