#include "cards/config/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "cards/config/values.h"

namespace paretoken::cards {
namespace {

constexpr Keys kWindow{"sliding_window", "sliding_window_size"};

std::optional<LatentAttention> latent_attention(const JsonCursor& config) {
    const std::uint64_t kv_rank = count_or_none(config, {"kv_lora_rank"});
    if (kv_rank == 0) {
        if (const auto keys = config.find("qk_nope_head_dim"); keys && !is_off(*keys))
            keys->complain("kv_lora_rank beside it, without which the width of the cache is not known");
        return {};
    }
    LatentAttention mla;
    mla.kv_rank = kv_rank;
    mla.rope_dim = extent(config, {"qk_rope_head_dim"}, "the width of rotary keys");
    mla.q_rank = count_or_none(config, {"q_lora_rank"});
    mla.qk_head_dim = extent(config, {"qk_nope_head_dim"}, "the width of other keys") + mla.rope_dim;
    mla.v_head_dim = extent(config, {"v_head_dim"}, "the width of values");
    return mla;
}

/// For each layer, whether it sees only a window, by a pattern of letters that repeats: L for a layer with a
/// window (local), G for one that sees the whole context (global).
std::vector<bool> windowed_by_letters(const JsonCursor& pattern, std::uint64_t layers) {
    const std::string letters = pattern.string();
    if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos)
        pattern.complain("a number, or letters: L for each local layer and G for each global one");
    std::vector<bool> windowed;
    for (std::uint64_t i = 0; i < layers; ++i) windowed.push_back(letters[i % letters.size()] == 'L');
    return windowed;
}

/// Every n-th layer sees the whole context, and the others only a window: n by the config, else by the
/// model's type; 0 for none.
std::uint64_t window_pattern_of(const JsonCursor& config, const ModelType& type) {
    const std::uint64_t stated = count_or_none(config, {"sliding_window_pattern"});
    return stated > 0 ? stated : type.window_pattern;
}

/// For each layer, whether layer_types says that it sees only a window. Throws for a type that is not known,
/// such as linear attention where it is not `gated_delta`.
std::vector<bool> windowed_by_types(const JsonCursor& types, std::uint64_t layers, bool gated_delta) {
    std::vector<bool> windowed;
    for (const JsonCursor& type : types.elements()) {
        const std::string name = type.string();
        if (gated_delta && name == "linear_attention") {
            windowed.push_back(false);
            continue;
        }
        if (!lists(" attention full_attention sliding_attention chunked_attention ", name))
            type.complain(
                "full_attention, sliding_attention or chunked_attention; the KV cache of other layers cannot "
                "be counted from a config (give a GGUF file of the model instead)");
        windowed.push_back(name != "attention" && name != "full_attention");
    }
    if (windowed.size() < layers) types.complain(fmt::format("one type for each of {} layers", layers));
    windowed.resize(layers);
    return windowed;
}

/// For each layer, whether it sees only its chunk of the context. The list no_rope_layers has 0 for layers
/// without rotary positions, which see the whole context. If it is empty, every 4th layer is such a layer.
std::vector<bool> chunked_layers(const JsonCursor& config, std::uint64_t layers) {
    std::vector<bool> chunked;
    if (const auto list = config.find("no_rope_layers")) {
        for (const JsonCursor& layer : list->elements()) chunked.push_back(layer.count() != 0);
        if (!chunked.empty() && chunked.size() != layers)
            list->complain(fmt::format("an empty list or one number for each of {} layers", layers));
    }
    if (!chunked.empty()) return chunked;
    const bool is_llama4 = type_of(config).starts_with("llama4");
    if (!is_llama4 && !config.find("no_rope_layers") && !config.find("no_rope_layer_interval"))
        config.at("attention_chunk_size", "a size")
            .complain("layer_types or no_rope_layers beside it, which say the layers that see a chunk only");
    const std::uint64_t interval = extent_or(config, {"no_rope_layer_interval"}, 4);
    for (std::uint64_t i = 0; i < layers; ++i) chunked.push_back((i + 1) % interval != 0);
    return chunked;
}

/// For each layer, whether its attention sees only a window or chunk, if the model has a window.
std::vector<bool> windowed_layers(const JsonCursor& config, const ModelType& type, std::uint64_t layers,
                                  bool chunks) {
    if (const auto types = config.find("layer_types"))
        return windowed_by_types(*types, layers, type.gated_delta);
    if (chunks) return chunked_layers(config, layers);
    if (const auto pattern = config.find("sliding_window_pattern"); pattern && pattern->is_string())
        return windowed_by_letters(*pattern, layers);
    std::vector<bool> windowed(layers, true);
    const std::uint64_t pattern = window_pattern_of(config, type);
    if (pattern == 0 && !type.known)
        find_any(config, kWindow)
            ->complain(
                "layer_types or sliding_window_pattern beside it, because the model's type does not say "
                "which layers have the window (or null if none has)");
    std::uint64_t whole = 0;  // number of first layers that see the whole context
    if (pattern == 0 && config.find("max_window_layers") && flag(config, "use_sliding_window", false))
        whole = std::min(layers, config.at("max_window_layers", "a number of layers").count());
    for (std::uint64_t i = 0; i < layers; ++i)
        windowed[i] = pattern > 0 ? (i + 1) % pattern != 0 : i >= whole;
    return windowed;
}

/// Sets the card's window, and returns for each layer whether it has it.
std::vector<bool> fill_window(ModelCard& card, const JsonCursor& config, const ModelType& type) {
    const std::uint64_t chunk = count_or_none(config, {"attention_chunk_size"});
    const std::uint64_t sliding =
        flag(config, "use_sliding_window", type.window_by_default) ? count_or_none(config, kWindow) : 0;
    if (chunk > 0 && sliding > 0 && chunk != sliding)
        config.at("attention_chunk_size", "a size")
            .complain(fmt::format("no chunks beside a sliding_window of {}", sliding));
    std::vector<bool> windowed(card.layers, false);
    const auto types = config.find("layer_types");
    if (chunk > 0 || sliding > 0)
        windowed = windowed_layers(config, type, card.layers, chunk > 0);
    else if (types)
        (void)windowed_by_types(*types, card.layers,
                                type.gated_delta);  // which refuses layers of other kinds
    card.windowed_layers = static_cast<std::uint64_t>(std::ranges::count(windowed, true));
    if (card.windowed_layers > 0) card.sliding_window = std::max(chunk, sliding);
    card.chunked_attention = card.windowed_layers > 0 && chunk > 0;
    return windowed;
}

/// The number of KV heads, with the rules of models that state "one for all" apart.
std::uint64_t kv_heads_of(const JsonCursor& config, std::uint64_t query_heads) {
    const bool falcon = lists(" falcon RefinedWeb RefinedWebModel ", type_of(config));
    const bool by_default = falcon || type_of(config) == "gpt_bigcode";
    const bool newer = flag(config, "new_decoder_architecture", false);
    const bool one = flag(config, "multi_query", by_default && !newer);
    if (one && !newer && (falcon || !config.find("num_kv_heads"))) return 1;
    const auto stated = find_any(config, {"num_key_value_heads", "num_kv_heads", "multi_query_group_num"});
    const bool groups = flag(config, "multi_query_attention", true);
    return stated && groups ? extent_of_every_layer(*stated) : query_heads;
}

/// The layers of linear attention: by layer_types, else all but every n-th (full_attention_interval). Sets
/// what each keeps of a sequence: a matrix of keys × values per head in 16 bits, or in 32 if the config says
/// so, and the inputs of a convolution over the last tokens.
LinearLayers linear_layers_of(ModelCard& card, const JsonCursor& config, const ModelType& type) {
    LinearLayers layers{.linear = std::vector<bool>(card.layers, false)};
    if (!type.gated_delta) return layers;
    if (const auto types = config.find("layer_types")) {
        for (std::uint64_t i = 0; i < card.layers; ++i)
            layers.linear[i] = types->elements()[i].string() == "linear_attention";
    } else {
        const std::uint64_t interval = extent_or(config, {"full_attention_interval"}, 4);
        for (std::uint64_t i = 0; i < card.layers; ++i) layers.linear[i] = (i + 1) % interval != 0;
    }
    layers.gated_attention = flag(config, "attn_output_gate", true);
    const std::uint64_t key_width = extent(config, {"linear_key_head_dim"}, "the width of a linear key");
    layers.value_heads = extent(config, {"linear_num_value_heads"}, "the number of linear value heads");
    layers.keys = extent(config, {"linear_num_key_heads"}, "the number of linear key heads") * key_width;
    layers.values =
        layers.value_heads * extent(config, {"linear_value_head_dim"}, "the width of a linear value");
    const std::uint64_t kernel = extent_or(config, {"linear_conv_kernel_dim"}, 4);
    constexpr std::uint64_t kNarrow = 2;
    constexpr std::uint64_t kWide = 4;
    const auto dtype = config.find("mamba_ssm_dtype");
    const bool wide = dtype && dtype->is_string() && dtype->string() == "float32";
    const std::uint64_t state = layers.values * key_width * (wide ? kWide : kNarrow);
    const std::uint64_t convolved = (kernel - 1) * (2 * layers.keys + layers.values) * kNarrow;
    card.state_bytes_per_sequence =
        static_cast<double>(std::ranges::count(layers.linear, true)) * static_cast<double>(state + convolved);
    return layers;
}

/// For each layer, whether it attends to an image alone, whose keys it keeps in place of the text's.
std::vector<bool> image_layers_of(ModelCard& card, const JsonCursor& config, const ModelType& type) {
    std::vector<bool> images(card.layers, false);
    if (!type.cross_attention) return images;
    for (const JsonCursor& layer :
         config.at("cross_attention_layers", "the layers that see images").elements()) {
        if (layer.count() >= card.layers) layer.complain(fmt::format("a layer below {}", card.layers));
        images[layer.count()] = true;
    }
    card.notes.push_back(
        fmt::format("{} layers with cross-attention keep keys and values of images, which are not counted",
                    std::ranges::count(images, true)));
    return images;
}

}  // namespace

