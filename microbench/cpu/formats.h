#pragma once
// The number formats of stored models, by their published layouts. The code is the kernels' slow reference.
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

enum class WeightType { bf16, f16, q8_0, q4_0, q4_1, q4_k, q6_k };
inline constexpr WeightType kWeightTypes[] = {WeightType::bf16, WeightType::f16,  WeightType::q8_0,
                                              WeightType::q4_0, WeightType::q4_1, WeightType::q4_k,
                                              WeightType::q6_k};
std::string_view name_of(WeightType type);

inline constexpr std::size_t kBlock = 32;        ///< weights per block of the plain types
inline constexpr std::size_t kSuperBlock = 256;  ///< weights per block of the K types (scales within)

constexpr std::size_t block_values(WeightType type) {
    return type == WeightType::q4_k || type == WeightType::q6_k ? kSuperBlock : kBlock;
}

/// Returns the bytes of one block of weights along k:
///   bf16  64: 32 values
///   f16   64: 32 values
///   q8_0  34: d (f16), 32 signed bytes                        w = d·q
///   q4_0  18: d (f16), 16 bytes of two nibbles                w = d·(q − 8)
///   q4_1  20: d (f16), m (f16), 16 bytes of two nibbles       w = d·q + m
/// Byte j of the nibbles holds weight j in its low half and weight j + 16 in its high half. The K types have
/// blocks of 256 weights:
///   q4_k 144: d, m (f16), 12 bytes of scales (unpack_scales), 128 bytes of two nibbles; w = d·s·q − m·t with
///             one s and t per 32. Nibble bytes 32c … 32c + 31 hold weights 64c … in their low halves and
///             64c + 32 … in their high halves.
///   q6_k 210: 128 bytes of low nibbles, 64 bytes of two high bits, 16 signed scales s (one per 16 weights),
///             d (f16); w = d·s·(q − 32). Each half of 128 weights has 64 bytes of nibbles and 32 bytes
///             of high bits. The low halves of its nibble bytes belong to its weights 0 … 63 and the high
///             halves to 64 … 127. Bits 2i and 2i + 1 of byte l of its high bits belong to its weight
///             32i + l.
constexpr std::size_t block_bytes(WeightType type) {
    switch (type) {
        case WeightType::q8_0:
            return 34;
        case WeightType::q4_0:
            return 18;
        case WeightType::q4_1:
            return 20;
        case WeightType::q4_k:
            return 144;
        case WeightType::q6_k:
            return 210;
        case WeightType::bf16:
        case WeightType::f16:
            return 64;
    }
    return 0;
}
constexpr std::size_t row_bytes(WeightType type, std::size_t k) {
    return k / block_values(type) * block_bytes(type);
}

/// The eight scales and eight minimums, six bits each, in 12 bytes of a q4_k block.
struct SixBitScales {
    std::uint8_t scale[8];
    std::uint8_t minimum[8];
};
SixBitScales unpack_scales(const std::byte* twelve);

/// Return number `i` of a block without scale and offset: 0 … 15 for q4_k, 0 … 63 for q6_k.
unsigned q4_k_number(const std::byte* block, std::size_t i);
unsigned q6_k_number(const std::byte* block, std::size_t i);

/// Writes the first values.size() weights of `row`, a multiple of block_values(type), to `values`. They are
/// exact, except that the last addition for q4_1 and q4_k rounds to float.
void dequantise(WeightType type, const std::byte* row, std::span<float> values);

/// Returns `rows` × `k` valid weights, row by row as in a GGUF file. k is a multiple of block_values(type).
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
