#pragma once
// Datasheet figures of GPUs, for the hardware limit and the simulated server. FLOP are dense (without
// structured sparsity); every card names the source of its figures.
#include <cstdint>
#include <filesystem>
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
    /// Other names by which find_gpu() finds the card: "h100 80gb hbm3".
    std::vector<std::string> aliases;
    double memory_bytes = 0;    ///< size by the product's name
    double reported_bytes = 0;  ///< size that the driver reports; engines take their shares of it
    double memory_bytes_per_s = 0;
    std::map<std::string, double> flops;  ///< dense FLOP per second by dtype: "bf16", "fp8", "int8", "fp4"
    std::optional<std::uint32_t> cores = {};  ///< threads that compute; only in the card of a CPU
    std::optional<double> tdp_w;
    std::string link;                        ///< link to the machine's other GPUs: "NVLink 4", "PCIe 5.0"
    std::optional<double> link_bytes_per_s;  ///< that link's speed in one direction
    std::string source;
    std::string as_of;  ///< month of the source: "2023-03"

    bool operator==(const GpuCard&) const = default;
};

struct GpuSpec {
    std::string name;  ///< name of the card if there is one, else the text as given
    std::uint32_t count = 1;

    bool operator==(const GpuSpec&) const = default;
};

/// Finds the card whose name or alias has all its words in the text, in any order and case: "NVIDIA H100 80GB
/// HBM3" → h100-sxm. Nothing for a tie, and for a product variant without a card of its own.
std::optional<GpuCard> find_gpu(std::string_view text);

/// Returns the letters and digits of a name in lower case, without everything between them.
std::string letters_and_digits(std::string_view name);

/// Returns a name by which equal hardware is equal: that of its card, or letters_and_digits() of the name if
/// it has none or is a simulated server ("sim:…").
std::string normalised_hardware(std::string_view name);

/// Reads the card of a CPU from a file, which `paretoken micro --card` writes. It has the keys of a GPU's
/// card and "cores", and the FLOP/s of 32-bit numbers ("f32"), which it gets for every other kind of
/// arithmetic that it lacks. Throws a UsageError that names the file and what is wrong.
GpuCard read_cpu_card(const std::filesystem::path& path);

std::string cpu_card_text(const GpuCard& card);

/// Finds a card like find_gpu(), but throws a UsageError that lists the known names when there is none.
GpuCard gpu_card(std::string_view text);

/// Parses "h200" or "h200x2"; a name needs no card. Throws UsageError for an empty name or a count of 0.
GpuSpec parse_gpu_spec(std::string_view text);

/// Throws UsageError if a spec of parse_gpu_spec() has a name without a card, with the names of similar ones.
/// `cpu`, this host's processor, and names that begin with "other:" are accepted.
void require_known_gpu(std::string_view text, std::string_view cpu);

/// A kind of arithmetic, and the dense FLOP per second that a card has for it.
struct GpuFlops {
    std::string dtype;  ///< key in GpuCard::flops
    double per_s = 0;
};
/// The kinds of arithmetic with which a GPU can multiply weights of this format, the fastest first: "fp4",
/// "fp8", "bf16", "f16" for mxfp4. f32 and f64 are treated as f16, and an unknown format as 8-bit integers.
std::span<const std::string_view> arithmetic_for_weights(std::string_view weight_dtype);

/// The first of arithmetic_for_weights() for which the card has a figure; nothing when it has none.
std::optional<GpuFlops> flops_for_weights(const GpuCard& card, std::string_view weight_dtype);

std::vector<std::string> known_gpus();

}  // namespace paretoken::cards
