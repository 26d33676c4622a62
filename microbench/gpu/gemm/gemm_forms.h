#pragma once
// The operands of y[tokens, rows] = x[tokens, k] · W[rows, k]ᵀ in the formats that cuBLASLt, NVIDIA's library
// of matrix products, accepts: the type of the elements, the elements that share a scale, and the place of
// that scale in memory. The code that fills operands, references and tests share these functions. The source
// of the layouts and of the supported GPUs is the cuBLAS 13 documentation, 3.1.4 "Narrow precision data types
// usage". Compiles with and without CUDA.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "microbench/gpu/formats/dtypes.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// The number format of a product. Both operands have the same element type.
/// - bf16 has no scales.
/// - fp8 is e4m3 with one scale per operand.
/// - fp8_rows is e4m3 with one scale per row of W and one per token.
/// - fp8_blocks is e4m3 with one scale per block of 128 × 128 elements of W and per 128 elements of a token.
/// - mxfp8 is e4m3 with one e8m0 scale per 32 elements along k.
/// - nvfp4 is e2m1 with one e4m3 scale per 16 elements along k.
/// - int8 has no scales, and its results are 32-bit integers. The results of all other forms are bf16.
enum class GemmForm { bf16, fp8, fp8_rows, fp8_blocks, mxfp8, nvfp4, int8 };
inline constexpr GemmForm kGemmForms[] = {GemmForm::bf16,       GemmForm::fp8,   GemmForm::fp8_rows,
                                          GemmForm::fp8_blocks, GemmForm::mxfp8, GemmForm::nvfp4,
                                          GemmForm::int8};
std::string_view name_of(GemmForm form);

/// The elements that share one scale. Scales are floats, except those of groups of 32 (e8m0) and of groups of
/// 16 (e4m3 without a sign).
enum class Scaling { none, operand, row, groups_of_128, blocks_of_128, groups_of_32, groups_of_16 };

struct GemmShape {
    std::size_t rows = 0;    ///< of W
    std::size_t k = 0;       ///< columns of W and of x
    std::size_t tokens = 0;  ///< rows of x

    bool operator==(const GemmShape&) const = default;
    double flops() const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(k) * static_cast<double>(tokens);
    }
};

/// Whether cuBLASLt supports a form on a compute capability. `documented`: its documentation says so.
/// `to_be_asked`: the documentation does not say, so the library is asked at run time. `none`: the form needs
/// a newer GPU.
enum class Offer { documented, to_be_asked, none };
/// `capability` is the compute capability × 10, such as 90.
Offer offer_of(GemmForm form, int capability);
/// Returns the reason for Offer::none, such as "w:nvfp4 needs sm_100, this GPU has sm_90".
std::string lack_of(GemmForm form, int capability);

/// Returns whether the library has a second way to accumulate the products. On Ada and Hopper the sums of fp8
/// products can stay in the tensor cores instead of being added in fp32 every 128 elements of k. This is
/// faster and less exact, and libraries do not use it by default.
constexpr bool has_fast_accumulation(GemmForm form, int capability) {
    return form == GemmForm::fp8 && (capability == 89 || capability == 90);
}

/// Returns whether the dimensions are multiples of the numbers that the library's kernels need: rows of 16, k
/// of 16 (32 in mxfp8 and nvfp4), and tokens of 16 (any number in bf16).
bool fits(GemmForm form, const GemmShape& shape);

/// The properties of a form that determine its operands in memory; device code reads them too. The table in
/// gemm_forms.cpp has the form's name and the GPUs that support it.
struct GemmTraits {
    int bits;         ///< of an element
    Scaling weights;  ///< of W
    Scaling tokens;   ///< of x
    /// Mask of the sign bits of all elements in a 32-bit word. In an integer it is bit 7, which is worth
    /// −128.
    std::uint32_t sign_bits;
};
PARETOKEN_HOST_DEVICE constexpr GemmTraits traits_of(GemmForm form) {
    switch (form) {
        case GemmForm::bf16:
            return {16, Scaling::none, Scaling::none, 0x80008000U};
        case GemmForm::fp8:
            return {8, Scaling::operand, Scaling::operand, 0x80808080U};
        case GemmForm::fp8_rows:
            return {8, Scaling::row, Scaling::row, 0x80808080U};
        case GemmForm::fp8_blocks:
            return {8, Scaling::blocks_of_128, Scaling::groups_of_128, 0x80808080U};
        case GemmForm::mxfp8:
            return {8, Scaling::groups_of_32, Scaling::groups_of_32, 0x80808080U};
        case GemmForm::nvfp4:
            return {4, Scaling::groups_of_16, Scaling::groups_of_16, 0x88888888U};
        case GemmForm::int8:
            return {8, Scaling::none, Scaling::none, 0x80808080U};
    }
    return {};
}
PARETOKEN_HOST_DEVICE constexpr int bits_of(GemmForm form) {
    return traits_of(form).bits;
}
/// Returns the size of one result in bytes.
PARETOKEN_HOST_DEVICE constexpr std::size_t result_bytes(GemmForm form) {
    return form == GemmForm::int8 ? 4 : 2;
}

