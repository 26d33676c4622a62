#include "cards/config/model_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cards/config/values.h"
#include "core/error.h"

namespace paretoken::cards {
namespace {

// Each name has a space before and after it. "_text" at the end of a type's name is left out.

/// Types whose feed-forward layers have three matrices: gate, up and down.
constexpr std::string_view kGated =
    " aquila baichuan bailing_moe bailing_moe_v2 bitnet chatglm cohere cohere2 deepseek deepseek_v2 "
    "deepseek_v3 diffllama dots1 ernie4_5 ernie4_5_moe exaone exaone4 exaone_moe flex_olmo gemma gemma2 "
    "gemma3 gemma3n glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe gpt_oss granite granitemoe "
    "granitemoehybrid granitemoeshared Grok1ForCausalLM helium hunyuan hunyuan_v1_dense hunyuan_v1_moe "
    "internlm internlm2 internlm3 kimi_k2 llama llama4 mimo minicpm minicpm3 minimax_m2 ministral "
    "ministral3 mistral mistral3 mixtral mllama_text_model molmo olmo olmo2 olmo3 olmoe orion phi3 "
    "phi4_multimodal phi4mm phimoe qwen qwen2 qwen2_5_vl qwen2_moe qwen2_vl qwen3 qwen3_5 qwen3_5_moe "
    "qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe seed_oss smollm3 stablelm step3 vaultgemma xverse ";
/// Types whose feed-forward layers have two matrices: up and down.
constexpr std::string_view kTwoMatrices =
    " apertus arcee biogpt bloom codegen falcon gpt2 gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gptj mpt "
    "nanochat nemotron openai-gpt opt persimmon phi RefinedWeb RefinedWebModel starcoder2 xglm ";
/// The types among these whose output projection is the embedding unless the config says otherwise.
constexpr std::string_view kTied =
    " biogpt bloom cohere cohere2 ernie4_5 ernie4_5_moe falcon gemma gemma2 gemma3 gemma3n gpt2 gpt_bigcode "
    "gpt_neo minicpm minicpm3 mpt openai-gpt opt RefinedWeb RefinedWebModel smollm3 starcoder2 vaultgemma "
    "xglm ";
/// The types with layers of linear attention (gated delta nets) whose settings are understood.
constexpr std::string_view kGatedDelta = " qwen3_next qwen3_5 qwen3_5_moe ";
constexpr std::string_view kEncoderDecoders =
    " t5 mt5 umt5 longt5 bart mbart pegasus marian m2m_100 nllb-moe whisper speech_to_text blenderbot led "
    "prophetnet t5gemma encoder-decoder vision-encoder-decoder speech-encoder-decoder ";
constexpr std::string_view kEncoders = " electra deberta deberta-v2 mpnet xlm longformer big_bird funnel ";

struct Named {
    std::string_view type;
    std::uint64_t value;
};
/// Every n-th layer sees the whole context.
constexpr std::array<Named, 6> kWindowPatterns{
    {{"gemma2", 2}, {"gpt_oss", 2}, {"gemma3n", 5}, {"gemma3", 6}, {"cohere2", 4}, {"vaultgemma", 2}}};
/// The width of a head where it is not the width of the residual stream divided among the heads.
constexpr std::array<Named, 10> kHeadWidths{{{"gemma", 256},
                                             {"gemma2", 256},
                                             {"gemma3", 256},
                                             {"gemma3n", 256},
                                             {"vaultgemma", 256},
                                             {"qwen3", 128},
                                             {"qwen3_moe", 128},
                                             {"qwen3_vl", 128},
                                             {"seed_oss", 128},
                                             {"gpt_oss", 64}}};

template <std::size_t count>
std::optional<std::uint64_t> value_for(const std::array<Named, count>& rows, std::string_view type) {
    const auto* const row = std::ranges::find(rows, type, &Named::type);
    return row == rows.end() ? std::nullopt : std::optional(row->value);
}

std::string without_text(std::string type) {
    constexpr std::string_view kEnding = "_text";
    if (type.ends_with(kEnding)) type.resize(type.size() - kEnding.size());
    return type;
}

/// The names in `architectures`, a list of classes.
std::vector<std::string> classes_of(const JsonCursor& config) {
    std::vector<std::string> names;
    if (const auto classes = config.find("architectures"); classes && classes->is_array())
        for (const JsonCursor& name : classes->elements())
            if (name.is_string()) names.push_back(name.string());
    return names;
}

bool is_listed(std::string_view type) {
    return lists(kGated, type) || lists(kTwoMatrices, type);
}

/// Whether a lower-case name says that the model has layers without a KV cache.
bool says_other_layers(std::string_view type) {
    constexpr std::array<std::string_view, 9> kParts{"linear", "mamba", "rwkv",      "hybrid", "_ssm",
                                                     "retnet", "hyena", "recurrent", "xlstm"};
    return std::ranges::any_of(
        kParts, [type](std::string_view part) { return type.find(part) != std::string_view::npos; });
}

}  // namespace

ModelType model_type_of(const JsonCursor& config) {
    std::string name = without_text(type_of(config));
    if (!is_listed(name))
        for (const std::string& other : classes_of(config))
            if (is_listed(other)) name = other;
    ModelType type;
    type.known = is_listed(name);
    if (!type.known) return type;
    type.tied = lists(kTied, name);
    type.gated = lists(kGated, name);
    type.halves = name == "qwen" || name == "molmo";
    type.shared_expert = name == "llama4";
    type.gated_delta = lists(kGatedDelta, name);
    type.cross_attention = name == "mllama_text_model";
    type.window_by_default = !name.starts_with("qwen");
    type.window_pattern = value_for(kWindowPatterns, name).value_or(0);
    type.head = value_for(kHeadWidths, name);
    if (name == "llama4") type.experts_name = "feed_forward";
    if (lists(" mixtral minimax_m2 granitemoe granitemoeshared phimoe Grok1ForCausalLM ", name))
        type.experts_name = "block_sparse_moe";
    return type;
}

bool is_gated(const JsonCursor& config, const ModelType& type) {
    if (type.gated) return *type.gated;
    const auto activation =
        find_any(config, {"hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act"});
    const std::string name = activation && activation->is_string() ? activation->string() : "";
    if (name == "xielu") return false;
    if (lists(" silu swish swiglu geglu reglu ", name)) return true;
    constexpr std::string_view kExpected =
        "an activation that says whether feed-forward layers have a gate (silu has one), because the model's "
        "type is not known; give a GGUF file of the model instead";
    if (activation) activation->complain(kExpected);
    (void)config.at("hidden_act", kExpected);
    return true;
}

bool has_attention_alone(const JsonCursor& config) {
    const auto types = config.find("layer_types");
    return types && types->is_array() && !types->elements().empty() &&
           std::ranges::all_of(types->elements(), [](const JsonCursor& layer) {
               return layer.is_string() && layer.string() == "attention";
           });
}

void refuse_other_architectures(const JsonCursor& config, const std::string& where) {
    const std::string type = type_of(config);
    if (flag(config, "is_encoder_decoder", false) || lists(kEncoderDecoders, type))
        throw UsageError(
            fmt::format("{}: {}: expected a decoder, because the caches of an encoder cannot be counted from "
                        "a config",
                        where, config.find("is_encoder_decoder") ? "is_encoder_decoder" : "model_type"));
    std::vector<std::string> classes = classes_of(config);
    const bool fills_masks =
        std::ranges::any_of(classes, [](const std::string& name) { return name.ends_with("ForMaskedLM"); });
    const bool encodes = type.find("bert") != std::string::npos || lists(kEncoders, type) || fills_masks;
    if (encodes && !flag(config, "is_decoder", false))
        throw UsageError(
            fmt::format("{}: model_type {}: an encoder has no KV cache and does not generate text; give the "
                        "config of a language model that generates",
                        where, type));
    constexpr std::string_view kHybrid =
        "a hybrid or state-space model, which cannot be counted from its config; give a GGUF file of it "
        "instead";
    if (has_attention_alone(config)) return;
    const bool is_understood = lists(kGatedDelta, without_text(type));
    for (const char* key :
         {"mamba_d_state", "mamba_expand", "ssm_state_size", "state_size", "linear_num_value_heads",
          "hybrid_override_pattern", "attn_layer_period", "conv_L_cache", "linear_attn_config"})
        if (config.find(key) && !(is_understood && key == std::string_view("linear_num_value_heads")))
            throw UsageError(fmt::format("{}: {}: {}", where, key, kHybrid));
    if (says_other_layers(type)) throw UsageError(fmt::format("{}: model_type {}: {}", where, type, kHybrid));
}

}  // namespace paretoken::cards
