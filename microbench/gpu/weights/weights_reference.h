#pragma once
// The reference of the weight kernels in fp64: the values of a matrix in the kernels' layout, its products,
// and the error that an output may have. It shares only the layout of the weights with the kernels, not the
// conversion of their codes.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {

/// Returns the scale by which the value of the code of weight (row, k) is multiplied. `scales` are laid out
/// as described at WeightsShape::scale_words.
PARETOKEN_HOST_DEVICE inline double scale_at(const WeightsShape& shape, const std::uint32_t* scales,
                                             std::size_t row, std::size_t k) {
    switch (scale_of(shape.format)) {
        case WeightScale::none:
            return 1;
        case WeightScale::row_float:
#ifdef __CUDA_ARCH__
            return static_cast<double>(__uint_as_float(scales[row]));
#else
            return static_cast<double>(std::bit_cast<float>(scales[row]));
#endif
        case WeightScale::group_fp16: {
            const ScalePlace place = scale_place_of(shape, row, k);
            return value_of_fp16(scales[place.word] >> (16 * place.field) & 0xffff);
        }
        case WeightScale::group_e8m0: {
            const ScalePlace place = scale_place_of(shape, row, k);
            return value_of_e8m0(scales[place.word] >> (8 * place.field) & 0xff);
        }
    }
    return 1;
}

/// Returns the value of weight (row, k).
PARETOKEN_HOST_DEVICE inline double weight_at(const WeightsShape& shape, const std::uint32_t* words,
                                              const std::uint32_t* scales, std::size_t row, std::size_t k) {
    const Place place = place_of(shape, row, k);
    const unsigned code = code_at(shape.format, words[place.word], place.pair, place.half);
    return value_of(shape.format, code) * scale_at(shape, scales, row, k);
}

/// Returns the values of all weights: [rows, k].
std::vector<double> dequantised(const WeightsShape& shape, std::span<const std::uint32_t> words,
                                std::span<const std::uint32_t> scales);

/// Returns the product [batch, rows] of W [rows, k] and x [batch, k].
std::vector<double> product(const WeightsShape& shape, std::span<const double> weights,
                            std::span<const double> x);

/// Returns the work of one product: it reads the matrix in its format and 16-bit x, and writes fp32 y.
Work product_work(WeightFormat format, double rows, double k, double batch);

/// Returns the largest relative L2 error that an fp32 output may have. The tensor cores truncate each partial
/// sum instead of rounding it, so that the errors add up along k. Formats with group scales begin a new sum
/// for each group, so that their bound does not depend on k.
double product_bound(const WeightsShape& shape);

/// Returns the largest relative L2 error among the blocks of 64 consecutive outputs. An error in a single row
/// therefore stays visible. Returns infinity if an output is not finite, and NaN if the reference contains
/// NaN.
double worst_relative_l2(std::span<const float> output, std::span<const double> reference);

}  // namespace paretoken::microbench::gpu