/// Returns the relative L2 error that 64 neighbouring results may have, which is 4e-3 for all forms but int8.
/// It leaves room for two independent errors. Rounding to bf16 costs at most 2^-7 / √12 = 2.3e-3, if all
/// results are just above a power of two. The sums may add an error of 3.3e-3. Hopper's fp8 units truncate
/// products at about 13 bits below the largest of 32, and add their sum in fp32 every 128 elements of k; this
/// costs 4 · 2^-13 = 4.9e-4, and several times as much if terms cancel. All other units add in fp32. Integers
/// are exact.
constexpr double result_bound(GemmForm form) {
    return form == GemmForm::int8 ? 0 : 4e-3;
}

/// Returns the allowed relative L2 error if the sums stay in the tensor cores (has_fast_accumulation). Each
/// step of 32 elements of k then truncates the sum at 13 bits below its largest part.
constexpr double fast_result_bound(GemmForm form, std::size_t k) {
    return result_bound(form) + static_cast<double>(k) / 32 / 8192;
}

/// Compares the results of one token for consecutive rows with their reference. `words` hold the results as
/// the GPU writes them: two bf16 numbers or one 32-bit integer per word. Returns a description of the error,
/// or nothing if the relative L2 error of every 64 neighbouring results is at most `bound` (integers must be
/// equal).
std::optional<std::string> fault_of(GemmForm form, std::span<const std::uint32_t> words,
                                    std::span<const double> wanted, double bound);
inline std::optional<std::string> fault_of(GemmForm form, std::span<const std::uint32_t> words,
                                           std::span<const double> wanted) {
    return fault_of(form, words, wanted, result_bound(form));
}

// ---- elements

/// Returns element `place` of an operand, without its scale. In nvfp4 the low nibble of a byte holds the
/// first of its two elements.
PARETOKEN_HOST_DEVICE inline double element_value(GemmForm form, const std::uint8_t* operand,
                                                  std::size_t place) {
    switch (form) {
        case GemmForm::bf16:
            return value_of_bf16(operand[2 * place] | static_cast<unsigned>(operand[2 * place + 1]) << 8);
        case GemmForm::nvfp4:
            return value_of_e2m1(operand[place / 2] >> (place % 2 * 4) & 15U);
        case GemmForm::int8:
            return static_cast<double>(static_cast<std::int8_t>(operand[place]));
        case GemmForm::fp8:
        case GemmForm::fp8_rows:
        case GemmForm::fp8_blocks:
        case GemmForm::mxfp8:
            break;
    }
    return value_of_e4m3(operand[place]);
}

// ---- scales of an operand [outer, k], where `outer` is the number of rows of W or of tokens

PARETOKEN_HOST_DEVICE constexpr std::size_t divided_up(std::size_t a, std::size_t b) {
    return (a + b - 1) / b;
}
PARETOKEN_HOST_DEVICE constexpr std::size_t rounded_up(std::size_t a, std::size_t b) {
    return divided_up(a, b) * b;
}

/// Returns how many neighbours along k share a scale; 0 means all elements of a row.
PARETOKEN_HOST_DEVICE constexpr std::size_t group_of(Scaling scaling) {
    switch (scaling) {
        case Scaling::groups_of_128:
        case Scaling::blocks_of_128:
            return 128;
        case Scaling::groups_of_32:
            return 32;
        case Scaling::groups_of_16:
            return 16;
        case Scaling::none:
        case Scaling::operand:
        case Scaling::row:
            break;
    }
    return 0;
}
/// Returns whether the scales are stored in tiles, see scale_place.
PARETOKEN_HOST_DEVICE constexpr bool is_tiled(Scaling scaling) {
    return scaling == Scaling::groups_of_32 || scaling == Scaling::groups_of_16;
}
/// Returns the size of one scale in bytes.
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_bytes(Scaling scaling) {
    return is_tiled(scaling) ? 1 : 4;
}

