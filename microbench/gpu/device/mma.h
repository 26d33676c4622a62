#pragma once
// Which matrix element each register of mma.m16n8k16 holds (16-bit A and B, fp32 C). One map for the packer,
// the kernels' epilogues and the tests; the instruction itself is in mma.cuh.
#include <cstdint>

#include "microbench/gpu/device/host_device.h"

namespace paretoken::microbench::gpu {

inline constexpr int kLanes = 32;
inline constexpr int kMmaM = 16;
inline constexpr int kMmaN = 8;
inline constexpr int kMmaK = 16;
inline constexpr int kAElements = 8;  ///< per lane: four registers of two
inline constexpr int kBElements = 4;  ///< two registers of two
inline constexpr int kCElements = 4;  ///< four fp32 registers

struct Element {
    int row = 0;
    int column = 0;

    bool operator==(const Element&) const = default;
};

/// A [16 m, 16 k]; element 2r + e is half e (0: low) of register r.
PARETOKEN_HOST_DEVICE constexpr Element a_element(int lane, int element) {
    return {lane / 4 + (element & 2) * 4, lane % 4 * 2 + (element & 1) + (element & 4) * 2};
}

/// B [16 k, 8 n]; row is k. Element 2r + e as above.
PARETOKEN_HOST_DEVICE constexpr Element b_element(int lane, int element) {
    return {lane % 4 * 2 + (element & 1) + (element & 2) * 4, lane / 4};
}

/// C and D [16 m, 8 n]
PARETOKEN_HOST_DEVICE constexpr Element c_element(int lane, int element) {
    return {lane / 4 + (element & 2) * 4, lane % 4 * 2 + (element & 1)};
}

}  // namespace paretoken::microbench::gpu
