#pragma once
// Streams the matrices of one decoder layer, copy after copy, through a GEMV. The check compares every matrix
// with fp64 (a sample of the rows of large ones) and requires that two runs give equal bits.
#include <cstdint>
#include <memory>
#include <vector>

#include "microbench/cpu/weights/weights.h"
#include "microbench/kernel.h"
#include "microbench/shapes.h"

namespace paretoken::microbench {

/// The options of all rows that stream.
struct StreamOptions {
    Isa isa = Isa::scalar;
    std::size_t threads = 1;
    std::uint64_t working_set_bytes = 0;  ///< size for all threads together
    std::uint64_t seed = 0;
    bool plant_fault = false;  ///< change one byte after computing the reference: the check must fail
};

struct WeightsOptions {
    WeightType type = WeightType::bf16;
    Layout layout = Layout::packed;
    std::size_t batch = 1;
    ModelShape model;
};

/// Returns the layer's matrices that the type can hold (k is a multiple of the block), with each expert that
/// a token uses as a matrix of its own. If they would take more than `most_bytes`, the rows of all are
/// reduced by the same factor to whole panels of 32, but to no less than one panel.
std::vector<MatrixShape> streamed_matrices(const ModelShape& model, WeightType type,
                                           std::uint64_t most_bytes);

/// The type must be able to hold at least one matrix of the model.
std::unique_ptr<Kernel> weights_kernel(const WeightsOptions& options, const StreamOptions& stream);

}  // namespace paretoken::microbench
