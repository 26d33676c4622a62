// Model cards from config.json.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cards/config/attention.h"
#include "cards/config/feed_forward.h"
#include "cards/config/settings.h"
#include "cards/config/values.h"
#include "cards/config/weights.h"
#include "core/formats.h"

namespace paretoken::cards {
namespace {

std::string name_of_config(const JsonCursor& config, const std::string& where) {
    if (const auto name = config.find("_name_or_path");
        name && name->is_string() && !name->string().empty()) {
        const std::string text = name->string();
        return text.substr(text.find_last_of('/') + 1);
    }
    const std::filesystem::path path(where);
    const bool plain = path.filename() == "config.json";
    std::string folder = path.parent_path().filename().string();
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
        JsonCursor inner = language_model_in(*nested);
        if (find_any(inner, kLayers)) return inner;
    }
    return whole;
}

/// The longest context, by the rules of engines: a model_max_length counts before the positions of training
/// (Command R), and YaRN stretches the original positions by its factor. Nothing if the config states none.
std::optional<std::uint64_t> context_of(const JsonCursor& config) {
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        const auto rope = config.find(key);
        if (!rope || !rope->is_object()) continue;
        const auto type = find_any(*rope, {"rope_type", "type"});
        const auto factor = rope->find("factor");
        const auto original = rope->find("original_max_position_embeddings");
        if (type && type->is_string() && type->string() == "yarn" && factor && original)
            return static_cast<std::uint64_t>(
                std::llround(factor->positive() * static_cast<double>(extent_of(*original))));
    }
    const auto context = find_any(config, {"model_max_length", "max_position_embeddings", "n_positions",
                                           "max_seq_len", "seq_length", "max_sequence_length"});
    return context ? std::optional(extent_of(*context)) : std::nullopt;
}

/// Whether the output projection is the embedding: by the language model's config, else by the whole one,
/// else by the model's type.
bool is_tied(const JsonCursor& config, const JsonCursor& whole, const ModelType& type) {
    for (const JsonCursor& stating : {config, whole})
        if (const auto tied = find_any(stating, {"tie_word_embeddings", "use_embedding_sharing",
                                                 "weight_tying", "tie_embeddings", "share_embedding"}))
            return tied->boolean();
    if (type.tied) return *type.tied;
    return config
        .at("tie_word_embeddings",
            "true or false, because the model's type is not known (add it to a copy of the file)")
        .boolean();
}

/// The beginnings of the names of layers in checkpoints. Those of a multimodal model have further ones.
std::vector<std::string> prefixes_of(bool multimodal) {
    if (!multimodal) return {"model."};
    return {"model.", "language_model.model.", "model.language_model.", "thinker.model."};
}

/// The card from a config.json.
ModelCard card_of(const JsonCursor& whole, const std::string& where, const ModelCardOptions& options) {
    const JsonCursor config = language_model_in(whole);
    refuse_other_architectures(config, where);
    const ModelType type = model_type_of(config);
    refuse_unknown_attention(config, type, where);
    ModelCard card;
    card.name = name_of_config(whole, where);
    card.source = "config.json";
    card.architecture = type_of(config);
    card.layers = extent(config, kLayers, "the number of layers");
    constexpr std::uint64_t kMostLayers = 4096;
    if (card.layers > kMostLayers) find_any(config, kLayers)->complain("at most 4096 layers");
    card.hidden = extent(config, kHidden, "the width of the residual stream");
    card.vocab = extent(config, {"vocab_size", "padded_vocab_size"}, "the size of the vocabulary");
    card.max_context = context_of(config);
    const LinearLayers linear = fill_attention(card, config, type);
    Experts experts = experts_of(config, type, card.layers);
    card.moe = experts.moe;
    card.tied_embeddings = is_tied(config, whole, type);
    card.gated_ffn = is_gated(config, type);
    if (!card.moe || card.moe->layers < card.layers) card.ffn = dense_width_of(config, type, card.hidden);
    const bool multimodal = !find_any(whole, kLayers);
    Recipe recipe = recipe_of(config, whole, options.weight_dtype, card.layers, prefixes_of(multimodal));
    if (recipe.was_32_bits)
        card.notes.emplace_back(
            "the checkpoint is in 32 bits, and engines load it in 16 bits; CARD:weights=f32 plans 32 bits, "
            "for "
            "a server with --dtype float32");
    fill_weights(card, config, type, linear, experts.routed, towers_of(whole), recipe);
    std::optional<std::string> kv_dtype;
    for (const JsonCursor& stating : {config, whole})
        if (!kv_dtype) kv_dtype = kv_dtype_of(stating);
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
