#pragma once
// The running softmax of one warp's 16 rows and what it has accumulated, in the registers of mma.m16n8k16:
// rows g and g + 8 of lane 4g + t, columns 2t and 2t + 1 of each tile of eight.
#include <cmath>
#include <cstdint>

#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/device/host_device.h"

namespace paretoken::microbench::gpu {

template <class Machine, int kResultTiles>
struct RunningSoftmax {
    float out[kResultTiles][4];
    float maximum[2];
    float sum[2];  ///< of this lane's columns, until finish_sums

    PARETOKEN_HOST_DEVICE void clear() {
        PARETOKEN_UNROLL
        for (int i = 0; i < kResultTiles; ++i) out[i][0] = out[i][1] = out[i][2] = out[i][3] = 0;
        maximum[0] = maximum[1] = kLowest;
        sum[0] = sum[1] = 0;
    }

    /// Scores of tokens outside [first, last) of the tile become those of weight 0.
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

    /// Likewise where each of the lane's rows sees other tokens.
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

    /// Scores become weights in place; earlier results are scaled down when a maximum moved.
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

    /// Sums of whole rows, in all four lanes that hold one.
    PARETOKEN_HOST_DEVICE void finish_sums(const Machine& m) {
        PARETOKEN_UNROLL
        for (int row = 0; row < 2; ++row) {
            sum[row] += m.shuffle_xor(sum[row], 1);
            sum[row] += m.shuffle_xor(sum[row], 2);
        }
    }
};

}  // namespace paretoken::microbench::gpu
