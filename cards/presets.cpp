#include "cards/presets.h"

#include <algorithm>
#include <cctype>

namespace paretoken::cards {
namespace {

constexpr ModelPreset kPresets[] = {
    {"smollm2-135m", "smollm2-135m"},   {"llama3-8b", "llama-3.1-8b"},    {"llama3-70b", "llama-3.1-70b"},
    {"llama3-405b", "llama-3.1-405b"},  {"qwen3-8b", "qwen3-8b"},         {"qwen3-32b", "qwen3-32b"},
    {"qwen3-30b-a3b", "qwen3-30b-a3b"}, {"gpt-oss-120b", "gpt-oss-120b"}, {"deepseek-v3", "deepseek-v3"},
};

/// The name without a tensor-parallel share: "deepseek-v3-tp8" → "deepseek-v3"
std::string_view without_share(std::string_view name) {
    const auto at = name.rfind("-tp");
    if (at == std::string_view::npos || at + 3 == name.size()) return name;
    const bool number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 3, name.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    return number ? name.substr(0, at) : name;
}

}  // namespace

std::span<const ModelPreset> model_presets() {
    return kPresets;
}

std::string_view card_of_preset(std::string_view name) {
    const std::string_view whole = without_share(name);
    const auto* const found = std::ranges::find(kPresets, whole, &ModelPreset::name);
    return found == std::end(kPresets) ? whole : found->card;
}

}  // namespace paretoken::cards
