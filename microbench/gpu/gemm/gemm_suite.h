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
    bool streams = true;  ///< W is read from a ring of copies; false means one copy, to measure arithmetic
    bool fast_accumulation = false;  ///< sums of fp8 stay in the tensor cores; see has_fast_accumulation
    /// Whether it is a failure if the library has no kernel for the row. This is so if the library documents
    /// the form for this GPU and the shape is an ordinary one. If `expected` is false, such a row is reported
    /// as not available.
    bool expected = true;
    std::optional<std::string> lack = {};  ///< why this GPU cannot run the row, which is listed anyway

    bool operator==(const GemmRow&) const = default;
};

/// Returns the rows. `capability` is the compute capability × 10. A form that needs a newer GPU has at most
/// one row for each model (one row in a verify run), with the reason in `lack`.
std::vector<GemmRow> gemm_suite(const GpuSettings& settings, int capability);

}  // namespace paretoken::microbench::gpu
