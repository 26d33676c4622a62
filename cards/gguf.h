#pragma once
// Reads the header of a GGUF file: metadata and the list of tensors, never the weights themselves. Nothing in
// the file is trusted: counts, lengths and offsets are checked against the file's size before they are used.
// Format: github.com/ggml-org/ggml, docs/gguf.md (versions 2 and 3, little endian).
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace paretoken::cards {

/// An array: its length and its numbers. `numbers` is empty for an array of strings. It is also empty for an
/// array of more than 4096 numbers: only arrays with one number per layer are used, and these are shorter.
struct GgufArray {
    std::uint64_t length = 0;
    std::vector<double> numbers;

    bool operator==(const GgufArray&) const = default;
};

/// A value of the metadata. All types of numbers are read as double.
using GgufValue = std::variant<bool, double, std::string, GgufArray>;

struct GgufTensor {
    std::string name;
    std::vector<std::uint64_t> shape;  ///< sizes of the dimensions, the fastest-varying first
    std::string dtype;                 ///< number format: "bf16", "q4_k" (the names of core/formats.h)
    std::uint64_t values = 0;          ///< number of values
    std::uint64_t bytes = 0;           ///< size of all values in bytes

    bool operator==(const GgufTensor&) const = default;
};

struct GgufHeader {
    std::uint32_t version = 0;
    std::map<std::string, GgufValue> metadata;
    std::vector<GgufTensor> tensors;

    // Each returns the value of a metadata key; nothing (null) when the key is absent or has another type.
    // number() returns 0 or 1 for a boolean.
    std::optional<double> number(const std::string& key) const;
    std::optional<std::string> string(const std::string& key) const;
    const GgufArray* array(const std::string& key) const;
};

/// Reads the header. Throws a UsageError that names the file and the problem, also for cut off weights.
GgufHeader read_gguf_header(const std::filesystem::path& path);

/// Whether the file begins with GGUF's magic number; false for a file that cannot be read.
bool is_gguf(const std::filesystem::path& path);

}  // namespace paretoken::cards
