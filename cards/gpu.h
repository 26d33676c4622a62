#pragma once
// Datasheet figures of accelerators: what a limit falls back on where nothing was measured. Dense figures
// only (no structured sparsity); every card says where its figures come from.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cards {

struct GpuCard {
    std::string name;   ///< "h100-sxm"
    std::string title;  ///< "NVIDIA H100 SXM 80 GB"
    std::vector<std::string> aliases;
    double memory_bytes = 0;
    double memory_bytes_per_s = 0;
    std::map<std::string, double> flops;  ///< dense, per second, by dtype: "bf16", "fp8", "int8", "fp4"
    std::optional<double> tdp_w;
    std::optional<double> link_bytes_per_s;  ///< to the other GPUs of the machine, in one direction
    std::string source;
    std::string as_of;

    bool operator==(const GpuCard&) const = default;
};

/// One or several of the same.
struct GpuSpec {
    std::string name;  ///< the card's name when there is one, else as given
    std::uint32_t count = 1;

    bool operator==(const GpuSpec&) const = default;
};

/// A text names a card when it contains all words of one of its aliases, the longest winning:
/// "NVIDIA H100 80GB HBM3", "sim:llama3-8b-h100-bf16" → h100-sxm. Nothing when none or several match, and
/// nothing for a variant that has no card of its own, told by its words or its memory: "NVIDIA H200 NVL",
/// "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A100-SXM-64GB".
std::optional<GpuCard> find_gpu(std::string_view text);

/// As find_gpu, but throws UsageError that lists the known names.
GpuCard gpu_card(std::string_view text);

/// "h200", "h200x2". A name without a card is kept as it is. Throws UsageError on an empty name or a count of
/// 0.
GpuSpec parse_gpu_spec(std::string_view text);

struct GpuFlops {
    std::string dtype;
    double per_s = 0;
};
/// The kinds of arithmetic that weights of this format can be multiplied with, fastest first: "fp4", "fp8",
/// "bf16", "f16" for mxfp4.
std::span<const std::string_view> arithmetic_for_weights(std::string_view weight_dtype);

/// The fastest arithmetic that weights of this type can use (fp8 where the GPU has it, else bf16, …).
std::optional<GpuFlops> flops_for_weights(const GpuCard& card, std::string_view weight_dtype);

std::vector<std::string> known_gpus();

}  // namespace paretoken::cards
