#pragma once
// The header of a GGUF file: metadata and the list of tensors, never the weights themselves. Nothing in the
// file is trusted: counts, lengths and offsets are checked against its size before they are used. Format:
// github.com/ggml-org/ggml, docs/gguf.md (versions 2 and 3, little endian).
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace paretoken::cards {

/// An array's length, and its numbers when they are few enough to be a per-layer list.
struct GgufArray {
    std::uint64_t length = 0;
    std::vector<double> numbers;

    bool operator==(const GgufArray&) const = default;
};

using GgufValue = std::variant<bool, double, std::string, GgufArray>;

struct GgufTensor {
    std::string name;
    std::vector<std::uint64_t> shape;  ///< fastest first
    std::string dtype;                 ///< core/formats.h
    std::uint64_t values = 0;
    std::uint64_t bytes = 0;

    bool operator==(const GgufTensor&) const = default;
};

struct GgufHeader {
    std::uint32_t version = 0;
    std::map<std::string, GgufValue> metadata;
    std::vector<GgufTensor> tensors;

    std::optional<double> number(const std::string& key) const;
    std::optional<std::string> string(const std::string& key) const;
    const GgufArray* array(const std::string& key) const;
};

/// Throws UsageError naming the file and what is wrong with it (not GGUF, too old, cut off, impossible
/// sizes).
GgufHeader read_gguf_header(const std::filesystem::path& path);

/// Whether the file begins with GGUF's magic; false for what cannot be read.
bool is_gguf(const std::filesystem::path& path);

}  // namespace paretoken::cards
