#pragma once
// The operands of y[tokens, rows] = x[tokens, k] · W[rows, k]ᵀ as libraries take them: what their elements
// are, which of them share a scale, and where that scale lies. Packers, references and tests share the same
// maps. Layouts and what is supported where: cuBLAS 13 documentation, 3.1.4 "Narrow precision data types
// usage". Compiles with and without CUDA.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "microbench/gpu/device/host_device.h"
#include "microbench/gpu/formats/dtypes.h"

namespace paretoken::microbench::gpu {

/// Both operands have the form's elements. bf16 has no scales; fp8 is e4m3 with one scale per operand,
/// fp8_rows with one per row of W and per token, fp8_blocks with one per 128 × 128 of W and per 128 of a
/// token; mxfp8 is e4m3 with an e8m0 scale per 32 of k, nvfp4 e2m1 with an e4m3 scale per 16 of k. int8 has
/// none, and whole 32-bit numbers as its result; all others give bf16.
enum class GemmForm { bf16, fp8, fp8_rows, fp8_blocks, mxfp8, nvfp4, int8 };
inline constexpr GemmForm kGemmForms[] = {GemmForm::bf16,       GemmForm::fp8,   GemmForm::fp8_rows,
                                          GemmForm::fp8_blocks, GemmForm::mxfp8, GemmForm::nvfp4,
                                          GemmForm::int8};
std::string_view name_of(GemmForm form);

/// What a scale is shared by. Floats, but for groups of 32 (e8m0) and of 16 (e4m3 without a sign).
enum class Scaling { none, operand, row, groups_of_128, blocks_of_128, groups_of_32, groups_of_16 };

struct GemmShape {
    std::size_t rows = 0;
    std::size_t k = 0;
    std::size_t tokens = 0;

    bool operator==(const GemmShape&) const = default;
    double flops() const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(k) * static_cast<double>(tokens);
    }
};

/// Whether cuBLASLt takes a form on this compute capability: documented, not documented (ask it), or no
/// instruction for it.
enum class Offer { documented, to_be_asked, none };
Offer offer_of(GemmForm form, int capability);
/// For Offer::none: "w:nvfp4 needs sm_100, this GPU has sm_90".
std::string lack_of(GemmForm form, int capability);

/// Whether the library has another way to add such products up: on Ada and Hopper sums of fp8 products stay
/// in the tensor cores instead of going to fp32 every 128 of k. Faster, less exact, and what libraries leave
/// off.
constexpr bool has_fast_accumulation(GemmForm form, int capability) {
    return form == GemmForm::fp8 && (capability == 89 || capability == 90);
}

/// Whether dimensions and addresses are the multiples that the form's kernels want (16 bytes).
bool fits(GemmForm form, const GemmShape& shape);

PARETOKEN_HOST_DEVICE constexpr int bits_of(GemmForm form) {
    return form == GemmForm::bf16 ? 16 : form == GemmForm::nvfp4 ? 4 : 8;
}
PARETOKEN_HOST_DEVICE constexpr std::size_t result_bytes(GemmForm form) {
    return form == GemmForm::int8 ? 4 : 2;
}
PARETOKEN_HOST_DEVICE constexpr Scaling weight_scaling(GemmForm form) {
    switch (form) {
        case GemmForm::fp8:
            return Scaling::operand;
        case GemmForm::fp8_rows:
            return Scaling::row;
        case GemmForm::fp8_blocks:
            return Scaling::blocks_of_128;
        case GemmForm::mxfp8:
            return Scaling::groups_of_32;
        case GemmForm::nvfp4:
            return Scaling::groups_of_16;
        default:
            return Scaling::none;
    }
}
PARETOKEN_HOST_DEVICE constexpr Scaling token_scaling(GemmForm form) {
    return form == GemmForm::fp8_blocks ? Scaling::groups_of_128 : weight_scaling(form);
}

/// Relative L2 error that 64 neighbouring results may have. Rounding to bf16 costs at most 2^-7 / √12 =
/// 2.3e-3 (all of them just above a power of two), and errors of sums, which are independent of it, may be
/// 3.3e-3 beside that: Hopper's fp8 units cut products off at about 13 bits below the largest of 32, until
/// their sum goes to fp32 every 128 of k (4 · 2^-13 = 4.9e-4, some times over where terms cancel), the others
/// add in fp32. Whole numbers are exact.
constexpr double result_bound(GemmForm form) {
    return form == GemmForm::int8 ? 0 : 4e-3;
}

/// The same where sums stay in the tensor cores: each step, of 32 of k, cuts the sum off 13 bits below its
/// largest part.
constexpr double fast_result_bound(GemmForm form, std::size_t k) {
    return result_bound(form) + static_cast<double>(k) / 32 / 8192;
}

/// What is wrong with results, rows that follow one another, as words hold them; nothing when they keep
/// `bound`.
std::optional<std::string> fault_of(GemmForm form, std::span<const std::uint32_t> words,
                                    std::span<const double> wanted, double bound);
inline std::optional<std::string> fault_of(GemmForm form, std::span<const std::uint32_t> words,
                                           std::span<const double> wanted) {
    return fault_of(form, words, wanted, result_bound(form));
}

// ---- elements

