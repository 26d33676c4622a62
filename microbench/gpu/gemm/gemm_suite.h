#pragma once
// The rows of library matrix products: gemm_lib (the batch of a decode step), prefill/gemm (the tokens of a
// prompt) and ceiling/flops/lib (the highest speed that the library reaches). Compiles without CUDA.
#include <optional>
#include <string>
#include <vector>

#include "microbench/gpu/gemm/gemm_forms.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {

struct GemmRow {
    std::string name;
    GemmShape shape;
    GemmForm form = GemmForm::bf16;
    bool streams = true;             ///< false: one copy of W, which measures only the arithmetic
    bool fast_accumulation = false;  ///< sums of fp8 stay in the tensor cores; see has_fast_accumulation
    /// The form is documented and the shape is an ordinary one, so that a library without a kernel for it is
    /// a failure.
    bool expected = true;
    std::optional<std::string> lack = {};  ///< why this GPU cannot run the row, which is listed anyway

    bool operator==(const GemmRow&) const = default;
};

/// Returns the rows. A form that the GPU has no instructions for has one row for each model (or one row in a
/// verify run), with the reason in `lack`.
std::vector<GemmRow> gemm_suite(const GpuSettings& settings, int capability);

}  // namespace paretoken::microbench::gpu
