#pragma once
// Streams the weight matrices of one decoder layer through a GEMV (microbench/cpu/weights/weights.h). The
// check compares the first copy with fp64 for every variant, and requires that two runs give equal bits.
#include <cstdint>
#include <memory>
#include <vector>

#include "microbench/cpu/weights/weights.h"
#include "microbench/kernel.h"
#include "microbench/shapes.h"

namespace paretoken::microbench {

struct StreamOptions {
    Isa isa = Isa::scalar;
    std::size_t threads = 1;
    std::uint64_t working_set_bytes = 0;  ///< bytes of all threads together
    std::uint64_t seed = 0;
    bool plant_fault = false;  ///< corrupt the operand after the reference was computed: checks must fail
};

struct WeightsOptions {
    WeightType type = WeightType::bf16;
    Layout layout = Layout::packed;
    std::size_t batch = 1;
    ModelShape model;
};

/// Returns the matrices of the model's layer that the type can hold; each expert that a token uses is one of
/// its own. If they take more than `most_bytes`, the rows of each are reduced by the same factor, rounded
/// down to whole panels of 32 rows, but at least one.
std::vector<MatrixShape> streamed_matrices(const ModelShape& model, WeightType type,
                                           std::uint64_t most_bytes);

/// The type must be able to hold at least one matrix of the model.
std::unique_ptr<Kernel> weights_kernel(const WeightsOptions& options, const StreamOptions& stream);

}  // namespace paretoken::microbench
