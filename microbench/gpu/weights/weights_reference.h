#pragma once
// What a matrix in the kernels' layout holds, in fp64, and how far from its product an output may lie.
// Nothing here knows how a kernel goes about it, only where a weight lies.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {

/// The factor of weight (row, k) besides its code. `scales` are laid out as WeightsShape::scale_words says.
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

/// The number that weight (row, k) stands for.
PARETOKEN_HOST_DEVICE inline double weight_at(const WeightsShape& shape, const std::uint32_t* words,
                                              const std::uint32_t* scales, std::size_t row, std::size_t k) {
    const Place place = place_of(shape, row, k);
    const unsigned code = code_at(shape.format, words[place.word], place.pair, place.half);
    return value_of(shape.format, code) * scale_at(shape, scales, row, k);
}

/// [rows, k]
std::vector<double> dequantised(const WeightsShape& shape, std::span<const std::uint32_t> words,
                                std::span<const std::uint32_t> scales);

/// W [rows, k] · x [batch, k] → [batch, rows]
std::vector<double> product(const WeightsShape& shape, std::span<const double> weights,
                            std::span<const double> x);

/// Of one product: the matrix as its format has it, 16-bit x and fp32 y.
Work product_work(WeightFormat format, double rows, double k, double batch);

/// Relative L2 error that an fp32 output may have. The matrix units cut each partial sum off instead of
/// rounding it: along an unbroken chain of k the errors add up. Formats with group scales begin a new sum per
/// group.
double product_bound(const WeightsShape& shape);

/// The largest relative L2 error of any 64 outputs that follow one another: a fault in one row must not
/// drown. NaN where the reference is no number.
double worst_relative_l2(std::span<const float> output, std::span<const double> reference);

}  // namespace paretoken::microbench::gpu
