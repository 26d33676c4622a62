#include "microbench/cpu/weights/weights_tiles.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "core/random.h"
#include "microbench/collect.h"

namespace paretoken::microbench {
namespace {

/// Tile registers in software. An access that the configuration does not allow fails the test.
class EmulatedTiles {
  public:
    explicit EmulatedTiles(const TileConfiguration& configuration) : configuration_(configuration) {
        EXPECT_EQ(configuration.palette, 1);
        for (int tile = 0; tile < kTiles; ++tile) {
            EXPECT_LE(configuration.rows[tile], 16);
            EXPECT_LE(configuration.row_bytes[tile], 64);
            EXPECT_EQ(configuration.row_bytes[tile] % 4, 0);
        }
    }

    template <int kTile>
    void zero() {
        ASSERT_NE(configuration_.rows[kTile], 0);
        registers_[kTile] = {};
    }
    template <int kTile>
    void load(const void* from, std::size_t stride) {
        zero<kTile>();
        for (std::size_t row = 0; row < configuration_.rows[kTile]; ++row)
            std::memcpy(&registers_[kTile][row], static_cast<const std::byte*>(from) + row * stride,
                        configuration_.row_bytes[kTile]);
    }
    template <int kTile>
    void store(void* to, std::size_t stride) {
        ASSERT_NE(configuration_.rows[kTile], 0);
        for (std::size_t row = 0; row < configuration_.rows[kTile]; ++row)
            std::memcpy(static_cast<std::byte*>(to) + row * stride, &registers_[kTile][row],
                        configuration_.row_bytes[kTile]);
    }
    template <int kSum, int kA, int kB>
    void add_product_bf16() {
        ASSERT_EQ(configuration_.rows[kSum], configuration_.rows[kA]);
        ASSERT_EQ(configuration_.row_bytes[kSum], configuration_.row_bytes[kB]);
        ASSERT_EQ(configuration_.row_bytes[kA], 4 * configuration_.rows[kB]);
        for (std::size_t m = 0; m < configuration_.rows[kSum]; ++m) {
            for (std::size_t pair = 0; pair < configuration_.rows[kB]; ++pair) {
                for (std::size_t n = 0; n < configuration_.row_bytes[kSum] / 4U; ++n) {
                    float sum = value<float>(kSum, m, n);
                    for (std::size_t half = 0; half < 2; ++half)
                        sum += float_of_bf16(value<std::uint16_t>(kA, m, 2 * pair + half)) *
                               float_of_bf16(value<std::uint16_t>(kB, pair, 2 * n + half));
                    std::memcpy(&registers_[kSum][m][4 * n], &sum, sizeof sum);
                }
            }
        }
    }

  private:
    template <class Value>
    Value value(int tile, std::size_t row, std::size_t column) const {
        Value result;
        std::memcpy(&result, &registers_[static_cast<std::size_t>(tile)][row][column * sizeof result],
                    sizeof result);
        return result;
    }

    TileConfiguration configuration_;
    std::array<std::array<std::array<std::byte, 64>, 16>, kTiles> registers_{};
};

template <int kBatch>
void expect_right(std::size_t rows, std::size_t k) {
    Random random(derived_seed(7, "tiles", rows * 1000 + k));
    const auto weights = random_weights(WeightType::bf16, rows, k, random);
    std::vector<float> values(kBatch * k);
    for (float& value : values) value = static_cast<float>(random.normal());
    const Activations x = activations_for(WeightType::bf16, values, kBatch);
    const auto stored = packed(WeightType::bf16, weights, rows, k);
    constexpr float kGuard = 12345;
    std::vector<float> y(kBatch * rows + 1, kGuard);
    multiply_bf16_by_tiles<EmulatedTiles, kBatch, Fetch::none>(
        {.weights = stored.data(), .rows = rows, .x = &x, .y = y.data(), .y_stride = rows});
    EXPECT_EQ(y.back(), kGuard);
    y.pop_back();
    std::vector<double> wanted(kBatch * rows);
    std::vector<float> row(k);
    for (std::size_t r = 0; r < rows; ++r) {
        dequantise(WeightType::bf16, weights.data() + r * row_bytes(WeightType::bf16, k), row);
        for (std::size_t b = 0; b < kBatch; ++b)
            for (std::size_t i = 0; i < k; ++i)
                wanted[b * rows + r] +=
                    static_cast<double>(row[i]) * static_cast<double>(x.values[b * k + i]);
    }
    EXPECT_LE(relative_l2(y, wanted), 2e-5) << kBatch << " x " << rows << " x " << k;
}

TEST(WeightTiles, multiply_as_fp64_does_on_ragged_shapes) {
    for (const std::size_t rows : {1, 16, 17, 32, 33, 96}) {
        for (const std::size_t k : {32, 64, 96, 576}) {
            expect_right<4>(rows, k);
            expect_right<8>(rows, k);
            expect_right<16>(rows, k);
        }
    }
}

TEST(WeightTiles, serve_batches_of_packed_bf16_on_x86) {
    for (const GemvVariant& variant : tile_gemvs()) {
        EXPECT_EQ(variant.isa, Isa::amx);
        EXPECT_EQ(variant.type, WeightType::bf16);
    }
#if defined(PARETOKEN_X86)
    for (const std::size_t batch : {4, 8, 16})
        EXPECT_EQ(gemvs_for(WeightType::bf16, Layout::packed, Isa::amx, batch).front().isa, Isa::amx);
    EXPECT_EQ(gemvs_for(WeightType::bf16, Layout::packed, Isa::amx, 1).front().isa, Isa::avx512);
    EXPECT_EQ(gemvs_for(WeightType::q8_0, Layout::packed, Isa::amx, 8).front().isa, Isa::avx512);
    EXPECT_EQ(gemvs_for(WeightType::bf16, Layout::packed, Isa::avx512, 8).front().isa, Isa::avx512);
#endif
}

}  // namespace
}  // namespace paretoken::microbench
