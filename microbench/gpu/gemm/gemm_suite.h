#pragma once
// The rows of library matrix products: gemm_lib (a decode step's batch), prefill/gemm (a prompt's tokens) and
// ceiling/flops/lib (the most that the library reaches). Compiles without CUDA.
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
    bool streams = true;             ///< false: one copy of W, for the arithmetic alone
    bool fast_accumulation = false;  ///< fp8: sums stay in the tensor cores, see has_fast_accumulation
    /// Documented and of an ordinary shape: a library without a kernel for it is then a failure.
    bool expected = true;
    std::optional<std::string> lack = {};  ///< why this GPU has no such row: it is listed and says so

    bool operator==(const GemmRow&) const = default;
};

/// Forms that the GPU has no instructions for have one row of each kind.
std::vector<GemmRow> gemm_suite(const GpuSettings& settings, int capability);

}  // namespace paretoken::microbench::gpu
