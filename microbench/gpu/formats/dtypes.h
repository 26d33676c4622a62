#pragma once
// The number formats of weights, and the integer operations that turn stored words into pairs of fp16
// numbers without a conversion instruction per element. All of this is exact. A pair of fp8 or mxfp4 holds
// the values of two stored codes, divided by a constant; the kernel multiplies its sums of products by this
// constant. A pair of int8 or int4 holds the codes with an offset, and fp16 arithmetic turns them into
// their values (Correction). Kernels, packers and tests share these functions.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// Formats of weights: a stored code per weight, and for most formats scales by which the codes are
/// multiplied.
enum class WeightFormat { bf16, fp16, fp8, int8, int4, mxfp4 };
inline constexpr WeightFormat kWeightFormats[] = {WeightFormat::bf16, WeightFormat::fp16,
                                                  WeightFormat::fp8,  WeightFormat::int8,
                                                  WeightFormat::int4, WeightFormat::mxfp4};

/// The kind of number that a stored code represents. e4m3 and e2m1 are floating-point numbers with a sign, 4
/// or 2 bits of exponent and 3 or 1 bits of mantissa. `offset_integer` is the unsigned code minus half of the
/// number of codes, e.g. a byte minus 128.
enum class CodeKind { bf16, fp16, e4m3, offset_integer, e2m1 };

/// The type of a scale and the weights that share it: all of a row, or a group along k (the columns) within a
/// row. e8m0 is a power of two, stored as its exponent in one byte.
enum class WeightScale { none, row_float, group_fp16, group_e8m0 };

/// All properties of a weight format except its name. Device code cannot hold strings, and nvcc silently
/// drops a switch whose results contain a std::string_view.
struct WeightTraits {
    CodeKind kind;
    int bits;  ///< bits per code
    WeightScale scale;
    int group;  ///< number of weights along k that share a scale; 0 means the whole row, or that there is no
                ///< scale
    /// The approximate root mean square of random weights (random_words.h) after scaling.
    double deviation;
    /// A bit of a code, as a mask. Flipping it changes the value considerably, whatever the code is.
    unsigned weighty_bit;
};

/// The table of weight formats, with one row per format. A new format with an existing kind of code and an
/// existing type of scale needs a row here, its decoding in weights_body.h, and its kernels in weights_*.cu.
/// mxfp4 is the format of OCP's Microscaling Formats specification 1.0.
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

/// Returns whether the weights are bf16. Activations are then bf16 too. They are fp16 for all other formats,
/// because the values of their codes are exact in fp16.
PARETOKEN_HOST_DEVICE constexpr bool is_bf16(WeightFormat format) {
    return traits_of(format).kind == CodeKind::bf16;
}

// ---- values of codes

/// Returns the value of a floating-point code with a sign bit, `exponent_bits` bits of exponent with this
/// bias, and `mantissa_bits` bits of mantissa. The format has no infinities and no NaN.
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
/// Returns 2^(code − 127); code 255 is NaN.
PARETOKEN_HOST_DEVICE inline double value_of_e8m0(unsigned code) {
    return code == 255 ? std::numeric_limits<double>::quiet_NaN() : ldexp(1.0, static_cast<int>(code) - 127);
}
/// Return the value of a 16-bit code, which must be finite.
PARETOKEN_HOST_DEVICE inline double value_of_fp16(unsigned code) {
    return small_float(code, 5, 10, 15);
}
PARETOKEN_HOST_DEVICE inline double value_of_bf16(unsigned code) {
    return small_float(code, 8, 7, 127);
}

/// Returns the value of a stored code, without its scale.
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

/// A word holds 32 / bits codes in pairs. Pair p becomes the content of one mma register, with element 0 in
/// its low half. The codes of pair p lie at these places:
///   16 bits  the two halves of the word
///   8 bits   bytes 2p and 2p + 1
///   int4     nibble p of each half of the word
///   mxfp4    in each half of the word, the sign at bit e2m1_sign_place(p) and three bits of magnitude from
///            bit e2m1_magnitude_place(p) on; pairs 0 and 1 need only one mask to become fp16
PARETOKEN_HOST_DEVICE constexpr int e2m1_sign_place(int pair) {
    return pair == 0 ? 15 : pair == 1 ? 12 : pair == 2 ? 14 : 13;
}
PARETOKEN_HOST_DEVICE constexpr int e2m1_magnitude_place(int pair) {
    return 9 - 3 * pair;
}

