#pragma once
// How many bytes a stored value takes, for every type that weights and KV caches come in. Types with blocks
// count their scales (q4_1: 20 bytes for 32 values), so sizes are exact; "int4" is bare, its scales depend on
// the group.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace paretoken::cards {

struct Dtype {
    std::string_view name;           ///< "q4_1"
    std::uint32_t values_per_block;  ///< 1 for plain types
    std::uint32_t bytes_per_block;
    int ggml_type;  ///< number in GGUF files; −1 when it has none
};

std::span<const Dtype> dtypes();

/// By name, as frameworks spell it ("bfloat16", "BF16", "fp8_e4m3", "w4a16"); nothing when unknown.
const Dtype* dtype_named(std::string_view name);
const Dtype* dtype_of_ggml(int ggml_type);

/// Throws UsageError that lists the known names.
const Dtype& require_dtype(std::string_view name);

constexpr double bytes_per_value(const Dtype& dtype) {
    return static_cast<double>(dtype.bytes_per_block) / dtype.values_per_block;
}

}  // namespace paretoken::cards
