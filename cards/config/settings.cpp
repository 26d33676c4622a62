#include "cards/config/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cards/config/values.h"
#include "core/error.h"

namespace paretoken::cards {
namespace {

/// Calls `is` with the words of a key, which are separated by "_", until it returns true, and returns whether
/// it did.
bool has_word(std::string_view key, const auto& is) {
    while (true) {
        const auto end = key.find('_');
        if (is(key.substr(0, end))) return true;
        if (end == std::string_view::npos) return false;
        key.remove_prefix(end + 1);
    }
}

bool begins_with_any(std::string_view text, const auto& beginnings) {
    return std::ranges::any_of(beginnings,
                               [text](std::string_view beginning) { return text.starts_with(beginning); });
}

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
    "use_bidirectional_attention use_flash_attention use_flash_attn attention_scale attn_temperature_len "
    "attn_temperature_scale attn_scale_coeff floor_scale layernorm_attention_alpha layernorm_attention_beta "
    "layernorm_full_attention_alpha layernorm_full_attention_beta layernorm_linear_attention_alpha "
    "layernorm_linear_attention_beta ";

/// Settings of layers that only some types have, and that are read for these.
constexpr std::string_view kGatedDeltaKeys =
    " attn_output_gate full_attention_interval linear_conv_kernel_dim linear_key_head_dim "
    "linear_num_key_heads linear_num_value_heads linear_value_head_dim mamba_ssm_dtype ";
constexpr std::string_view kCrossAttentionKeys = " cross_attention_layers ";

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
    if (begins_with_any(key, kBeginnings) || key.find("key_value") != std::string_view::npos) return true;
    return has_word(key, [&](std::string_view word) {
        return begins_with_any(word, kBeginningsOfWords) || std::ranges::find(kWords, word) != kWords.end();
    });
}

/// Whether a key says that layers are used several times per token, or that only some of a group of layers
/// have attention.
bool is_structural_key(std::string_view key, bool known_type) {
    constexpr std::array<std::string_view, 5> kBeginningsOfWords{"loop", "recur", "repeat", "iter", "passes"};
    constexpr std::array<std::string_view, 5> kSharing{"layer_sharing", "share_layer", "shared_layer",
                                                       "_steps", "_group_size"};
    constexpr std::array<std::string_view, 6> kOfUnknownTypes{"_period", "_every_n",  "_pattern",
                                                              "_layout", "_schedule", "layer_indices"};
    const auto has = [key](std::string_view part) { return key.find(part) != std::string_view::npos; };
    if (lists(" moe_layer_interval mlp_layer_types ", key)) return false;  // they are read
    return key.ends_with("_interval") || std::ranges::any_of(kSharing, has) ||
           (!known_type && std::ranges::any_of(kOfUnknownTypes, has)) ||
           has_word(key, [&](std::string_view word) { return begins_with_any(word, kBeginningsOfWords); });
}

/// Whether a key describes layers of another kind than attention. In a model whose type is not known, such a
/// key counts even if its value is false or 0, unless it is a switch such as use_mamba.
bool names_other_layers(std::string_view key) {
    constexpr std::array<std::string_view, 4> kSwitches{"use_", "is_", "enable_", "has_"};
    constexpr std::array<std::string_view, 9> kBeginningsOfWords{
        "linear", "mamba", "lightning", "kda", "delta", "ssm", "rwkv", "retention", "recurrent"};
    return !begins_with_any(key, kSwitches) &&
           has_word(key, [&](std::string_view word) { return begins_with_any(word, kBeginningsOfWords); });
}

bool is_same_number(const std::optional<JsonCursor>& a, const JsonCursor& b) {
    return a && a->is_number() && b.is_number() && a->number() == b.number();
}

/// Whether a setting has a value that changes nothing, or only repeats another setting.
bool is_neutral(const JsonCursor& config, std::string_view key, const JsonCursor& value) {
    if (key == "compression_ratio" || key == "full_attn_mod" || key == "global_attn_every_n")
        return value.is_number() && value.number() == 1;
    if (key == "attn_type_list")  // 1 is attention, and other numbers are layers of other kinds (MiniMax)
        return std::ranges::all_of(value.elements(), [](const JsonCursor& layer) {
            return layer.is_number() && layer.number() == 1;
        });
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

constexpr std::string_view kGuess =
    "that is not understood, so that the size of the KV cache would be a guess; give a GGUF file of the "
    "model";

/// Settings of experts that are read, or that change no weights. Each has a space before and after it.
constexpr std::string_view kUnderstoodExpertKeys =
    " n_routed_experts n_shared_experts num_experts num_experts_per_tok num_experts_per_token "
    "num_local_experts num_shared_expert num_shared_experts experts_per_token moe_intermediate_size "
    "moe_ffn_hidden_size moe_k moe_layer_end_index moe_layer_freq moe_layer_interval moe_layer_num_skipped "
    "moe_layer_start_index moe_layers moe_layers_enum moe_num_experts moe_num_shared_experts moe_top_k "
    "moe_topk interleave_moe_layer_step is_moe_layer shared_expert_intermediate_size residual_moe "
    "moe_shared_expert_intermediate_size share_expert_dim first_k_dense_replace use_mixed_mlp_moe "
    "moe_drop_tokens moe_gate moe_capacity moe_use_aux_free moe_random_routing_dropped_token "
    "shared_moe_mode num_expert_groups num_expert_group n_expert_groups topk_method moe_implementation "
    "moe_backend moe_multimodal_token_strategy moe_every_n_layer moe_use_hard_gate "
    "moe_shared_expert_overlap expert_model_parallel_size expert_tensor_parallel_size ";

/// Whether a key of experts only concerns routing, training or the arithmetic.
bool is_routing_key(std::string_view key) {
    constexpr std::array<std::string_view, 17> kBeginningsOfWords{
        "router", "routing", "loss", "aux",    "coef",     "dropout", "pdrop", "scal",  "multiplier",
        "dtype",  "norm",    "bias", "jitter", "capacity", "renorm",  "fp32",  "logits"};
    return has_word(key, [&](std::string_view word) { return begins_with_any(word, kBeginningsOfWords); });
}

}  // namespace

void refuse_unknown_attention(const JsonCursor& config, const ModelType& type, const std::string& where) {
    const bool has_mamba = !has_attention_alone(config);
    for (const auto& [key, value] : config.members()) {
        if (!has_mamba && key.starts_with("mamba_")) continue;
        const bool attention = is_attention_key(key);
        const bool structural = is_structural_key(key, type.known);
        if ((!attention && !structural) || lists(kUnderstoodAttentionKeys, key)) continue;
        if ((type.gated_delta && lists(kGatedDeltaKeys, key)) ||
            (type.cross_attention && lists(kCrossAttentionKeys, key)))
            continue;
        if (is_off(value) && (type.known || value.is_null() || !names_other_layers(key))) continue;
        const bool once = structural && value.is_number() && value.number() <= 1;
        if (once || is_neutral(config, key, value)) continue;
        if (structural && !attention)
            throw UsageError(
                fmt::format("{}: {}: a setting of repeated or grouped layers {}", where, key, kGuess));
        const std::string_view remedy =
            changes_the_cache(key)
                ? ""
                : ", or, if this setting changes neither which keys and values a layer keeps nor their size, "
                  "a copy of the file without it";
        throw UsageError(fmt::format("{}: {}: a setting of attention {}{}", where, key, kGuess, remedy));
    }
}

void refuse_unknown_settings_of_experts(const JsonCursor& config) {
    for (const auto& [key, value] : config.members()) {
        const bool of_experts = has_word(key, [](std::string_view word) {
            return word == "moe" || word.starts_with("expert") || word.starts_with("residual");
        });
        const bool fraction = value.is_number() && value.number() != std::floor(value.number());
        if (!of_experts || is_off(value) || fraction || value.is_string() || is_routing_key(key) ||
            lists(kUnderstoodExpertKeys, key))
            continue;
        value.complain(
            "no setting of experts that is not understood, because the weights would be a guess (give a GGUF "
            "file of the model, or a copy of the file without the setting if it changes no weights)");
    }
}

void refuse_unknown_experts(const JsonCursor& config, bool deeper) {
    for (const auto& [key, value] : config.members()) {
        const bool counts_experts = key.find("experts") != std::string::npos &&
                                    key.find("per_tok") == std::string::npos &&
                                    key.find("shared") == std::string::npos;
        if (counts_experts && value.is_number() && value.number() > 1)
            value.complain("the number of experts under a known name, such as num_experts");
        if (deeper && value.is_object() && key != "quantization_config") refuse_unknown_experts(value, false);
    }
}

}  // namespace paretoken::cards
