#pragma once
// The number formats that models are stored in, from their published layouts: bfloat16, IEEE half, and
// llama.cpp's blocks of 32 weights. Scalar and slow: the kernels' reference, packers and tests are built on
// it.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace paretoken::microbench {

inline float float_of_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}
std::uint16_t bf16_of(float value);  ///< round to nearest even; NaN stays NaN
float float_of_f16(std::uint16_t bits);
std::uint16_t f16_of(float value);  ///< round to nearest even; overflow gives infinity

enum class WeightType { bf16, q8_0, q4_0, q4_1 };
std::string_view name_of(WeightType type);

inline constexpr std::size_t kBlock = 32;  ///< weights per block

/// Bytes of one block of 32 weights along k:
///   bf16  64: 32 values
///   q8_0  34: d (f16), 32 signed bytes                        w = d·q
///   q4_0  18: d (f16), 16 bytes of two nibbles                w = d·(q − 8)
///   q4_1  20: d (f16), m (f16), 16 bytes of two nibbles       w = d·q + m
/// Byte j of the nibbles holds weight j in its low half and weight j + 16 in its high half.
constexpr std::size_t block_bytes(WeightType type) {
    switch (type) {
        case WeightType::q8_0:
            return 34;
        case WeightType::q4_0:
            return 18;
        case WeightType::q4_1:
            return 20;
        default:
            return 64;
    }
}
constexpr std::size_t row_bytes(WeightType type, std::size_t k) {
    return k / kBlock * block_bytes(type);
}

/// One row of k weights as floats; exact.
void dequantise(WeightType type, const std::byte* row, std::span<float> values);

/// `rows` × `k` legal weights, row by row as in a GGUF file. k is a multiple of 32.
std::vector<std::byte> random_weights(WeightType type, std::size_t rows, std::size_t k, Random& random);

inline std::uint16_t load_u16(const std::byte* at) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) | std::to_integer<unsigned>(at[1])
                                                                             << 8);
}
inline void store_u16(std::byte* at, std::uint16_t bits) {
    at[0] = static_cast<std::byte>(bits & 0xff);
    at[1] = static_cast<std::byte>(bits >> 8);
}

}  // namespace paretoken::microbench
