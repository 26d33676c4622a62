#pragma once
// The protocol that the simulated server speaks: the frames, errors, headers and metrics of vLLM 0.32 or of
// llama.cpp's server.
#include <cstdint>
#include <optional>
#include <string_view>

namespace paretoken::sim {

enum class Dialect : std::uint8_t { vllm, llamacpp };

constexpr std::string_view name_of(Dialect dialect) {
    return dialect == Dialect::vllm ? "vllm" : "llamacpp";
}

constexpr std::optional<Dialect> dialect_named(std::string_view name) {
    for (const Dialect dialect : {Dialect::vllm, Dialect::llamacpp})
        if (name_of(dialect) == name) return dialect;
    return std::nullopt;
}

}  // namespace paretoken::sim
