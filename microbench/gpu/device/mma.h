#pragma once
// Gives the matrix element that each register of the instruction mma.m16n8k16 holds (16-bit A and B, fp32 C).
// This map is used by the code that packs weights, by the parts of kernels that store results, and by tests.
// The instruction itself is in mma.cuh.
#include <cstdint>

#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

inline constexpr int kLanes = 32;
inline constexpr int kMmaM = 16;
inline constexpr int kMmaN = 8;
inline constexpr int kMmaK = 16;
inline constexpr int kAElements = 8;  ///< per lane: four registers of two elements
inline constexpr int kBElements = 4;  ///< per lane: two registers of two elements
inline constexpr int kCElements = 4;  ///< per lane: four fp32 registers

/// The position of an element in a matrix.
struct Element {
    int row = 0;
    int column = 0;

    bool operator==(const Element&) const = default;
};

/// Position in A [16 m, 16 k] of an element of a lane. Element 2r + e is half e of register r, where half 0
/// is the low half.
PARETOKEN_HOST_DEVICE constexpr Element a_element(int lane, int element) {
    return {lane / 4 + (element & 2) * 4, lane % 4 * 2 + (element & 1) + (element & 4) * 2};
}

/// Position in B [16 k, 8 n]; the row is the index k. Elements are numbered as in `a_element`.
PARETOKEN_HOST_DEVICE constexpr Element b_element(int lane, int element) {
    return {lane % 4 * 2 + (element & 1) + (element & 2) * 4, lane / 4};
}

/// Position in C [16 m, 8 n] and in the result D of the same shape. Element r is register r.
PARETOKEN_HOST_DEVICE constexpr Element c_element(int lane, int element) {
    return {lane / 4 + (element & 2) * 4, lane % 4 * 2 + (element & 1)};
}

}  // namespace paretoken::microbench::gpu