/// Returns a word with `code` as element `half` of pair `pair` and zeros elsewhere.
PARETOKEN_HOST_DEVICE inline std::uint32_t placed_code(WeightFormat format, unsigned code, int pair,
                                                       int half) {
    const int bits = bits_of(format);
    if (bits == 16) return code << (16 * half);
    if (bits == 8) return code << (8 * (2 * pair + half));
    if (traits_of(format).kind != CodeKind::e2m1) return code << (4 * pair + 16 * half);
    return ((code >> 3) << e2m1_sign_place(pair) | (code & 7) << e2m1_magnitude_place(pair)) << (16 * half);
}

/// Returns the code at a place of a word. This is the inverse of placed_code.
PARETOKEN_HOST_DEVICE inline unsigned code_at(WeightFormat format, std::uint32_t word, int pair, int half) {
    const int bits = bits_of(format);
    if (bits == 16) return word >> (16 * half) & 0xffff;
    if (bits == 8) return word >> (8 * (2 * pair + half)) & 0xff;
    if (traits_of(format).kind != CodeKind::e2m1) return word >> (4 * pair + 16 * half) & 15;
    const std::uint32_t half_word = word >> (16 * half);
    return (half_word >> e2m1_sign_place(pair) & 1) << 3 | (half_word >> e2m1_magnitude_place(pair) & 7);
}

// ---- conversion of words to raw fp16 pairs, by integer operations only
//
// A raw pair holds two fp16 numbers that differ from the values of their codes by a known factor or offset.

/// Returns four of the eight bytes of `low` (bytes 0 … 3) and `high` (bytes 4 … 7). Nibble i of `selector` is
/// the number of the byte that becomes byte i of the result. The top bit of every nibble must be 0.
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

/// Turns a raw fp16 value into the value of its code: raw · multiplier + addend, which is exact in fp16. Both
/// constants are the bits of fp16 numbers.
struct Correction {
    std::uint32_t multiplier_bits = 0;
    std::uint32_t addend_bits = 0;

    bool operator==(const Correction&) const = default;
};
inline constexpr std::uint32_t kFp16One = 0x3c00;

/// Returns 1024 + u in fp16 for both codes u of a pair. The code is simply placed in the low bits of the
/// mantissa, because the last bit of the mantissa is worth 1 in this range.
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_int8_pair(std::uint32_t word, int pair) {
    return picked_bytes(word, 0x64646464, pair == 0 ? 0x4140 : 0x4342);
}
inline constexpr Correction kInt8Correction{kFp16One, 0xe480};  // adds −1152

/// Returns (word & mask) | bits. The assembly is one instruction, whereas nvcc compiles the expression to two
/// if both `mask` and `bits` are constants.
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

/// Returns, in fp16, 1024 + u for both codes u of an even pair, and 1024 + 16 u for those of an odd pair.
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_int4_pair(std::uint32_t word, int pair) {
    const std::uint32_t mask = (pair & 1) == 0 ? 0x000f000fU : 0x00f000f0U;
    return masked_or(pair < 2 ? word : word >> 8, mask, 0x64006400U);
}
/// Returns the correction of a pair: raw − 1032 for an even pair, raw ÷ 16 − 72 for an odd one.
PARETOKEN_HOST_DEVICE constexpr Correction int4_correction(int pair) {
    return (pair & 1) == 0 ? Correction{kFp16One, 0xe408} : Correction{0x2c00, 0xd480};
}

/// Moves the bits of e4m3 codes to the places that they have in fp16. The result is the value / 256, which is
/// exact for finite codes, including subnormal ones.
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_e4m3_pair(std::uint32_t word, int pair) {
    const std::uint32_t high_bytes = picked_bytes(word, 0, pair == 0 ? 0x1404 : 0x3424);
    return (high_bytes & 0x80008000U) | (high_bytes >> 1 & 0x3f803f80U);
}
inline constexpr float kRawE4m3Scale = 256;  ///< value ÷ raw value

/// Moves the bits of e2m1 codes to the places that they have in fp16. The result is the value / 2^14, which
/// is exact.
PARETOKEN_HOST_DEVICE inline std::uint32_t raw_e2m1_pair(std::uint32_t word, int pair) {
    if (pair == 0) return word & 0x8e008e00U;
    if (pair == 1) return word << 3 & 0x8e008e00U;
    if (pair == 2) return (word << 1 & 0x80008000U) | (word << 6 & 0x0e000e00U);
    return (word << 2 & 0x80008000U) | (word << 9 & 0x0e000e00U);
}
inline constexpr float kRawE2m1Scale = 16384;  ///< value ÷ raw value
/// Returns the bits of a float: the value of an e8m0 scale times kRawE2m1Scale. It is valid for codes up to
/// 240.
PARETOKEN_HOST_DEVICE constexpr std::uint32_t float_bits_of_raw_e8m0(std::uint32_t code) {
    return (code + 14) << 23;
}

}  // namespace paretoken::microbench::gpu
