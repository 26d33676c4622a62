// Model cards from config.json: parameters are counted from the shape. Norms, biases and quantisation scales
// of dense formats (under 0.1 % of the weights) are left out, so that a limit is too high rather than too
// low.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "cards/json_value.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/formats.h"

namespace paretoken::cards {
namespace {

using Keys = std::initializer_list<const char*>;

constexpr Keys kQueryHeads{"num_attention_heads", "n_head", "n_heads"};
constexpr Keys kLayers{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
constexpr Keys kHidden{"hidden_size", "n_embd", "d_model"};
constexpr Keys kWindow{"sliding_window", "sliding_window_size"};

std::optional<JsonCursor> find_any(const JsonCursor& config, Keys keys) {
    for (const char* key : keys)
        if (auto found = config.find(key)) return found;
    return {};
}

/// A positive number that is small enough for products of three such numbers to be exact.
std::uint64_t extent_of(const JsonCursor& value) {
    constexpr std::uint64_t kLargest = 1u << 24;
    const std::uint64_t count = value.count();
    if (count == 0 || count > kLargest) value.complain("a whole number between 1 and 2^24");
    return count;
}

std::uint64_t extent(const JsonCursor& config, Keys keys, std::string_view what) {
    if (const auto found = find_any(config, keys)) return extent_of(*found);
    return extent_of(config.at(*keys.begin(), what));
}

std::uint64_t extent_or(const JsonCursor& config, Keys keys, std::uint64_t otherwise) {
    const auto found = find_any(config, keys);
    return found ? extent_of(*found) : otherwise;
}

/// An extent, or a list that has the same extent for every layer.
std::uint64_t extent_of_every_layer(const JsonCursor& value) {
    if (!value.is_array() || value.elements().empty()) return extent_of(value);
    const std::vector<JsonCursor> layers = value.elements();
    const std::uint64_t first = extent_of(layers.front());
    for (const JsonCursor& layer : layers)
        if (extent_of(layer) != first) layer.complain(fmt::format("{}, the value of the first layer", first));
    return first;
}

/// A number, or 0 for "none", which configs write as absent, null, 0 or -1.
std::uint64_t count_or_none(const JsonCursor& config, Keys keys) {
    const auto found = find_any(config, keys);
    if (!found || (found->is_number() && found->number() == -1)) return 0;
    return found->count() == 0 ? 0 : extent_of(*found);
}

bool flag(const JsonCursor& config, const std::string& key, bool otherwise) {
    const auto found = config.find(key);
    return found ? found->boolean() : otherwise;
}

/// Throws for models with state-space or linear-attention layers. These have other weights and no KV cache,
/// so counting them as attention would give a wrong limit.
void refuse_other_architectures(const JsonCursor& config, const std::string& where) {
    for (const char* key :
         {"mamba_d_state", "mamba_expand", "ssm_state_size", "state_size", "linear_num_value_heads",
          "hybrid_override_pattern", "attn_layer_period", "conv_L_cache", "linear_attn_config"})
        if (config.find(key))
            throw UsageError(
                fmt::format("{}: {}: a hybrid or state-space model, which cannot be counted from its "
                            "config; give a GGUF file of it instead",
                            where, key));
}

// --- settings of attention
// ---------------------------------------------------------------------------------

/// Settings of attention that are read, or that change neither which keys and values a layer keeps nor their
/// size. Each has a space before and after it.
constexpr std::string_view kUnderstoodAttentionKeys =
    " "
    "attention_chunk_size decoder_sparse_step kv_channels kv_lora_rank layer_types max_window_layers "
    "multi_query_attention multi_query_group_num no_rope_layers num_attention_heads num_key_value_heads "
    "num_kv_heads num_kv_shared_layers sliding_window sliding_window_pattern use_sliding_window "
    "no_rope_layer_interval kv_cache_scheme kv_cache_dtype kv_cache_quant_algo num_key_value_groups "
    "n_head n_heads _attn_implementation _attn_implementation_autoset _attn_implementation_internal "
    "add_attention_bias attention_bias attention_dropout attention_dropout_prob attention_input_bias "
    "attention_layernorm attention_logits_soft_cap attention_multiplier attention_out_bias "
    "attention_out_proj_bias attention_output_bias attention_probs_dropout_prob attention_qkv_bias "
    "attention_softmax_in_fp32 attn_bias attn_dropout attn_factor attn_implementation "
    "attn_logit_softcapping attn_out_bias attn_pdrop attn_qkv_bias attn_scale attn_temperature_tuning "
    "chunk_size_feed_forward compression_config cross_attention_hidden_size dual_chunk_attention_config "
    "num_ln_in_parallel_attn parallel_attn use_logn_attn flash_attention global_rope_theta "
    "output_attentions query_pre_attn_scalar reorder_and_upcast_attn scale_attention_softmax_in_fp32 "
    "scale_attn_by_inverse_layer_idx scale_attn_weights scale_attention_scores use_attention_bias "
    "use_bidirectional_attention use_flash_attention use_flash_attn attention_scale ";

/// Whether a key of a config describes which keys and values the layers keep: by one of its words, which
/// are separated by "_", or by its beginning.
bool is_attention_key(std::string_view key) {
    constexpr std::array<std::string_view, 10> kBeginnings{
        "index_",     "block_types", "block_configs", "mixer_types",     "layer_types", "layers_block_type",
        "v_head_dim", "qk_head_dim", "yoco",          "num_self_decoder"};
    constexpr std::array<std::string_view, 24> kBeginningsOfWords{
        "attention", "attn",   "chunk",     "compress", "conv",   "delta",     "global",    "hybrid",
        "indexer",   "kv",     "lightning", "linear",   "mamba",  "recurrent", "retention", "rwkv",
        "sliding",   "sparse", "ssm",       "swa",      "window", "kda",       "nsa",       "dsa"};
    constexpr std::array<std::string_view, 2> kWords{"cla", "state"};
    const auto begins = [](std::string_view text) {
        return [text](std::string_view beginning) { return text.starts_with(beginning); };
    };
    if (std::ranges::any_of(kBeginnings, begins(key)) || key.find("key_value") != std::string_view::npos)
        return true;
    while (true) {
        const auto end = key.find('_');
        const std::string_view word = key.substr(0, end);
        if (std::ranges::any_of(kBeginningsOfWords, begins(word)) ||
            std::ranges::find(kWords, word) != kWords.end())
            return true;
        if (end == std::string_view::npos) return false;
        key.remove_prefix(end + 1);
    }
}

/// Whether a value switches a setting off: null, false, 0, or an empty text, list or object.
bool is_off(const JsonCursor& value) {
    if (value.is_null()) return true;
    if (value.is_number()) return value.number() == 0;
    if (value.is_string()) return value.string().empty();
    if (value.is_array()) return value.elements().empty();
    if (value.is_object()) return value.members().empty();
    return !value.boolean();
}

bool is_same_number(const std::optional<JsonCursor>& a, const JsonCursor& b) {
    return a && a->is_number() && b.is_number() && a->number() == b.number();
}

/// Whether a setting has a value that changes nothing, or only repeats another setting.
bool is_neutral(const JsonCursor& config, std::string_view key, const JsonCursor& value) {
    if (key == "compression_ratio" || key == "full_attn_mod") return value.is_number() && value.number() == 1;
    if (key == "cla_share_factor") return !flag(config, "use_cla", true);
    if (key == "_sliding_window_pattern") return config.find("layer_types").has_value();
    if (key == "v_head_dim" || key == "qk_head_dim")  // without latent attention, they are head_dim
        return config.find("kv_lora_rank") || is_same_number(config.find("head_dim"), value);
    if (key == "sliding_window_size") {  // without sliding_window, it is the window
        const auto window = config.find("sliding_window");
        return !window || is_same_number(window, value);
    }
    if (key != "attention_head_dim") return false;
    if (const auto stated = find_any(config, {"head_dim", "kv_channels"}))
        return is_same_number(stated, value);
    const auto heads = find_any(config, kQueryHeads);
    const auto hidden = find_any(config, kHidden);
    return heads && hidden && heads->is_number() && hidden->is_number() && value.is_number() &&
           value.number() * heads->number() == hidden->number();
}

/// Whether a setting is known to change which keys and values a layer keeps, or their size.
bool changes_the_cache(std::string_view key) {
    constexpr std::array<std::string_view, 16> kParts{"cross_attention_layers",
                                                      "cla",
                                                      "compress",
                                                      "conv",
                                                      "full_att",
                                                      "head_dim",
                                                      "head_kv",
                                                      "hybrid",
                                                      "index_",
                                                      "kv_head",
                                                      "linear",
                                                      "mamba",
                                                      "key_value",
                                                      "interval",
                                                      "type_list",
                                                      "window"};
    return std::ranges::any_of(
        kParts, [key](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

/// Throws for a setting of attention that is not understood. It may change the size of the KV cache, which
/// would then be a guess.
void refuse_unknown_attention(const JsonCursor& config, const std::string& where) {
    for (const auto& [key, value] : config.members()) {
        const bool understood =
            kUnderstoodAttentionKeys.find(fmt::format(" {} ", key)) != std::string_view::npos;
        if (!is_attention_key(key) || understood || is_off(value) || is_neutral(config, key, value)) continue;
        const std::string_view remedy =
            changes_the_cache(key)
                ? ""
                : ", or, if this setting changes neither which keys and values a layer keeps nor their size, "
                  "a copy of the file without it";
        throw UsageError(fmt::format(
            "{}: {}: a setting of attention that is not understood, so that the size of the KV cache would "
            "be a guess; give a GGUF file of the model{}",
            where, key, remedy));
    }
}

// --- quantisation
// --------------------------------------------------------------------------------------------

/// The storage types of the parts of a model.
struct PartDtypes {
    std::string base;  ///< type of embedding, output projection and router
    std::string attention;
    std::string ffn;
    std::string experts;
};

std::string int_dtype(const JsonCursor& bits) {
    switch (bits.count()) {
        case 4:
            return "int4";
        case 8:
            return "int8";
        default:
            bits.complain("4 or 8 bits");
    }
}

/// The type of the weights of a group in the format compressed-tensors.
std::string dtype_of_group(const JsonCursor& group) {
    const JsonCursor weights = group.at("weights", "num_bits and type");
    const auto type = weights.find("type");
    if (type && type->string() == "float")
        return weights.at("num_bits", "4 or 8").count() == 4 ? "nvfp4" : "fp8";
    return int_dtype(weights.at("num_bits", "4 or 8"));
}

/// The type of the weights in the format compressed-tensors, which all groups with weights must have.
std::string compressed_dtype(const JsonCursor& quantization) {
    const JsonCursor groups = quantization.at("config_groups", "groups with weights");
    std::optional<std::string> first;
    for (const auto& [name, group] : groups.members()) {
        if (!group.find("weights")) continue;
        const std::string type = dtype_of_group(group);
        if (first.value_or(type) != type)
            groups.complain(
                fmt::format("groups of one type, not of {} and {} (or give one type for all with "
                            "CARD:weights=TYPE)",
                            *first, type));
        first = type;
    }
    if (!first) quantization.complain("at least one config group with weights");
    return *first;
}

/// ModelOpt's names of algorithms in the spelling of TensorRT-LLM, each with the storage type of the weights.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kModelOptAlgorithms{{
    {"FP8", "fp8"},
    {"FP8_PER_CHANNEL_PER_TOKEN", "fp8"},
    {"FP8_BLOCK_SCALES", "fp8"},
    {"FP8_PB_WO", "fp8"},
    {"NVFP4", "nvfp4"},
    {"W4A8_MXFP4_FP8", "mxfp4"},
    {"W4A16_MXFP4", "mxfp4"},
    {"W4A16", "int4"},
    {"W4A16_AWQ", "int4"},
    {"W4A8_AWQ", "int4"},
    {"W8A16", "int8"},
    {"W8A8_SQ_PER_CHANNEL", "int8"},
    {"INT8", "int8"},
}};

/// The type of the weights in ModelOpt's format; `base` if only the KV cache is quantised.
std::string modelopt_dtype(const JsonCursor& quantization, const std::string& base) {
    const auto found = quantization.find("quant_algo");
    if (!found || found->string() == "NO_QUANT") return base;
    const std::string algorithm = found->string();
    for (const auto& [name, dtype] : kModelOptAlgorithms)
        if (name == algorithm) return std::string(dtype);
    found->complain("a known algorithm of ModelOpt (or give the type with CARD:weights=TYPE)");
}

std::string quantized_dtype(const JsonCursor& quantization, const std::string& base) {
    const auto method_of = [&](const char* key) {
        const auto found = quantization.find(key);
        return found ? found->string() : std::string();
    };
    const std::string method = method_of("quant_method");
    if (method == "fp8" || method == "fbgemm_fp8") return "fp8";
    if (method == "mxfp4") return "mxfp4";
    if (method == "gptq" || method == "awq" || method == "auto-round" || method == "hqq")
        return int_dtype(quantization.at("bits", "4 or 8"));
    if (method == "bitsandbytes") return flag(quantization, "load_in_4bit", false) ? "int4" : "int8";
    if (method == "compressed-tensors") return compressed_dtype(quantization);
    if (method == "modelopt") return modelopt_dtype(quantization, base);
    quantization.complain(fmt::format("a known quantisation (\"{}\" is not)", method));
}

/// Whether the list of modules that are not quantised names this part.
bool left_alone(const JsonCursor& quantization, std::string_view part) {
    const auto list = find_any(quantization, {"modules_to_not_convert", "ignore", "exclude_modules"});
    if (!list) return false;
    for (const JsonCursor& entry : list->elements())
        if (entry.string().find(part) != std::string::npos) return true;
    return false;
}

/// The type of the KV cache that a config states under the name of vLLM's option. Nothing if it is "auto" or
/// not known.
std::optional<std::string> kv_dtype_option_of(const JsonCursor& config) {
    const auto stated = config.find("kv_cache_dtype");
    if (!stated || !stated->is_string()) return {};
    const std::string name = stated->string();
    if (name.starts_with("fp8")) return "fp8";  // fp8_e4m3 and fp8_e5m2 have the same size
    if (const NumberFormat* dtype = find_format(name)) return std::string(dtype->name);
    return {};
}

/// The type of the KV cache that a checkpoint states: by the scheme of bits and kind of compressed-tensors
/// and ModelOpt, or by ModelOpt's name of an algorithm. Nothing if it states none.
std::optional<std::string> kv_dtype_of(const JsonCursor& config) {
    const auto quantization = config.find("quantization_config");
    if (!quantization) return {};
    if (const auto scheme = quantization->find("kv_cache_scheme"); scheme && scheme->is_object()) {
        const JsonCursor bits = scheme->at("num_bits", "4 or 8");
        const auto type = scheme->find("type");
        if (!type || type->string() != "float") return int_dtype(bits);
        return bits.count() == 4 ? "nvfp4" : "fp8";
    }
    const auto algorithm = find_any(*quantization, {"kv_cache_quant_algo", "kv_cache_scheme"});
    if (!algorithm) return kv_dtype_option_of(*quantization);
    if (const NumberFormat* dtype = find_format(algorithm->string())) return std::string(dtype->name);
    algorithm->complain("a known type of KV cache, FP8, INT8 or NVFP4 (or give the type with CARD:kv=TYPE)");
}

PartDtypes dtypes_of(const JsonCursor& config, const std::optional<std::string>& wanted) {
    std::string base = "bf16";
    if (const auto found = find_any(config, {"torch_dtype", "dtype"}))
        if (const NumberFormat* dtype = find_format(found->string())) base = dtype->name;
    if (wanted) {
        const NumberFormat& dtype = number_format(*wanted);
        const std::string name(dtype.name);
        const bool whole_model = dtype.values_per_block == 1 && dtype.bytes_per_block >= 2;
        return {whole_model ? name : base, name, name, name};
    }
    const auto quantization = config.find("quantization_config");
    if (!quantization) return {base, base, base, base};
    const std::string name = quantized_dtype(*quantization, base);
    if (name == "mxfp4") return {base, base, base, name};  // checkpoints in this format quantise experts only
    return {base, left_alone(*quantization, "self_attn") ? base : name, name, name};
}

// --- attention
// -----------------------------------------------------------------------------------------------

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

/// Every n-th layer sees the whole context, and the others only a window: n by the model's type; 0 for none.
std::uint64_t window_pattern_of(const JsonCursor& config) {
    if (const std::uint64_t stated = count_or_none(config, {"sliding_window_pattern"}); stated > 0)
        return stated;
    const auto type = config.find("model_type");
    const std::string name = type && type->is_string() ? type->string() : "";
    if (name == "gemma2" || name == "gpt_oss") return 2;
    if (name.starts_with("gemma3n")) return 5;
    if (name.starts_with("gemma3")) return 6;
    return name == "cohere2" ? 4 : 0;
}

/// For each layer, whether layer_types says that it sees only a window. Throws for a type that is not known,
/// such as linear attention.
std::vector<bool> windowed_by_types(const JsonCursor& types, std::uint64_t layers) {
    std::vector<bool> windowed;
    for (const JsonCursor& type : types.elements()) {
        const std::string name = type.string();
        if (name != "full_attention" && name != "sliding_attention" && name != "chunked_attention")
            type.complain(
                "full_attention, sliding_attention or chunked_attention; the KV cache of other layers cannot "
                "be counted from a config (give a GGUF file of the model instead)");
        windowed.push_back(name != "full_attention");
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
    const auto type = config.find("model_type");
    const bool is_llama4 = type && type->is_string() && type->string().starts_with("llama4");
    if (!is_llama4 && !config.find("no_rope_layers") && !config.find("no_rope_layer_interval"))
        config.at("attention_chunk_size", "a size")
            .complain("layer_types or no_rope_layers beside it, which say the layers that see a chunk only");
    const std::uint64_t interval = extent_or(config, {"no_rope_layer_interval"}, 4);
    for (std::uint64_t i = 0; i < layers; ++i) chunked.push_back((i + 1) % interval != 0);
    return chunked;
}

/// For each layer, whether its attention sees only a window or chunk, if the model has a window.
std::vector<bool> windowed_layers(const JsonCursor& config, std::uint64_t layers, bool chunks) {
    if (const auto types = config.find("layer_types")) return windowed_by_types(*types, layers);
    if (chunks) return chunked_layers(config, layers);
    if (const auto pattern = config.find("sliding_window_pattern"); pattern && pattern->is_string())
        return windowed_by_letters(*pattern, layers);
    std::vector<bool> windowed(layers, true);
    const std::uint64_t pattern = window_pattern_of(config);
    std::uint64_t whole = 0;  // number of first layers that see the whole context
    if (pattern == 0 && config.find("max_window_layers") && flag(config, "use_sliding_window", false))
        whole = std::min(layers, config.at("max_window_layers", "a number of layers").count());
    for (std::uint64_t i = 0; i < layers; ++i)
        windowed[i] = pattern > 0 ? (i + 1) % pattern != 0 : i >= whole;
    return windowed;
}

/// Sets the card's window, and returns for each layer whether it has it.
std::vector<bool> fill_window(ModelCard& card, const JsonCursor& config) {
    const std::uint64_t chunk = count_or_none(config, {"attention_chunk_size"});
    const std::uint64_t sliding =
        flag(config, "use_sliding_window", true) ? count_or_none(config, kWindow) : 0;
    if (chunk > 0 && sliding > 0 && chunk != sliding)
        config.at("attention_chunk_size", "a size")
            .complain(fmt::format("no chunks beside a sliding_window of {}", sliding));
    std::vector<bool> windowed = windowed_layers(config, card.layers, chunk > 0);
    if (chunk == 0 && sliding == 0) windowed.assign(card.layers, false);
    card.windowed_layers = static_cast<std::uint64_t>(std::ranges::count(windowed, true));
    if (card.windowed_layers > 0) card.sliding_window = std::max(chunk, sliding);
    return windowed;
}

void fill_attention(ModelCard& card, const JsonCursor& config) {
    card.query_heads = extent(config, kQueryHeads, "the number of query heads");
    const auto kv_heads = find_any(config, {"num_key_value_heads", "num_kv_heads", "multi_query_group_num"});
    card.kv_heads = kv_heads ? extent_of_every_layer(*kv_heads) : card.query_heads;
    if (flag(config, "multi_query", false) && !config.find("num_kv_heads")) card.kv_heads = 1;
    if (card.kv_heads > card.query_heads || card.query_heads % card.kv_heads != 0)
        config.at("num_key_value_heads", "a divisor of the query heads")
            .complain(fmt::format("a divisor of {} query heads", card.query_heads));
    card.head_dim = extent_or(config, {"head_dim", "kv_channels"},
                              std::max<std::uint64_t>(card.hidden / card.query_heads, 1));
    card.mla = latent_attention(config);
    const std::vector<bool> windowed = fill_window(card, config);
    const std::uint64_t shared = count_or_none(config, {"num_kv_shared_layers"});
    if (shared >= card.layers)
        config.at("num_kv_shared_layers", "a number of layers")
            .complain(fmt::format("fewer than {} layers", card.layers));
    const std::uint64_t per_layer =
        card.mla ? card.mla->kv_rank + card.mla->rope_dim : 2 * card.kv_heads * card.head_dim;
    // The last layers use the cache of an earlier layer; only the others have one of their own.
    for (std::uint64_t i = 0; i < card.layers - shared; ++i)
        (windowed[i] ? card.windowed_kv_values_per_token : card.kv_values_per_token) += per_layer;
    const double widths = card.mla ? static_cast<double>(card.mla->qk_head_dim + card.mla->v_head_dim)
                                   : 2 * static_cast<double>(card.head_dim);
    const double per_layer_flops = 2 * static_cast<double>(card.query_heads) * widths;
    card.attention_flops_per_pair = static_cast<double>(card.layers - card.windowed_layers) * per_layer_flops;
    card.windowed_attention_flops_per_pair = static_cast<double>(card.windowed_layers) * per_layer_flops;
}

// --- feed-forward
// --------------------------------------------------------------------------------------------

/// Whether feed-forward layers are gated. Gated ones have three matrices, the older kind has two.
bool is_gated(const std::string& architecture) {
    constexpr std::array<std::string_view, 12> kNotGated{"gpt2", "gptj",       "gpt_neox",    "gpt_neo",
                                                         "opt",  "bloom",      "mpt",         "falcon",
                                                         "phi",  "starcoder2", "gpt_bigcode", "nemotron"};
    return std::ranges::find(kNotGated, architecture) == kNotGated.end();
}

/// The number of layers that a config lists as those with routed experts: by their types (GLM, DeepSeek), or
/// by their numbers in a text such as "4,5,6" (Step). Nothing if it has no such list.
std::optional<std::uint64_t> listed_routed_layers(const JsonCursor& config) {
    if (const auto types = config.find("mlp_layer_types")) {
        std::uint64_t routed = 0;
        for (const JsonCursor& type : types->elements()) routed += type.string() != "dense" ? 1 : 0;
        return routed;
    }
    const auto numbers = config.find("moe_layers_enum");
    if (!numbers || numbers->string().empty()) return {};
    return static_cast<std::uint64_t>(std::ranges::count(numbers->string(), ',')) + 1;
}

/// The number of layers with routed experts, in a model that has experts.
std::uint64_t routed_layers(const JsonCursor& config, std::uint64_t layers) {
    if (const auto listed = listed_routed_layers(config)) return std::min(*listed, layers);
    const auto end = config.find("moe_layer_end_index");  // -1: the last layer
    if (end && end->number() >= 0) layers = std::min(layers, end->count() + 1);
    const std::uint64_t dense_first = count_or_none(
        config,
        {"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", "moe_layer_num_skipped"});
    if (const auto frequency = config.find("moe_layer_freq"); frequency && frequency->is_array()) {
        std::uint64_t routed = 0;
        for (const JsonCursor& layer : frequency->elements()) routed += layer.count() != 0 ? 1 : 0;
        return std::min(routed, layers);
    }
    const std::uint64_t step = std::max<std::uint64_t>(
        1, count_or_none(config, {"decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step",
                                  "moe_layer_interval"}));
    const auto dense_list = config.find("mlp_only_layers");
    const std::uint64_t dense_listed = dense_list ? dense_list->elements().size() : 0;
    const std::uint64_t candidates = layers - std::min(layers, dense_first);
    return candidates / step - std::min(candidates / step, dense_listed);
}

/// Throws for a number of experts under a name that is not known, also one level deeper: the weights would be
/// those of a dense model.
void refuse_unknown_experts(const JsonCursor& config, bool deeper = true) {
    for (const auto& [key, value] : config.members()) {
        const bool counts_experts = key.find("experts") != std::string::npos &&
                                    key.find("per_tok") == std::string::npos &&
                                    key.find("shared") == std::string::npos;
        if (counts_experts && value.is_number() && value.number() > 1)
            value.complain("the number of experts under a known name, such as num_experts");
        if (deeper && value.is_object() && key != "quantization_config") refuse_unknown_experts(value, false);
    }
}

std::optional<MixtureOfExperts> experts_of(const JsonCursor& config, const ModelCard& card) {
    const std::uint64_t experts =
        count_or_none(config, {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
    if (experts <= 1) {
        refuse_unknown_experts(config);
        return {};
    }
    MixtureOfExperts moe;
    moe.experts = experts;
    const auto active = find_any(config, {"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                                          "moe_top_k", "moe_topk", "moe_k"});
    moe.active = extent_of_every_layer(
        active ? *active : config.at("num_experts_per_tok", "the number of experts per token"));
    moe.active = std::min(moe.active, moe.experts);
    moe.layers = routed_layers(config, card.layers);
    const auto width = find_any(config, {"moe_intermediate_size", "intermediate_size"});
    moe.expert_ffn =
        extent_of_every_layer(width ? *width : config.at("moe_intermediate_size", "the width of an expert"));
    moe.shared_ffn = count_or_none(
        config, {"shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim"});
    const auto shared = find_any(
        config, {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"});
    if (moe.shared_ffn == 0 && shared && (shared->is_array() || shared->count() > 0))
        moe.shared_ffn = extent_of_every_layer(*shared) * moe.expert_ffn;
    return moe;
}

// --- bytes
// ---------------------------------------------------------------------------------------------------

std::uint64_t bytes_of(std::uint64_t values, const NumberFormat& dtype) {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(values) * bytes_per_value(dtype)));
}

/// Sums the parts of the model, each in its own type.
void fill_weights(ModelCard& card, const PartDtypes& types) {
    const std::uint64_t matrices = card.gated_ffn ? 3 : 2;
    const std::uint64_t embedding = card.vocab * card.hidden;
    const std::uint64_t routed = card.moe ? card.moe->layers : 0;
    const std::uint64_t attention = card.layers * attention_parameters(card);
    const std::uint64_t dense_ffn = (card.layers - routed) * matrices * card.hidden * card.ffn;
    std::uint64_t router = 0;
    std::uint64_t shared = 0;
    std::uint64_t expert = 0;
    if (card.moe) {
        router = routed * card.hidden * card.moe->experts;
        shared = routed * matrices * card.hidden * card.moe->shared_ffn;
        expert = matrices * card.hidden * card.moe->expert_ffn;
        card.moe->expert_bytes = bytes_of(expert, number_format(types.experts));
    }
    const auto hold = [&card](std::uint64_t values, const std::string& type) {
        const std::uint64_t bytes = bytes_of(values, number_format(type));
        if (bytes > 0) card.bytes_by_dtype[type] += bytes;
        card.parameters += values;
        card.resident_weight_bytes += bytes;
        return bytes;
    };
    const std::uint64_t table = hold(embedding, types.base);
    const std::uint64_t output = card.tied_embeddings ? table : hold(embedding, types.base);
    card.dense_streamed_bytes = output + hold(attention, types.attention) +
                                hold(dense_ffn + shared, types.ffn) + hold(router, types.base);
    if (card.moe) hold(routed * card.moe->experts * expert, types.experts);
    card.active_parameters = embedding + attention + dense_ffn + shared + router +
                             (card.moe ? routed * card.moe->active * expert : 0);
    card.weight_dtype = std::ranges::max_element(card.bytes_by_dtype, [](const auto& a, const auto& b) {
                            return a.second < b.second;
                        })->first;
}

std::string name_of_config(const JsonCursor& config, const std::string& where) {
    if (const auto name = config.find("_name_or_path");
        name && name->is_string() && !name->string().empty()) {
        const std::string text = name->string();
        return text.substr(text.find_last_of('/') + 1);
    }
    const std::filesystem::path path(where);
    const bool plain = path.filename() == "config.json";
    const std::string folder = path.parent_path().filename().string();
    if (plain && !folder.empty()) return folder;
    return plain ? "model" : path.stem().string();
}

/// The config of the language model. Configs of multimodal models have it in an object of their own, whose
/// name depends on their makers (InternVL: llm_config, DeepSeek-VL: language_config), or one level deeper
/// (Qwen-Omni: thinker_config).
JsonCursor language_model_in(const JsonCursor& whole) {
    if (find_any(whole, kLayers)) return whole;
    for (const char* key : {"text_config", "llm_config", "language_config", "thinker_config"}) {
        const auto nested = whole.find(key);
        if (!nested || !nested->is_object()) continue;
        const JsonCursor inner = language_model_in(*nested);
        if (find_any(inner, kLayers)) return inner;
    }
    return whole;
}

/// The card from a config.json.
ModelCard card_of(const JsonCursor& whole, const std::string& where, const ModelCardOptions& options) {
    const JsonCursor config = language_model_in(whole);
    if (flag(config, "is_encoder_decoder", false))
        config.at("is_encoder_decoder", "false")
            .complain("false, because an encoder's caches cannot be counted from a config");
    refuse_other_architectures(config, where);
    refuse_unknown_attention(config, where);
    ModelCard card;
    card.name = name_of_config(whole, where);
    card.source = "config.json";
    const auto type = config.find("model_type");
    card.architecture = type ? type->string() : "";
    card.layers = extent(config, kLayers, "the number of layers");
    card.hidden = extent(config, kHidden, "the width of the residual stream");
    card.vocab = extent(config, {"vocab_size", "padded_vocab_size"}, "the size of the vocabulary");
    const auto context =
        find_any(config, {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"});
    if (context) card.max_context = extent_of(*context);
    card.tied_embeddings = flag(config, "tie_word_embeddings", card.architecture.starts_with("gemma"));
    fill_attention(card, config);
    card.moe = experts_of(config, card);
    card.gated_ffn = is_gated(card.architecture);
    if (!card.moe || card.moe->layers < card.layers)
        card.ffn = extent_or(config,
                             {"intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim",
                              "ffn_hidden_size", "d_inner"},
                             4 * card.hidden);
    const bool own_quantization = config.find("quantization_config") || !whole.find("quantization_config");
    const JsonCursor& quantized = own_quantization ? config : whole;
    fill_weights(card, dtypes_of(quantized, options.weight_dtype));
    std::optional<std::string> kv_dtype = kv_dtype_of(quantized);
    for (const JsonCursor& stating : {config, whole})
        if (!kv_dtype) kv_dtype = kv_dtype_option_of(stating);
    card.kv_dtype =
        options.kv_dtype ? std::string(number_format(*options.kv_dtype).name) : kv_dtype.value_or("bf16");
    return card;
}

/// The values that the library transformers assumes for keys that a text_config leaves out.
struct TextDefaults {
    std::string_view model_type;
    std::vector<std::pair<const char*, double>> values;
};

const std::vector<TextDefaults>& text_defaults() {
    static const std::vector<TextDefaults> all = {
        {"gemma3_text",
         {{"vocab_size", 262208},
          {"hidden_size", 2304},
          {"intermediate_size", 9216},
          {"num_hidden_layers", 26},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 4},
          {"head_dim", 256},
          {"sliding_window", 4096},
          {"max_position_embeddings", 131072}}},
        {"llama",
         {{"vocab_size", 32000},
          {"hidden_size", 4096},
          {"intermediate_size", 11008},
          {"num_hidden_layers", 32},
          {"num_attention_heads", 32},
          {"max_position_embeddings", 2048}}},
        {"mistral",
         {{"vocab_size", 32000},
          {"hidden_size", 4096},
          {"intermediate_size", 14336},
          {"num_hidden_layers", 32},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"sliding_window", 4096},
          {"max_position_embeddings", 131072}}},
    };
    return all;
}

/// Adds the keys that a multimodal model's text_config leaves out, because they have the default values of
/// its type of model. A config at the top level has all keys.
void add_text_defaults(JsonValue& config) {
    auto* fields = std::get_if<JsonValue::Object>(&config.value);
    if (fields == nullptr || fields->contains("num_hidden_layers")) return;
    const auto text = fields->find("text_config");
    if (text == fields->end()) return;
    auto* own = std::get_if<JsonValue::Object>(&text->second.value);
    if (own == nullptr) return;
    const auto type = own->find("model_type");
    const auto* name = type != own->end() ? std::get_if<std::string>(&type->second.value) : nullptr;
    if (name == nullptr) return;
    for (const TextDefaults& defaults : text_defaults())
        if (defaults.model_type == *name)
            for (const auto& [key, value] : defaults.values) own->try_emplace(key, JsonValue{value});
}

/// Adds the content of ModelOpt's file to a config as its quantization_config, the key that other methods
/// use. A config that already has this key stays as it is.
void add_quantization(JsonValue& config, const QuantizationFile& file) {
    auto* fields = std::get_if<JsonValue::Object>(&config.value);
    if (fields == nullptr || fields->contains("quantization_config")) return;
    const JsonValue value = parse_json_value(file.text, file.where);
    const JsonCursor root(value, file.where);
    const JsonCursor part = root.at("quantization", "ModelOpt's description of the quantisation");
    if (!part.is_object()) part.complain("an object");
    JsonValue added = std::get<JsonValue::Object>(value.value).at("quantization");
    std::get<JsonValue::Object>(added.value)["quant_method"].value = "modelopt";
    fields->emplace("quantization_config", std::move(added));
}

}  // namespace

ModelCard model_card_of_config(std::string_view json, const std::string& where,
                               const ModelCardOptions& options,
                               const std::optional<QuantizationFile>& quantization) {
    JsonValue value = parse_json_value(json, where);
    if (quantization) add_quantization(value, *quantization);
    add_text_defaults(value);
    const JsonCursor root(value, where);
    const auto inner = root.find("config");  // our own cards contain a config.json and its name
    if (!inner) return card_of(root, where, options);
    ModelCard card = card_of(*inner, where, options);
    if (const auto name = root.find("name")) card.name = name->string();
    return card;
}

}  // namespace paretoken::cards
