#pragma once
// The number formats that weights and KV caches come in: the one table that model cards, kernels, KV caches,
// reports and the simulator share. Every spelling of a format leads to the same row. Formats with blocks
// count the scales within them (q4_1: 20 bytes for 32 values), so that sizes are exact. int4, int8 and fp8
// stand bare: how many scales they have depends on the checkpoint.
#include <cstdint>
#include <span>
#include <string_view>

namespace paretoken {

/// Which arithmetic the fastest hardware multiplies numbers of a format with.
enum class Arithmetic : std::uint8_t { f64, f32, f16, bf16, fp8, int8, fp4 };
std::string_view name_of(Arithmetic arithmetic);

struct NumberFormat {
    std::string_view name;           ///< "q4_1"
    std::uint32_t values_per_block;  ///< 1 for plain formats
    std::uint32_t bytes_per_block;   ///< with the scales of the block
    int ggml_type;                   ///< number in GGUF files; −1 when it has none
    Arithmetic arithmetic;
};

/// Another spelling, in lower case: of frameworks, checkpoints or kernels ("bfloat16", "fp8_e4m3", "w4a16").
struct FormatAlias {
    std::string_view alias;
    std::string_view name;  ///< of the format
};

std::span<const NumberFormat> number_formats();
std::span<const FormatAlias> format_aliases();

/// By name or alias; letters in either case, "-" as "_". Null when unknown.
const NumberFormat* find_format(std::string_view name);
const NumberFormat* format_of_ggml(int ggml_type);

/// Throws UsageError naming the nearest known format where one is near, else all of them.
const NumberFormat& number_format(std::string_view name);

/// The format's own name for any of its spellings; a name that is unknown stays as it is.
std::string_view format_name(std::string_view name);

constexpr double bytes_per_value(const NumberFormat& format) {
    return static_cast<double>(format.bytes_per_block) / format.values_per_block;
}
/// With the scales of its blocks.
constexpr double bits_per_value(const NumberFormat& format) {
    return 8 * bytes_per_value(format);
}

}  // namespace paretoken
