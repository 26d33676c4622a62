#pragma once
// The table of number formats that cards, kernels, reports and the simulator share. Sizes include the scales
// within blocks (q4_1: 20 bytes for 32 values), but not those of int4, int8 and fp8.
#include <cstdint>
#include <span>
#include <string_view>

namespace paretoken {

/// The arithmetic with which the fastest hardware multiplies numbers of a format.
enum class Arithmetic : std::uint8_t { f64, f32, f16, bf16, fp8, int8, fp4 };
std::string_view name_of(Arithmetic arithmetic);

struct NumberFormat {
    std::string_view name;           ///< "q4_1"
    std::uint32_t values_per_block;  ///< 1 for plain formats
    std::uint32_t bytes_per_block;   ///< with the scales of the block
    int ggml_type;                   ///< number in GGUF files; −1 when it has none
    Arithmetic arithmetic;
};

/// Another spelling of a format, in lower case ("bfloat16", "fp8_e4m3", "w4a16").
struct FormatAlias {
    std::string_view alias;
    std::string_view name;  ///< name of the format
};

std::span<const NumberFormat> number_formats();
std::span<const FormatAlias> format_aliases();

/// Finds a format by name or alias; case does not matter, and "-" equals "_". Null when unknown.
const NumberFormat* find_format(std::string_view name);
/// Finds a format by its number in GGUF files. Null when unknown.
const NumberFormat* format_of_ggml(int ggml_type);

/// Finds a format. Throws UsageError naming the most similar known format if there is one, else all of them.
const NumberFormat& number_format(std::string_view name);

/// Returns the format's own name for any of its spellings; an unknown name is returned unchanged.
std::string_view format_name(std::string_view name);

constexpr double bytes_per_value(const NumberFormat& format) {
    return static_cast<double>(format.bytes_per_block) / format.values_per_block;
}

}  // namespace paretoken
