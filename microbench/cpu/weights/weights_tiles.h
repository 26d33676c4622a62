#pragma once
// Products of packed bf16 weights with a batch by tile registers: the packed layout is the second operand (16
// rows side by side, the pairs along k below each other), the batch the first, up to 16 rows.
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "microbench/cpu/fetch.h"
#include "microbench/cpu/tiles.h"
#include "microbench/cpu/weights/weights.h"

namespace paretoken::microbench {

inline constexpr std::size_t kPanelLine = 4 * kPanel;  ///< bytes of a pair of weights of all rows

/// Prefetches ahead of `bytes` bytes, a multiple of 64, that are about to be loaded, by the distances of
/// fetch.h. A call of fetch_ahead() for each line made the kernel a tenth slower (g++ 12).
template <Fetch kFetch>
[[gnu::always_inline]] inline void fetch_ahead_of(const std::byte* at, std::size_t bytes) {
    if constexpr (kFetch == Fetch::l1)
        for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i + kAheadInL1);
    if constexpr (kFetch == Fetch::l2)
        for (std::size_t i = 0; i < bytes; i += 64) {
            __builtin_prefetch(at + i + kFarAhead, 0, 2);
            __builtin_prefetch(at + i + kNearAhead);
        }
}

/// Computes the products of a call whose batch is kBatch (at most 16); k is a multiple of 32. The weights are
/// bf16 in the packed layout: 32 along k for the 32 rows of a panel fill two tiles. Steps take turns on two
/// sets of registers, so that a load does not wait for the products before it.
template <class TileRegisters, int kBatch, Fetch kFetch>
void multiply_bf16_by_tiles(const GemvCall& call) {
    constexpr std::size_t kDepth = 32;
    constexpr std::size_t kStep = kDepth / 2 * kPanelLine;  // bytes
    static constexpr TileConfiguration kShapes = [] {
        TileConfiguration shapes;
        shapes.set(0, kBatch, 64).set(1, kBatch, 64);  // sums: fp32, [batch][16 rows]
        shapes.set(2, kBatch, 64).set(5, kBatch, 64);  // x: [batch][32]
        for (const int weights : {3, 4, 6, 7}) shapes.set(weights, kDepth / 2, 64);  // [16 pairs][16 rows][2]
        return shapes;
    }();
    const Activations& x = *call.x;
    TileRegisters tiles(kShapes);
    alignas(64) float sums[kBatch][kPanel];
    const std::byte* w = call.weights;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        tiles.template zero<0>();
        tiles.template zero<1>();
        const auto step = [&]<int kX>(std::integral_constant<int, kX>, std::size_t k) {
            fetch_ahead_of<kFetch>(w, kStep);
            tiles.template load<kX>(&x.bf16[k], x.k * sizeof x.bf16[0]);
            tiles.template load<kX + 1>(w, kPanelLine);
            tiles.template load<kX + 2>(w + 64, kPanelLine);
            tiles.template add_product_bf16<0, kX, kX + 1>();
            tiles.template add_product_bf16<1, kX, kX + 2>();
            w += kStep;
        };
        std::size_t k = 0;
        for (; k + 2 * kDepth <= x.k; k += 2 * kDepth) {
            step(std::integral_constant<int, 2>(), k);
            step(std::integral_constant<int, 5>(), k + kDepth);
        }
        if (k < x.k) step(std::integral_constant<int, 2>(), k);
        tiles.template store<0>(&sums[0][0], sizeof sums[0]);
        tiles.template store<1>(&sums[0][kPanel / 2], sizeof sums[0]);
        const std::size_t rows = std::min(kPanel, call.rows - first);
        for (std::size_t b = 0; b < kBatch; ++b)
            std::copy_n(sums[b], rows, call.y + b * call.y_stride + first);
    }
}

}  // namespace paretoken::microbench
