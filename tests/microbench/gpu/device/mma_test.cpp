#include "microbench/gpu/device/mma.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>

namespace paretoken::microbench::gpu {
namespace {

// The formulas are copied from the PTX manual's section on mma.m16n8k16 with .f16 and .bf16 operands.
Element ptx_a(int lane, int i) {
    const int group = lane >> 2;
    const int thread_in_group = lane % 4;
    const int row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? group : group + 8;
    const int column = i < 4 ? thread_in_group * 2 + (i & 1) : thread_in_group * 2 + (i & 1) + 8;
    return {row, column};
}
Element ptx_b(int lane, int i) {
    const int group = lane >> 2;
    const int thread_in_group = lane % 4;
    const int row = i < 2 ? thread_in_group * 2 + (i & 1) : thread_in_group * 2 + (i & 1) + 8;
    return {row, group};
}
Element ptx_c(int lane, int i) {
    const int group = lane >> 2;
    const int thread_in_group = lane % 4;
    return {i < 2 ? group : group + 8, thread_in_group * 2 + (i & 1)};
}

TEST(Mma, registers_hold_the_elements_that_the_ptx_manual_gives) {
    for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < kAElements; ++i)
            EXPECT_EQ(a_element(lane, i), ptx_a(lane, i)) << lane << ' ' << i;
        for (int i = 0; i < kBElements; ++i)
            EXPECT_EQ(b_element(lane, i), ptx_b(lane, i)) << lane << ' ' << i;
        for (int i = 0; i < kCElements; ++i)
            EXPECT_EQ(c_element(lane, i), ptx_c(lane, i)) << lane << ' ' << i;
    }
}

TEST(Mma, every_element_of_each_matrix_is_held_exactly_once) {
    std::set<std::pair<int, int>> a, b, c;
    for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < kAElements; ++i) a.emplace(a_element(lane, i).row, a_element(lane, i).column);
        for (int i = 0; i < kBElements; ++i) b.emplace(b_element(lane, i).row, b_element(lane, i).column);
        for (int i = 0; i < kCElements; ++i) c.emplace(c_element(lane, i).row, c_element(lane, i).column);
    }
    EXPECT_EQ(a.size(), 256u);
    EXPECT_EQ(b.size(), 128u);
    EXPECT_EQ(c.size(), 128u);
    EXPECT_EQ(a.rbegin()->first, kMmaM - 1);
    EXPECT_EQ(b.rbegin()->first, kMmaK - 1);
    EXPECT_EQ(c.rbegin()->first, kMmaM - 1);
}

/// The registers of the 32 lanes of a warp. `product` multiplies the matrices that the registers hold
/// according to the formulas of the PTX manual.
struct Warp {
    std::array<std::array<double, kAElements>, kLanes> a{};
    std::array<std::array<double, kBElements>, kLanes> b{};

    std::array<std::array<double, kCElements>, kLanes> product() const {
        double matrix_a[kMmaM][kMmaK] = {};
        double matrix_b[kMmaK][kMmaN] = {};
        for (int lane = 0; lane < kLanes; ++lane) {
            for (int i = 0; i < kAElements; ++i)
                matrix_a[ptx_a(lane, i).row][ptx_a(lane, i).column] = a[lane][i];
            for (int i = 0; i < kBElements; ++i)
                matrix_b[ptx_b(lane, i).row][ptx_b(lane, i).column] = b[lane][i];
        }
        std::array<std::array<double, kCElements>, kLanes> c{};
        for (int lane = 0; lane < kLanes; ++lane) {
            for (int i = 0; i < kCElements; ++i) {
                const Element at = ptx_c(lane, i);
                for (int k = 0; k < kMmaK; ++k) c[lane][i] += matrix_a[at.row][k] * matrix_b[k][at.column];
            }
        }
        return c;
    }
};

/// The product is bilinear, so this test multiplies a matrix A with one nonzero element by a matrix B whose
/// elements all differ. Each element of the product then shows one pair of elements.
TEST(Mma, each_element_of_a_meets_each_of_b_where_the_maps_say_and_nowhere_else) {
    for (int a_lane = 0; a_lane < kLanes; ++a_lane) {
        for (int a_i = 0; a_i < kAElements; ++a_i) {
            Warp warp;
            warp.a[a_lane][a_i] = 2;
            const Element a = a_element(a_lane, a_i);
            double expected[kMmaM][kMmaN] = {};
            for (int lane = 0; lane < kLanes; ++lane) {
                for (int i = 0; i < kBElements; ++i) {
                    warp.b[lane][i] = 1 + lane * kBElements + i;
                    const Element b = b_element(lane, i);
                    if (b.row == a.column) expected[a.row][b.column] = 2 * warp.b[lane][i];
                }
            }
            const auto c = warp.product();
            for (int lane = 0; lane < kLanes; ++lane) {
                for (int i = 0; i < kCElements; ++i) {
                    const Element at = c_element(lane, i);
                    ASSERT_EQ(c[lane][i], expected[at.row][at.column]) << a_lane << ' ' << a_i;
                }
            }
        }
    }
}

}  // namespace
}  // namespace paretoken::microbench::gpu