/// The scales of an operand form a matrix; these functions return its number of rows and of columns.
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_rows(Scaling scaling, std::size_t outer) {
    if (scaling == Scaling::none) return 0;
    if (scaling == Scaling::operand) return 1;
    return scaling == Scaling::blocks_of_128 ? divided_up(outer, 128) : outer;
}
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_columns(Scaling scaling, std::size_t k) {
    return group_of(scaling) == 0 ? 1 : divided_up(k, group_of(scaling));
}

/// Returns the number of stored scales, including the padding, which is 0.
PARETOKEN_HOST_DEVICE constexpr std::size_t stored_scales(Scaling scaling, std::size_t outer, std::size_t k) {
    const std::size_t rows = scale_rows(scaling, outer);
    const std::size_t columns = scale_columns(scaling, k);
    if (is_tiled(scaling)) return rounded_up(rows, 128) * rounded_up(columns, 4);
    return scaling == Scaling::blocks_of_128 ? rows * rounded_up(columns, 4) : rows * columns;
}

/// Returns the index, in memory, of the scale in a row and column of the matrix that scale_rows() and
/// scale_columns() describe. Scales of groups of 128 are stored column by column. Scales of blocks of 128 ×
/// 128 are stored row by row, and each row is padded to a multiple of 4. Scales of groups of 32 and 16 are
/// stored in tiles of 128 rows by 4 columns, 512 bytes each; within a tile, rows 0, 32, 64 and 96 follow
/// one another.
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

/// Returns the index in memory of the scale of the element in row `index` and column `at` of an operand.
PARETOKEN_HOST_DEVICE constexpr std::size_t scale_place_of(Scaling scaling, std::size_t outer, std::size_t k,
                                                           std::size_t index, std::size_t at) {
    const std::size_t row = scaling == Scaling::operand         ? 0
                            : scaling == Scaling::blocks_of_128 ? index / 128
                                                                : index;
    const std::size_t column = group_of(scaling) == 0 ? 0 : at / group_of(scaling);
    return scale_place(scaling, outer, k, row, column);
}

/// Returns the value of an e4m3 code whose sign bit is ignored.
PARETOKEN_HOST_DEVICE inline double value_of_ue4m3(unsigned code) {
    return value_of_e4m3(code & 0x7f);
}

/// Returns the number of a stored scale. `bits` are the bits of a float or the code of a small format.
PARETOKEN_HOST_DEVICE inline double scale_value(Scaling scaling, std::uint32_t bits) {
    switch (scaling) {
        case Scaling::none:
            return 1;
        case Scaling::groups_of_32:
            return value_of_e8m0(bits & 0xff);
        case Scaling::groups_of_16:
            return value_of_ue4m3(bits & 0xff);
        case Scaling::operand:
        case Scaling::row:
        case Scaling::groups_of_128:
        case Scaling::blocks_of_128:
            break;
    }
    return small_float(bits, 8, 23, 127);
}

/// Makes a stored scale from random bits: a float in [2^-7, 2^-6), an e8m0 number from 2^-9 to 2^-5, or an
/// e4m3 number in [2^-2, 2^2).
PARETOKEN_HOST_DEVICE constexpr std::uint32_t random_scale(Scaling scaling, std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    switch (scaling) {
        case Scaling::groups_of_32:
            return 118 + low % 5;
        case Scaling::groups_of_16:
            return (5 + low / 8 % 4) << 3 | low % 8;
        case Scaling::none:
        case Scaling::operand:
        case Scaling::row:
        case Scaling::groups_of_128:
        case Scaling::blocks_of_128:
            break;
    }
    return 0x3c000000U | (low & 0x007fffffU);
}

// ---- bytes of the operands with their scales, without padding

double weight_bytes(GemmForm form, const GemmShape& shape);
double token_bytes(GemmForm form, const GemmShape& shape);

}  // namespace paretoken::microbench::gpu
