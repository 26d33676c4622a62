#pragma once
// Matrices in device memory, as many copies of them as a ring has, and launches that multiply activations by
// one copy. Checking and timing are others'.
#include <optional>
#include <vector>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/weights/weights_body.h"
#include "microbench/gpu/weights/weights_variants.h"

namespace paretoken::microbench::gpu {

/// The variant with the fewest columns that hold the batch; nothing when none does.
std::optional<WeightsVariant> variant_for(WeightFormat format, Decode decode, int batch,
                                          bool experts = false);

struct StreamedMatrix {
    std::size_t rows = 0;
    std::size_t k = 0;
    int batch = 1;
    WeightsVariant variant;
    std::size_t entries = 1;  ///< matrices of a launch; more than one only by a list of experts

    WeightsShape shape() const {
        WeightsShape shape{variant.format, rows, k, variant.parts};
        shape.stacked = stacked_blocks(shape, entries);
        return shape;
    }
    std::size_t columns() const { return entries * static_cast<std::size_t>(batch); }
    std::uint64_t copy_bytes() const {
        return entries * (shape().words() + shape().scale_words()) * sizeof(std::uint32_t);
    }
};

Work work_of(const StreamedMatrix& matrix);

class WeightStream {
  public:
    /// Random weights and scales, enqueued on the default stream. `seed` and the next are used.
    WeightStream(const StreamedMatrix& matrix, std::size_t copies, std::uint64_t seed);

    /// y [entries, batch, rows] = W · x [entries, batch, k], both in device memory; x is bf16 beside bf16
    /// weights, else fp16.
    void launch(std::size_t copy, const std::uint16_t* x, float* y, Stream stream) const;
    /// By a list in device memory, of what `list` names.
    void launch_by(const std::int32_t* of_entries, const std::uint16_t* x, float* y, Stream stream) const;
    /// Which stored matrices a copy's entries are.
    std::vector<std::int32_t> list(std::size_t copy) const;
    /// The same in fp64, element by element. Synchronises.
    std::vector<double> reference(std::size_t copy, const std::uint16_t* x, Stream stream) const;
    /// Changes some weights of a copy, whatever they were; twice: back again.
    void spoil(std::size_t copy, Stream stream);
    /// What thread blocks hand each other becomes NaN: a launch must not find an earlier one's.
    void poison(Stream stream) { partials_.fill(0xff, stream); }

    /// Of one copy, its entries one after the other.
    std::vector<double> dequantised_copy(std::size_t copy) const;

  private:
    std::size_t first_matrix(std::size_t copy) const;
    void configure();
    void start(const WeightsCall& call, Stream stream) const;

    StreamedMatrix matrix_;
    WeightsShape shape_;
    unsigned blocks_ = 0;
    DeviceBuffer<std::uint32_t> words_;
    DeviceBuffer<std::uint32_t> scales_;
    DeviceBuffer<float> partials_;
    DeviceBuffer<std::int32_t> arrivals_;
    DeviceBuffer<std::int32_t> lists_;  // [copies, entries]: which of all matrices
    WeightsCall call_;
};

}  // namespace paretoken::microbench::gpu
