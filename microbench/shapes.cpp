#include "microbench/shapes.h"

#include <fmt/format.h>

#include "core/error.h"

namespace paretoken::microbench {
namespace {

constexpr ModelShape kModels[] = {
    // HuggingFaceTB/SmolLM2-135M: hidden 576, intermediate 1536, 9 query and 3 KV heads of 64, 30 layers.
    {"smollm2-135m",
     {{{"qkv", 576 + 2 * 192, 576}, {"o", 576, 576}, {"gate_up", 2 * 1536, 576}, {"down", 576, 1536}}},
     {9, 3, 64}},
    // meta-llama/Llama-3.1-8B: hidden 4096, intermediate 14336, 32 query and 8 KV heads of 128, 32 layers.
    {"llama3-8b",
     {{{"qkv", 4096 + 2 * 1024, 4096},
       {"o", 4096, 4096},
       {"gate_up", 2 * 14336, 4096},
       {"down", 4096, 14336}}},
     {32, 8, 128}},
};

}  // namespace

std::string name_of(const HeadShape& heads) {
    return fmt::format("{}x{}x{}", heads.query_heads, heads.kv_heads, heads.head_dim);
}

std::span<const ModelShape> model_shapes() {
    return kModels;
}

const ModelShape& model_shape(std::string_view name) {
    std::string known;
    for (const ModelShape& model : kModels) {
        if (model.name == name) return model;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", model.name);
    }
    throw UsageError(fmt::format("unknown preset '{}': the presets are {}", name, known));
}

}  // namespace paretoken::microbench
