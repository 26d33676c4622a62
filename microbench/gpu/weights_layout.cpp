#include "microbench/gpu/weights_layout.h"

#include <cassert>

namespace paretoken::microbench::gpu {

std::string_view name_of(WeightFormat format) {
    switch (format) {
        case WeightFormat::bf16:
            return "bf16";
        case WeightFormat::fp16:
            return "fp16";
        case WeightFormat::fp8:
            return "fp8";
        case WeightFormat::int8:
            return "int8";
        case WeightFormat::int4:
            return "int4";
        default:
            return "mxfp4";
    }
}

double format_bytes(WeightFormat format, double rows, double k) {
    const double codes = rows * k * bits_of(format) / 8;
    switch (format) {
        case WeightFormat::fp8:
        case WeightFormat::int8:
            return codes + rows * 4;
        case WeightFormat::int4:
            return codes + rows * k / 128 * 2;
        case WeightFormat::mxfp4:
            return codes + rows * k / 32;
        default:
            return codes;
    }
}

std::vector<std::uint32_t> packed(const WeightsShape& shape, std::span<const std::uint16_t> codes) {
    assert(codes.size() == shape.rows * shape.k && fits(shape.format, shape.k));
    std::vector<std::uint32_t> words(shape.words());
    for (std::size_t row = 0; row < shape.rows; ++row) {
        for (std::size_t k = 0; k < shape.k; ++k) {
            const Place place = place_of(shape, row, k);
            words[place.word] |= placed_code(shape.format, codes[row * shape.k + k], place.pair, place.half);
        }
    }
    return words;
}

}  // namespace paretoken::microbench::gpu
