#pragma once
// Matrices in device memory, in as many copies as a ring has (ring.h), and launches that multiply activations
// by one copy. Their users check and time the launches.
#include <optional>
#include <vector>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/device/memory.cuh"
#include "microbench/gpu/weights/weights_body.h"
#include "microbench/gpu/weights/weights_variants.h"

namespace paretoken::microbench::gpu {

/// Returns the variant with the fewest columns that are enough for the batch, or nothing if there is none.
std::optional<WeightsVariant> variant_for(WeightFormat format, Decode decode, int batch,
                                          bool experts = false);

struct StreamedMatrix {
    std::size_t rows = 0;
    std::size_t k = 0;
    int batch = 1;
    WeightsVariant variant;
    std::size_t entries = 1;  ///< matrices per launch; more than one only with a list of experts

    /// Returns the thread blocks of the kernel that this GPU runs at the same time.
    Residency residency() const;
    WeightsShape shape() const {
        WeightsShape shape{variant.format, rows, k, variant.parts};
        shape.stacked = stacked_blocks(shape, entries, residency());
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
    /// Fills the matrices with random weights and scales, on the default stream. Uses the seeds `seed` and
    /// `seed` + 1.
    WeightStream(const StreamedMatrix& matrix, std::size_t copies, std::uint64_t seed);

    /// Computes y [entries, batch, rows] = W · x [entries, batch, k] with one copy. x and y are in device
    /// memory; x is bf16 for bf16 weights, otherwise fp16.
    void launch(std::size_t copy, const std::uint16_t* x, float* y, Stream stream) const;
    /// Computes the product with the stored matrices of a list in device memory. The list contains indices
    /// such as those that `list` returns.
    void launch_by(const std::int32_t* of_entries, const std::uint16_t* x, float* y, Stream stream) const;
    /// Returns the indices of the stored matrices that are the entries of a copy.
    std::vector<std::int32_t> list(std::size_t copy) const;
    /// Returns the result of `launch` in fp64, computed element by element. Synchronises the stream.
    std::vector<double> reference(std::size_t copy, const std::uint16_t* x, Stream stream) const;
    /// Flips a bit in some weights of a copy, which changes the value of each of them considerably. A second
    /// call restores them.
    void spoil(std::size_t copy, Stream stream);
    /// Sets the partial sums that thread blocks exchange to NaN, so that a launch cannot use those of an
    /// earlier one unnoticed.
    void poison(Stream stream) { partials_.fill(0xff, stream); }

    /// Returns the values of the weights of one copy, entry by entry.
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
    DeviceBuffer<std::int32_t> lists_;  // [copies, entries], indices of stored matrices
    WeightsCall call_;
};

}  // namespace paretoken::microbench::gpu
