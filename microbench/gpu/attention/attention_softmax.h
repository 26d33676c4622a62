#pragma once
// The running softmax of the 16 rows of one warp, with the accumulated results, in registers as mma.m16n8k16
// lays them out: lane 4g + t holds the rows g and g + 8, and in each tile of eight columns the columns 2t and
// 2t + 1.
#include <cmath>
#include <cstdint>

#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// Index 0 of the arrays of two is row g of the lane, and index 1 is row g + 8. Scores are logarithms to
/// base 2.
template <class Machine, int kResultTiles>
struct RunningSoftmax {
    float out[kResultTiles][4];  ///< per tile: columns 2t and 2t + 1 of row g, then of row g + 8
    float maximum[2];            ///< largest score so far
    float sum[2];  ///< sum of the weights of this lane's columns; of the whole row after finish_sums

    PARETOKEN_HOST_DEVICE void clear() {
        PARETOKEN_UNROLL
        for (int i = 0; i < kResultTiles; ++i) out[i][0] = out[i][1] = out[i][2] = out[i][3] = 0;
        maximum[0] = maximum[1] = kLowest;
        sum[0] = sum[1] = 0;
    }

    /// Sets the scores of tokens outside [first, last) of the tile to −∞, so that their weights are 0.
    template <int kScoreTiles>
    PARETOKEN_HOST_DEVICE static void hide(const Machine& m, float (&s)[kScoreTiles][4], std::int32_t first,
                                           std::int32_t last) {
        PARETOKEN_UNROLL
        for (int j = 0; j < kScoreTiles; ++j) {
            PARETOKEN_UNROLL
            for (int c = 0; c < 4; ++c) {
                const int column = 8 * j + m.lane() % 4 * 2 + c % 2;
                if (column < first || column >= last) s[j][c] = -HUGE_VALF;
            }
        }
    }

    /// Sets the scores outside [first, last) to −∞, with separate limits for the two rows of the lane.
    template <int kScoreTiles>
    PARETOKEN_HOST_DEVICE static void hide(const Machine& m, float (&s)[kScoreTiles][4],
                                           const std::int32_t (&first)[2], const std::int32_t (&last)[2]) {
        PARETOKEN_UNROLL
        for (int j = 0; j < kScoreTiles; ++j) {
            PARETOKEN_UNROLL
            for (int c = 0; c < 4; ++c) {
                const int column = 8 * j + m.lane() % 4 * 2 + c % 2;
                if (column < first[c / 2] || column >= last[c / 2]) s[j][c] = -HUGE_VALF;
            }
        }
    }

    /// Replaces the scores with weights, 2^(score − maximum), and adds these to the sums. If a maximum has
    /// risen, it first scales the earlier sums and results down.
    template <int kScoreTiles>
    PARETOKEN_HOST_DEVICE void soften(const Machine& m, float (&s)[kScoreTiles][4]) {
        float rescale[2];
        bool moved = false;
        PARETOKEN_UNROLL
        for (int row = 0; row < 2; ++row) {
            float most = maximum[row];
            PARETOKEN_UNROLL
            for (int j = 0; j < kScoreTiles; ++j) {
                most = most > s[j][2 * row] ? most : s[j][2 * row];
                most = most > s[j][2 * row + 1] ? most : s[j][2 * row + 1];
            }
            PARETOKEN_UNROLL
            for (int distance = 1; distance <= 2; distance *= 2) {
                const float other = m.shuffle_xor(most, distance);
                most = most > other ? most : other;
            }
            moved |= most > maximum[row];
            rescale[row] = m.exp2(maximum[row] - most);
            maximum[row] = most;
        }
        if (m.any(moved)) {
            sum[0] *= rescale[0];
            sum[1] *= rescale[1];
            PARETOKEN_UNROLL
            for (int i = 0; i < kResultTiles; ++i) {
                out[i][0] *= rescale[0];
                out[i][1] *= rescale[0];
                out[i][2] *= rescale[1];
                out[i][3] *= rescale[1];
            }
        }
        PARETOKEN_UNROLL
        for (int j = 0; j < kScoreTiles; ++j) {
            PARETOKEN_UNROLL
            for (int c = 0; c < 4; ++c) {
                s[j][c] = m.exp2(s[j][c] - maximum[c / 2]);
                sum[c / 2] += s[j][c];
            }
        }
    }

    /// Computes the sums of whole rows, in all four lanes that hold a row.
    PARETOKEN_HOST_DEVICE void finish_sums(const Machine& m) {
        PARETOKEN_UNROLL
        for (int row = 0; row < 2; ++row) {
            sum[row] += m.shuffle_xor(sum[row], 1);
            sum[row] += m.shuffle_xor(sum[row], 2);
        }
    }
};

}  // namespace paretoken::microbench::gpu
