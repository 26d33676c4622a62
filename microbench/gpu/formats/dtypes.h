#pragma once
// The number formats that GPU kernels stream, and the integer half of how they turn stored words into fp16
// pairs without a conversion per element. Exact: what a kernel multiplies is the value of the code, or that
// value times a constant that its scale takes back. The same functions run in kernels, packers and tests.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "microbench/gpu/device/host_device.h"

namespace paretoken::microbench::gpu {

enum class WeightFormat { bf16, fp16, fp8, int8, int4, mxfp4 };
inline constexpr WeightFormat kWeightFormats[] = {WeightFormat::bf16, WeightFormat::fp16,
                                                  WeightFormat::fp8,  WeightFormat::int8,
                                                  WeightFormat::int4, WeightFormat::mxfp4};

/// The kind of number that a stored code represents. `offset_integer`: the unsigned code minus half of the
/// number of codes, e.g. a byte minus 128.
enum class CodeKind { bf16, fp16, e4m3, offset_integer, e2m1 };

/// The type of a scale and the weights that share it: all of a row, or a group along k within a row.
enum class WeightScale { none, row_float, group_fp16, group_e8m0 };

/// All properties of a weight format but its name: device code cannot hold texts, and nvcc drops a switch
/// whose results hold a std::string_view without a warning.
struct WeightTraits {
    CodeKind kind;
    int bits;  ///< of a code
    WeightScale scale;
    int group;  ///< weights along k that share a scale; 0: all of a row, or the format has no scale
    /// The approximate root mean square of random weights (random_words.h), scales applied.
    double deviation;
    /// A bit of a code whose change changes the value of every code considerably.
    unsigned weighty_bit;
};

/// The table of weight formats: one row per format. A new format whose element and scale exist needs a row
/// here, its decoding in weights_body.h, and its kernels in weights_*.cu. mxfp4 is the format of OCP's
/// Microscaling Formats specification 1.0.
PARETOKEN_HOST_DEVICE constexpr WeightTraits traits_of(WeightFormat format) {
    switch (format) {
        case WeightFormat::bf16:
            return {CodeKind::bf16, 16, WeightScale::none, 0, .33, 0x4000};
        case WeightFormat::fp16:
            return {CodeKind::fp16, 16, WeightScale::none, 0, .33, 0x4000};
        case WeightFormat::fp8:
            return {CodeKind::e4m3, 8, WeightScale::row_float, 0, 1.2, 0x40};
        case WeightFormat::int8:
            return {CodeKind::offset_integer, 8, WeightScale::row_float, 0, .85, 0x80};
        case WeightFormat::int4:
            return {CodeKind::offset_integer, 4, WeightScale::group_fp16, 128, .05, 4};
        case WeightFormat::mxfp4:
            return {CodeKind::e2m1, 4, WeightScale::group_e8m0, 32, .05, 4};
    }
    return {};
}
constexpr std::string_view name_of(WeightFormat format) {
    switch (format) {
        case WeightFormat::bf16:
            return "bf16";
        case WeightFormat::fp16:
            return "fp16";
        case WeightFormat::fp8:
            return "fp8";
        case WeightFormat::int8:
            return "int8";
        case WeightFormat::int4:
            return "int4";
        case WeightFormat::mxfp4:
            return "mxfp4";
    }
    return "";
}
PARETOKEN_HOST_DEVICE constexpr int bits_of(WeightFormat format) {
    return traits_of(format).bits;
}
PARETOKEN_HOST_DEVICE constexpr int group_of(WeightFormat format) {
    return traits_of(format).group;
}
PARETOKEN_HOST_DEVICE constexpr WeightScale scale_of(WeightFormat format) {
    return traits_of(format).scale;
}

/// Activations are bf16 beside bf16 weights and fp16 beside all others, because every dequantised weight is
/// exact in fp16.
PARETOKEN_HOST_DEVICE constexpr bool is_bf16(WeightFormat format) {
    return traits_of(format).kind == CodeKind::bf16;
}

// ---- values of codes

/// A sign bit, `exponent_bits` with this bias, `mantissa_bits`; no infinities or NaN.
PARETOKEN_HOST_DEVICE inline double small_float(unsigned code, int exponent_bits, int mantissa_bits,
                                                int bias) {
    const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const int mantissa = static_cast<int>(code) & ((1 << mantissa_bits) - 1);
    const int implied = exponent == 0 ? 0 : 1 << mantissa_bits;
    const double magnitude =
        ldexp(static_cast<double>(implied + mantissa), (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
    return (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
}

PARETOKEN_HOST_DEVICE inline bool is_finite_e4m3(unsigned code) {
    return (code & 0x7f) != 0x7f;
}
PARETOKEN_HOST_DEVICE inline double value_of_e4m3(unsigned code) {
    return is_finite_e4m3(code) ? small_float(code, 4, 3, 7) : std::numeric_limits<double>::quiet_NaN();
}
PARETOKEN_HOST_DEVICE inline double value_of_e2m1(unsigned code) {
    return small_float(code, 2, 1, 1);
}
/// 2^(code − 127); 255 is NaN.
PARETOKEN_HOST_DEVICE inline double value_of_e8m0(unsigned code) {
    return code == 255 ? std::numeric_limits<double>::quiet_NaN() : ldexp(1.0, static_cast<int>(code) - 127);
}
/// Finite ones only.
PARETOKEN_HOST_DEVICE inline double value_of_fp16(unsigned code) {
    return small_float(code, 5, 10, 15);
}
PARETOKEN_HOST_DEVICE inline double value_of_bf16(unsigned code) {
    return small_float(code, 8, 7, 127);
}

/// The value of a stored code, without its scale.
PARETOKEN_HOST_DEVICE inline double value_of(WeightFormat format, unsigned code) {
    switch (traits_of(format).kind) {
        case CodeKind::bf16:
            return value_of_bf16(code);
        case CodeKind::fp16:
            return value_of_fp16(code);
        case CodeKind::e4m3:
            return value_of_e4m3(code);
        case CodeKind::offset_integer:
            return static_cast<double>(code) - (1 << (bits_of(format) - 1));
        case CodeKind::e2m1:
            return value_of_e2m1(code);
    }
    return 0;
}

// ---- fields of a 32-bit word

/// A word holds 32 / bits codes as pairs: pair p is what one mma register wants, half 0 in its low half.
///   16 bits  the pair itself
///   8 bits   bytes 2p, 2p + 1
///   int4     nibble p of each half of the word
///   mxfp4    of each half of the word, the sign and three magnitude bits at e2m1_sign_place and
///            e2m1_magnitude_place: pairs 0 and 1 become fp16 by one mask
PARETOKEN_HOST_DEVICE constexpr int e2m1_sign_place(int pair) {
    return pair == 0 ? 15 : pair == 1 ? 12 : pair == 2 ? 14 : 13;
}
PARETOKEN_HOST_DEVICE constexpr int e2m1_magnitude_place(int pair) {
    return 9 - 3 * pair;
}

/// The bits of a word that hold `code` as element `half` of pair `pair`.
PARETOKEN_HOST_DEVICE inline std::uint32_t placed_code(WeightFormat format, unsigned code, int pair,
                                                       int half) {
    const int bits = bits_of(format);
    if (bits == 16) return code << (16 * half);
    if (bits == 8) return code << (8 * (2 * pair + half));
    if (traits_of(format).kind != CodeKind::e2m1) return code << (4 * pair + 16 * half);
    return ((code >> 3) << e2m1_sign_place(pair) | (code & 7) << e2m1_magnitude_place(pair)) << (16 * half);
}

/// The inverse of placed_code.
PARETOKEN_HOST_DEVICE inline unsigned code_at(WeightFormat format, std::uint32_t word, int pair, int half) {
    const int bits = bits_of(format);
    if (bits == 16) return word >> (16 * half) & 0xffff;
    if (bits == 8) return word >> (8 * (2 * pair + half)) & 0xff;
    if (traits_of(format).kind != CodeKind::e2m1) return word >> (4 * pair + 16 * half) & 15;
    const std::uint32_t half_word = word >> (16 * half);
    return (half_word >> e2m1_sign_place(pair) & 1) << 3 | (half_word >> e2m1_magnitude_place(pair) & 7);
}

// ---- words → raw fp16 pairs, integer operations only

/// Bytes of `low` (0 … 3) and `high` (4 … 7) picked by the nibbles of `selector`, its lowest nibble for the
/// lowest byte; the nibbles' top bits are 0.
PARETOKEN_HOST_DEVICE inline std::uint32_t picked_bytes(std::uint32_t low, std::uint32_t high,
                                                        std::uint32_t selector) {
#ifdef __CUDA_ARCH__
    return __byte_perm(low, high, selector);
#else
    const std::uint64_t all = std::uint64_t{high} << 32 | low;
    std::uint32_t picked = 0;
    for (int i = 0; i < 4; ++i)
        picked |= static_cast<std::uint32_t>(all >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
    return picked;
#endif
}

/// A raw fp16 value times a multiplier plus an addend is the weight; exact in fp16. Bits of fp16 numbers.
struct Correction {
    std::uint32_t multiplier_bits = 0;
    std::uint32_t addend_bits = 0;

    bool operator==(const Correction&) const = default;
};
inline constexpr std::uint32_t kFp16One = 0x3c00;

/// fp16's 1024 + u, as the mantissa's last bit is worth 1 there.
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_int8_pair(std::uint32_t word, int pair) {
    return picked_bytes(word, 0x64646464, pair == 0 ? 0x4140 : 0x4342);
}
inline constexpr Correction kInt8Correction{kFp16One, 0xe480};  // − 1152

/// (word & mask) | bits; on a GPU one instruction, which nvcc makes two of when both are constants.
PARETOKEN_HOST_DEVICE inline std::uint32_t masked_or(std::uint32_t word, std::uint32_t mask,
                                                     std::uint32_t bits) {
#ifdef __CUDA_ARCH__
    std::uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(word), "r"(mask), "r"(bits));
    return result;
#else
    return (word & mask) | bits;
#endif
}

/// fp16's 1024 + u for even pairs, 1024 + 16 u for odd ones.
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_int4_pair(std::uint32_t word, int pair) {
    const std::uint32_t mask = (pair & 1) == 0 ? 0x000f000fU : 0x00f000f0U;
    return masked_or(pair < 2 ? word : word >> 8, mask, 0x64006400U);
}
PARETOKEN_HOST_DEVICE constexpr Correction int4_correction(int pair) {
    return (pair & 1) == 0 ? Correction{kFp16One, 0xe408} : Correction{0x2c00, 0xd480};  // − 1032; ÷ 16 − 72
}

/// e4m3's bits moved to fp16's places: the value / 256, exact for finite codes (also subnormal ones).
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_e4m3_pair(std::uint32_t word, int pair) {
    const std::uint32_t high_bytes = picked_bytes(word, 0, pair == 0 ? 0x1404 : 0x3424);
    return (high_bytes & 0x80008000U) | (high_bytes >> 1 & 0x3f803f80U);
}
inline constexpr float kRawE4m3Scale = 256;

/// e2m1's bits moved to the places of fp16: the value / 2^14, exact.
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_e2m1_pair(std::uint32_t word, int pair) {
    if (pair == 0) return word & 0x8e008e00U;
    if (pair == 1) return word << 3 & 0x8e008e00U;
    if (pair == 2) return (word << 1 & 0x80008000U) | (word << 6 & 0x0e000e00U);
    return (word << 2 & 0x80008000U) | (word << 9 & 0x0e000e00U);
}
inline constexpr float kRawE2m1Scale = 16384;
/// e8m0's scale and kRawE2m1Scale at once, as the bits of a float; for codes up to 240.
PARETOKEN_HOST_DEVICE constexpr std::uint32_t float_bits_of_raw_e8m0(std::uint32_t code) {
    return (code + 14) << 23;
}

}  // namespace paretoken::microbench::gpu
