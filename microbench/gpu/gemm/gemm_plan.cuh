#pragma once
// One matrix product of cuBLASLt: described for a form and a shape, planned by timing the library's own
// suggestions, enqueued. The library is loaded when it is first asked for, and may be absent.
#include <cublasLt.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/gemm/gemm_forms.h"

namespace paretoken::microbench::gpu {

/// Whether this machine has a cublasLt that knows all forms: 12.9 or later.
bool has_cublaslt();

struct DestroyMatmulDesc {
    void operator()(cublasLtMatmulDesc_t desc) const;
};
struct DestroyMatrixLayout {
    void operator()(cublasLtMatrixLayout_t layout) const;
};
using OwnedMatmulDesc = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, DestroyMatmulDesc>;
using OwnedMatrixLayout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, DestroyMatrixLayout>;

/// What one product works on, in device memory, 16-byte aligned; no scales where the form has none.
struct MatmulOperands {
    const void* w = nullptr;         ///< [rows, k]
    const void* w_scales = nullptr;  ///< as gemm_forms.h lays them out
    const void* x = nullptr;         ///< [tokens, k]
    const void* x_scales = nullptr;
    void* y = nullptr;  ///< [tokens, rows]
};

class MatmulPlan {
  public:
    struct Wanted {
        bool expected = true;  ///< no kernel for this is a RuntimeError, else it is NotAvailable
        bool fast_accumulation = false;
    };
    /// Needs has_cublaslt(). Keeps the fastest of the library's first eight heuristics, each timed over
    /// `copies`.
    MatmulPlan(GemmForm form, const GemmShape& shape, const std::vector<MatmulOperands>& copies,
               const Wanted& wanted);

    void enqueue(const MatmulOperands& operands, Stream stream);

  private:
    struct Algorithm {  // a name of its own: nvcc 13.0 cannot destroy vectors of the library's unnamed struct
        cublasLtMatmulAlgo_t value{};
    };
    std::vector<Algorithm> suggestions();
    cublasStatus_t run(const MatmulOperands& operands, const Algorithm& algorithm, Stream stream);
    void point_at_scales(const MatmulOperands& operands);
    /// The sentence of a refusal, thrown.
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
