#pragma once
// Streams the matrices of one decoder layer, copy after copy, through a GEMV. The check compares every matrix
// with fp64 (a sample of the rows of large ones) and demands the same bits twice.
#include <cstdint>
#include <memory>
#include <vector>

#include "microbench/cpu/weights/weights.h"
#include "microbench/kernel.h"
#include "microbench/shapes.h"

namespace paretoken::microbench {

/// Shared by all rows that stream.
struct StreamOptions {
    Isa isa = Isa::scalar;
    std::size_t threads = 1;
    std::uint64_t working_set_bytes = 0;  ///< of all threads together
    std::uint64_t seed = 0;
    bool plant_fault = false;  ///< change one byte after the reference was taken: the check must fail
};

struct WeightsOptions {
    WeightType type = WeightType::bf16;
    Layout layout = Layout::packed;
    std::size_t batch = 1;
    ModelShape model;
};

/// The layer's matrices that the type can hold (k of whole blocks), experts one by one; rows are cut, all by
/// the same share and to whole panels, where the layer would take more than `most_bytes`.
std::vector<MatrixShape> streamed_matrices(const ModelShape& model, WeightType type,
                                           std::uint64_t most_bytes);

std::unique_ptr<Kernel> weights_kernel(const WeightsOptions& options, const StreamOptions& stream);

}  // namespace paretoken::microbench
