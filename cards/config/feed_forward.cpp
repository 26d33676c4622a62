#include "cards/config/feed_forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cards/config/settings.h"
#include "cards/config/values.h"

namespace paretoken::cards {
namespace {

/// For each layer, whether a list has its number.
std::vector<bool> numbered(const JsonCursor& list, std::uint64_t layers) {
    std::vector<bool> named(layers, false);
    for (const JsonCursor& number : list.elements()) {
        if (number.count() >= layers) number.complain(fmt::format("a layer below {}", layers));
        named[number.count()] = true;
    }
    return named;
}

/// Which layers a text such as "4,5,6" names (Step).
std::vector<bool> numbered_in_text(const JsonCursor& list, std::uint64_t layers) {
    const std::string text = list.string();
    std::vector<bool> named(layers, false);
    for (const char* at = text.data(); at < text.data() + text.size();) {
        std::uint64_t number = layers;
        const auto [end, error] = std::from_chars(at, text.data() + text.size(), number);
        if (error != std::errc() || number >= layers)
            list.complain(fmt::format("numbers of layers below {} with commas between them", layers));
        named[number] = true;
        at = end + 1;
    }
    return named;
}

/// For each layer, whether a list with one value per layer says that it has experts.
std::vector<bool> flagged(const JsonCursor& list, std::uint64_t layers) {
    std::vector<bool> routed;
    for (const JsonCursor& layer : list.elements())
        routed.push_back(layer.is_string()   ? layer.string() != "dense"
                         : layer.is_number() ? layer.count() != 0
                                             : layer.boolean());
    if (routed.size() < layers) list.complain(fmt::format("one value for each of {} layers", layers));
    routed.resize(layers);
    return routed;
}

/// For each layer, whether it has routed experts: by a list, else by the first and last ones and the step
/// between them.
std::vector<bool> routed_layers(const JsonCursor& config, std::uint64_t layers) {
    for (const char* key : {"mlp_layer_types", "is_moe_layer", "moe_layer_freq"})
        if (const auto list = config.find(key); list && list->is_array()) return flagged(*list, layers);
    if (const auto list = config.find("moe_layers"); list && list->is_array() && !list->elements().empty())
        return numbered(*list, layers);
    if (const auto text = config.find("moe_layers_enum"); text && !text->string().empty())
        return numbered_in_text(*text, layers);
    if (const auto both = config.find("first_last_k_dense_replace"); both && !is_off(*both))
        both->complain("is_moe_layer beside it, which says the layers that have experts");
    const std::uint64_t first = count_or_none(config, {"first_k_dense_replace", "num_dense_layers",
                                                       "moe_layer_start_index", "moe_layer_num_skipped"});
    const auto end = config.find("moe_layer_end_index");  // -1: the last layer
    const std::uint64_t last = end && end->number() >= 0 ? end->count() : layers;
    const auto step = [&](Keys keys) { return std::max<std::uint64_t>(1, count_or_none(config, keys)); };
    const std::uint64_t before =  // the last layer of each group of so many layers
        step({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval", "moe_every_n_layer"});
    const std::uint64_t after = step({"moe_layer_freq"});  // the first one
    const auto listed = config.find("mlp_only_layers");
    const std::vector<bool> dense = listed ? numbered(*listed, layers) : std::vector<bool>(layers, false);
    std::vector<bool> routed;
    for (std::uint64_t i = 0; i < layers; ++i)
        routed.push_back(i >= first && i <= last && (i + 1) % before == 0 && i % after == 0 && !dense[i]);
    return routed;
}

/// The total width of the experts that every token uses.
std::uint64_t shared_width_of(const JsonCursor& config, const ModelType& type, std::uint64_t expert_width) {
    const std::uint64_t stated = count_or_none(
        config, {"shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim"});
    if (stated > 0) return stated;
    if (flag(config, "residual_moe", false))
        return extent(config, {"intermediate_size"}, "the width of the layers beside the experts");
    const auto count = find_any(
        config, {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"});
    if (!count)
        return extent_or(config, {"moe_shared_expert_intermediate_size"},
                         type.shared_expert ? expert_width : 0);
    if (is_off(*count)) return 0;
    return extent_of_every_layer(*count) *
           extent_or(config, {"moe_shared_expert_intermediate_size"}, expert_width);
}

}  // namespace

Experts experts_of(const JsonCursor& config, const ModelType& type, std::uint64_t layers) {
    const std::uint64_t experts =
        count_or_none(config, {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
    if (experts <= 1) {
        refuse_unknown_experts(config);
        return {.moe = {}, .routed = std::vector<bool>(layers, false)};
    }
    refuse_unknown_settings_of_experts(config);
    MixtureOfExperts moe;
    moe.experts = experts;
    const auto active = find_any(config, {"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                                          "moe_top_k", "moe_topk", "moe_k"});
    moe.active = extent_of_every_layer(
        active ? *active : config.at("num_experts_per_tok", "the number of experts per token"));
    moe.active = std::min(moe.active, moe.experts);
    std::vector<bool> routed = routed_layers(config, layers);
    moe.layers = static_cast<std::uint64_t>(std::ranges::count(routed, true));
    const auto width =
        find_any(config, {"moe_intermediate_size", "moe_ffn_hidden_size", "intermediate_size"});
    moe.expert_ffn =
        extent_of_every_layer(width ? *width : config.at("moe_intermediate_size", "the width of an expert"));
    moe.shared_ffn = shared_width_of(config, type, moe.expert_ffn);
    return {.moe = moe, .routed = std::move(routed)};
}

std::uint64_t dense_width_of(const JsonCursor& config, const ModelType& type, std::uint64_t hidden) {
    const auto stated = find_any(config, {"intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim",
                                          "ffn_hidden_size", "d_inner"});
    if (!stated && !type.gated.value_or(true))
        return extent_or(config, {"expansion_ratio"}, 4) * hidden;  // as these types do
    const std::uint64_t width = extent_of_every_layer(
        stated ? *stated : config.at("intermediate_size", "the width of feed-forward layers"));
    return type.halves ? std::max<std::uint64_t>(width / 2, 1) : width;
}

}  // namespace paretoken::cards