/// The number at `place` of an operand, without its scale. nvfp4 has the first of two in the low nibble.
PARETOKEN_HOST_DEVICE inline double element_value(GemmForm form, const std::uint8_t* operand,
                                                  std::size_t place) {
    switch (form) {
        case GemmForm::bf16:
            return value_of_bf16(operand[2 * place] | static_cast<unsigned>(operand[2 * place + 1]) << 8);
        case GemmForm::nvfp4:
            return value_of_e2m1(operand[place / 2] >> (place % 2 * 4) & 15U);
        case GemmForm::int8:
            return static_cast<double>(static_cast<std::int8_t>(operand[place]));
        default:
            return value_of_e4m3(operand[place]);
    }
}

// ---- scales of an operand [outer, k], outer being rows of W or tokens

PARETOKEN_HOST_DEVICE constexpr std::size_t divided_up(std::size_t a, std::size_t b) {
    return (a + b - 1) / b;
}
PARETOKEN_HOST_DEVICE constexpr std::size_t rounded_up(std::size_t a, std::size_t b) {
    return divided_up(a, b) * b;
}

/// Neighbours along k that share a scale; 0: all of a row.
PARETOKEN_HOST_DEVICE constexpr std::size_t group_of(Scaling scaling) {
    switch (scaling) {
        case Scaling::groups_of_128:
        case Scaling::blocks_of_128:
            return 128;
        case Scaling::groups_of_32:
            return 32;
        case Scaling::groups_of_16:
            return 16;
        default:
            return 0;
    }
}
PARETOKEN_HOST_DEVICE constexpr bool is_tiled(Scaling scaling) {
    return scaling == Scaling::groups_of_32 || scaling == Scaling::groups_of_16;
}
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_bytes(Scaling scaling) {
    return is_tiled(scaling) ? 1 : 4;
}

/// Different scales of an operand: (row of scales, column of scales).
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_rows(Scaling scaling, std::size_t outer) {
    if (scaling == Scaling::none) return 0;
    if (scaling == Scaling::operand) return 1;
    return scaling == Scaling::blocks_of_128 ? divided_up(outer, 128) : outer;
}
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_columns(Scaling scaling, std::size_t k) {
    return group_of(scaling) == 0 ? 1 : divided_up(k, group_of(scaling));
}

/// Scales with what only fills up, which is 0.
PARETOKEN_HOST_DEVICE constexpr std::size_t stored_scales(Scaling scaling, std::size_t outer, std::size_t k) {
    const std::size_t rows = scale_rows(scaling, outer);
    const std::size_t columns = scale_columns(scaling, k);
    if (is_tiled(scaling)) return rounded_up(rows, 128) * rounded_up(columns, 4);
    return scaling == Scaling::blocks_of_128 ? rows * rounded_up(columns, 4) : rows * columns;
}

/// Where the scale (row, column) lies: groups of 128 with rows side by side, blocks with columns side by side
/// and rows a multiple of 4 apart; groups of 32 and 16 in tiles of 128 rows by 4 columns, 512 bytes each, a
/// tile's rows 0, 32, 64 and 96 together.
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_place(Scaling scaling, std::size_t outer, std::size_t k,
                                                        std::size_t row, std::size_t column) {
    const std::size_t columns = scale_columns(scaling, k);
    if (is_tiled(scaling)) {
        const std::size_t tile = row / 128 * divided_up(columns, 4) + column / 4;
        return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
    }
    if (scaling == Scaling::blocks_of_128) return row * rounded_up(columns, 4) + column;
    return column * scale_rows(scaling, outer) + row;
}

/// The place of the scale of element (index, at) of an operand.
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_place_of(Scaling scaling, std::size_t outer, std::size_t k,
                                                           std::size_t index, std::size_t at) {
    const std::size_t row = scaling == Scaling::operand         ? 0
                            : scaling == Scaling::blocks_of_128 ? index / 128
                                                                : index;
    const std::size_t column = group_of(scaling) == 0 ? 0 : at / group_of(scaling);
    return scale_place(scaling, outer, k, row, column);
}

PARETOKEN_HOST_DEVICE inline double value_of_ue4m3(unsigned code) {
    return value_of_e4m3(code & 0x7f);
}

/// Of a stored scale: the bits of a float, or a code.
PARETOKEN_HOST_DEVICE inline double scale_value(Scaling scaling, std::uint32_t bits) {
    switch (scaling) {
        case Scaling::none:
            return 1;
        case Scaling::groups_of_32:
            return value_of_e8m0(bits & 0xff);
        case Scaling::groups_of_16:
            return value_of_ue4m3(bits & 0xff);
        default:
            return small_float(bits, 8, 23, 127);
    }
}

/// A scale from random bits: a float in [2^-7, 2^-6), an e8m0 in 2^-9 … 2^-5, an e4m3 in [2^-2, 2^2).
PARETOKEN_HOST_DEVICE constexpr std::uint32_t random_scale(Scaling scaling, std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    switch (scaling) {
        case Scaling::groups_of_32:
            return 118 + low % 5;
        case Scaling::groups_of_16:
            return (5 + low / 8 % 4) << 3 | low % 8;
        default:
            return 0x3c000000U | (low & 0x007fffffU);
    }
}

/// Signs of a word's elements (bit 7 of whole numbers, which is worth 128): what a planted fault turns over.
PARETOKEN_HOST_DEVICE constexpr std::uint32_t sign_bits(GemmForm form) {
    return form == GemmForm::bf16 ? 0x80008000U : form == GemmForm::nvfp4 ? 0x88888888U : 0x80808080U;
}

// ---- bytes, without what only fills up

double weight_bytes(GemmForm form, const GemmShape& shape);
double token_bytes(GemmForm form, const GemmShape& shape);

}  // namespace paretoken::microbench::gpu