LinearLayers fill_attention(ModelCard& card, const JsonCursor& config, const ModelType& type) {
    card.query_heads = extent(config, kQueryHeads, "the number of query heads");
    card.kv_heads = kv_heads_of(config, card.query_heads);
    if (card.kv_heads > card.query_heads || card.query_heads % card.kv_heads != 0)
        config.at("num_key_value_heads", "a divisor of the query heads")
            .complain(fmt::format("a divisor of {} query heads", card.query_heads));
    card.head_dim = extent_or(config, {"head_dim", "kv_channels"},
                              type.head.value_or(std::max<std::uint64_t>(card.hidden / card.query_heads, 1)));
    card.mla = latent_attention(config);
    const std::vector<bool> windowed = fill_window(card, config, type);
    const std::uint64_t shared = count_or_none(config, {"num_kv_shared_layers"});
    if (shared >= card.layers)
        config.at("num_kv_shared_layers", "a number of layers")
            .complain(fmt::format("fewer than {} layers", card.layers));
    const std::uint64_t per_layer =
        card.mla ? card.mla->kv_rank + card.mla->rope_dim : 2 * card.kv_heads * card.head_dim;
    LinearLayers linear = linear_layers_of(card, config, type);
    const std::vector<bool> images = image_layers_of(card, config, type);
    // The last layers use the cache of an earlier layer; only the others have one of their own.
    for (std::uint64_t i = 0; i < card.layers - shared; ++i)
        if (!linear.linear[i] && !images[i])
            (windowed[i] ? card.windowed_kv_values_per_token : card.kv_values_per_token) += per_layer;
    const double widths = card.mla ? static_cast<double>(card.mla->qk_head_dim + card.mla->v_head_dim)
                                   : 2 * static_cast<double>(card.head_dim);
    const double per_layer_flops = 2 * static_cast<double>(card.query_heads) * widths;
    const auto others = static_cast<std::uint64_t>(std::ranges::count(linear.linear, true) +
                                                   std::ranges::count(images, true));
    card.attention_flops_per_pair =
        static_cast<double>(card.layers - card.windowed_layers - others) * per_layer_flops;
    card.windowed_attention_flops_per_pair = static_cast<double>(card.windowed_layers) * per_layer_flops;
    return linear;
}

}  // namespace paretoken::cards
