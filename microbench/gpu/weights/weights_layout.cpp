#include "microbench/gpu/weights/weights_layout.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace paretoken::microbench::gpu {

double format_bytes(WeightFormat format, double rows, double k) {
    const double codes = rows * k * bits_of(format) / 8;
    switch (scale_of(format)) {
        case WeightScale::none:
            return codes;
        case WeightScale::row_float:
            return codes + rows * 4;
        case WeightScale::group_fp16:
            return codes + rows * k / group_of(format) * 2;
        case WeightScale::group_e8m0:
            return codes + rows * k / group_of(format);
    }
    return codes;
}

bool one_thread_block_each(const WeightsShape& shape, std::size_t matrices, const Residency& residency) {
    constexpr double kLeastTaken = 0.85;
    const std::size_t blocks = matrices * shape.row_blocks();
    const std::size_t most = (blocks + residency.multiprocessors - 1) / residency.multiprocessors;
    const std::size_t places = most * residency.multiprocessors;
    return most <= residency.per_multiprocessor &&
           static_cast<double>(blocks) >= kLeastTaken * static_cast<double>(places);
}

int stacked_blocks(const WeightsShape& shape, std::size_t matrices, const Residency& residency) {
    if (one_thread_block_each(shape, matrices, residency)) return 1;
    constexpr std::size_t kLeast = 1024;  // steps of all stacks: a few for each of 132 × 3 thread blocks
    const std::size_t units = matrices * shape.units();
    std::size_t stacked = kWeightWarps;
    while (stacked > 1 && (shape.row_blocks() % stacked != 0 || units / stacked < kLeast)) stacked /= 2;
    return static_cast<int>(stacked);
}

std::size_t thread_blocks_for(const WeightsShape& shape, std::size_t matrices, const Residency& residency) {
    if (one_thread_block_each(shape, matrices, residency)) return matrices * shape.row_blocks();
    return std::min(residency.thread_blocks(),
                    matrices * shape.units() / static_cast<std::size_t>(shape.stacked));
}

StackDivision StackDivision::of(const WeightsShape& shape, std::size_t matrices,
                                std::uint32_t thread_blocks) {
    const auto stacked = static_cast<std::uint32_t>(shape.stacked);
    const auto steps = static_cast<std::uint32_t>(matrices * shape.units()) / stacked;
    assert(thread_blocks > 0 && thread_blocks <= steps);
    return {EvenShares::of(steps, thread_blocks), static_cast<std::uint32_t>(shape.steps()),
            static_cast<std::uint32_t>(std::countr_zero(kWeightWarps / stacked))};
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
