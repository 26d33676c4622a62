#pragma once
// One matrix product of cuBLASLt. A plan describes the product to the library, times the algorithms that the
// library suggests, and enqueues the fastest one. The library is loaded when it is first needed, and may be
// absent.
#include <cublasLt.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/gemm/gemm_forms.h"

namespace paretoken::microbench::gpu {

/// Returns whether this machine has a cublasLt that knows all forms, which is version 12.9 or later.
bool has_cublaslt();

struct DestroyMatmulDesc {
    void operator()(cublasLtMatmulDesc_t desc) const;
};
struct DestroyMatrixLayout {
    void operator()(cublasLtMatrixLayout_t layout) const;
};
using OwnedMatmulDesc = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, DestroyMatmulDesc>;
using OwnedMatrixLayout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, DestroyMatrixLayout>;

/// The operands of one product, in device memory and 16-byte aligned. The pointers to scales are null if the
/// form has no scales.
struct MatmulOperands {
    const void* w = nullptr;         ///< [rows, k]
    const void* w_scales = nullptr;  ///< in the layout of gemm_forms.h
    const void* x = nullptr;         ///< [tokens, k]
    const void* x_scales = nullptr;
    void* y = nullptr;  ///< [tokens, rows]
};

class MatmulPlan {
  public:
    struct Wanted {
        bool expected = true;  ///< a missing kernel throws RuntimeError; if false, NotAvailable
        bool fast_accumulation = false;
    };
    /// Needs has_cublaslt(). Times the first eight algorithms that the library's heuristics suggest, over
    /// `copies`, and keeps the fastest.
    MatmulPlan(GemmForm form, const GemmShape& shape, const std::vector<MatmulOperands>& copies,
               const Wanted& wanted);

    void enqueue(const MatmulOperands& operands, Stream stream);

  private:
    struct Algorithm {  // a named struct: nvcc 13.0 cannot destroy vectors of the library's unnamed one
        cublasLtMatmulAlgo_t value{};
    };
    std::vector<Algorithm> suggestions();
    cublasStatus_t run(const MatmulOperands& operands, const Algorithm& algorithm, Stream stream);
    void point_at_scales(const MatmulOperands& operands);
    /// Throws the exception that reports that the library has no kernel for the product.
    [[noreturn]] void refuse(cublasStatus_t status) const;

    GemmForm form_;
    GemmShape shape_;
    Wanted wanted_;
    OwnedMatmulDesc desc_;
    OwnedMatrixLayout w_layout_;
    OwnedMatrixLayout x_layout_;
    OwnedMatrixLayout y_layout_;
    DeviceBuffer<std::uint8_t> workspace_;
    Algorithm algorithm_;
};

}  // namespace paretoken::microbench::gpu
