// Model cards from GGUF metadata: bytes are summed over the file's tensors, so mixed quantisation is exact.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cards/gguf.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/formats.h"
#include "core/text/letter_case.h"

namespace paretoken::cards {
namespace {

constexpr double kLargest = 1 << 24;  // largest extent; products of three are exact

/// Keys after "ARCHITECTURE.attention.": those that are read, and then those that change neither which keys
/// and values a layer keeps nor their size.
constexpr std::array<std::string_view, 31> kKnownAttentionKeys{"chunk_size",
                                                               "head_count",
                                                               "head_count_kv",
                                                               "key_length",
                                                               "key_length_mla",
                                                               "kv_lora_rank",
                                                               "q_lora_rank",
                                                               "shared_kv_layers",
                                                               "sliding_window",
                                                               "sliding_window_pattern",
                                                               "value_length",
                                                               "value_length_mla",
                                                               "causal",
                                                               "clamp_kqv",
                                                               "decay_lora_rank",
                                                               "gate_lora_rank",
                                                               "group_norm_epsilon",
                                                               "group_norm_groups",
                                                               "iclr_lora_rank",
                                                               "layer_norm_epsilon",
                                                               "layer_norm_rms_epsilon",
                                                               "max_alibi_bias",
                                                               "output_scale",
                                                               "relative_buckets_count",
                                                               "scale",
                                                               "temperature_length",
                                                               "temperature_scale",
                                                               "use_kqv_clamp",
                                                               "logit_softcapping",
                                                               "value_residual_mix_lora_rank",
                                                               "dropout"};

/// The layer in a tensor's name: "blk.31.ffn_up.weight" → 31.
std::optional<std::uint64_t> layer_of(const std::string& tensor) {
    if (!tensor.starts_with("blk.")) return {};
    std::uint64_t layer = 0;
    std::size_t i = 4;
    for (; i < tensor.size() && tensor[i] >= '0' && tensor[i] <= '9' && i < 12; ++i)
        layer = layer * 10 + static_cast<std::uint64_t>(tensor[i] - '0');
    return i > 4 ? std::optional(layer) : std::nullopt;
}

/// The metadata of one architecture: keys are looked up with its name, as in "llama.block_count".
class ArchitectureKeys {
  public:
    ArchitectureKeys(const GgufHeader& header, std::string file)
        : header_(header), file_(std::move(file)), name_(header.string("general.architecture").value_or("")) {
        if (name_.empty())
            throw UsageError(fmt::format("{}: general.architecture: missing; not a model", file_));
    }

    const std::string& name() const { return name_; }

    std::optional<std::uint64_t> find(const std::string& key) const {
        const auto value = header_.number(name_ + "." + key);
        if (!value) return {};
        if (!(*value >= 0 && *value <= kLargest) || *value != std::floor(*value))
            throw UsageError(fmt::format("{}: {}.{}: expected a whole number up to 2^24, got {}", file_,
                                         name_, key, *value));
        return static_cast<std::uint64_t>(*value);
    }

    std::uint64_t at(const std::string& key) const {
        const auto value = find(key);
        if (!value || *value == 0)
            throw UsageError(
                fmt::format("{}: {}.{}: missing; expected a whole number (is this a language model?)", file_,
                            name_, key));
        return *value;
    }

    /// One number per layer, from a list in the file or from one number for all layers. A list also has the
    /// numbers of draft layers after the model's.
    std::vector<double> per_layer(const std::string& key, std::uint64_t layers, double otherwise) const {
        std::vector<double> values(layers, header_.number(name_ + "." + key).value_or(otherwise));
        if (const GgufArray* list = header_.array(name_ + "." + key)) {
            const std::uint64_t all = at("block_count");
            if (list->numbers.size() != all && list->numbers.size() != layers)
                complain(key, fmt::format("a list of {} values for {} layers; expected one value per layer",
                                          list->length, all));
            std::copy_n(list->numbers.begin(), layers, values.begin());
        }
        for (const double value : values)
            if (!(value >= 0 && value <= kLargest)) complain(key, fmt::format("{}: damaged", value));
        return values;
    }

    [[noreturn]] void complain(const std::string& key, const std::string& problem) const {
        throw UsageError(fmt::format("{}: {}.{}: {}", file_, name_, key, problem));
    }

    /// Throws for a setting of attention that is not understood. It may change the size of the KV cache,
    /// which would then be a guess.
    void refuse_unknown_attention() const {
        const std::string beginning = name_ + ".attention.";
        for (const auto& [key, value] : header_.metadata) {
            if (!key.starts_with(beginning)) continue;
            const std::string_view setting = std::string_view(key).substr(beginning.size());
            const bool known = std::ranges::find(kKnownAttentionKeys, setting) != kKnownAttentionKeys.end();
            if (!known && header_.number(key) != 0.0)
                complain(key.substr(name_.size() + 1),
                         "a setting of attention that is not understood, so that the size of the KV cache "
                         "would be a guess; give the model's config.json, or a file without this key if it "
                         "changes neither which keys and values a layer keeps nor their size");
        }
        const bool per_layer = header_.array(name_ + ".attention.head_count_kv") != nullptr;
        for (const auto& [key, value] : header_.metadata) {
            if (!key.starts_with(name_ + ".") || !(header_.number(key).value_or(2) > 1)) continue;
            const std::string setting = key.substr(name_.size() + 1);
            if (repeats_layers(setting))
                complain(
                    setting,
                    "a setting of layers that are used several times, which is not understood, so that "
                    "the size of the KV cache would be a guess; give a file without this key if they are "
                    "used once");
            if (names_other_layers(setting) && !per_layer)
                complain("attention.head_count_kv",
                         fmt::format("a model with {} must state this number for each layer; one number for "
                                     "all layers does not tell which of them have a KV cache",
                                     key));
        }
    }

    /// Throws for a model that keeps no keys and values, or for a file whose layers are not those it states.
    void refuse_other_models(std::uint64_t layers) const {
        if (name_.starts_with("t5") || find("decoder_block_count"))
            throw UsageError(fmt::format(
                "{}: {}: expected a decoder, because the caches of an encoder cannot be counted from a file",
                file_, name_));
        if (header_.number(name_ + ".attention.causal") == 0.0 || name_.find("bert") != std::string::npos)
            throw UsageError(fmt::format(
                "{}: {}: an encoder has no KV cache and does not generate text; give a language model that "
                "generates",
                file_, name_));
        std::vector<bool> present(layers, false);
        for (const GgufTensor& tensor : header_.tensors)
            if (const auto layer = layer_of(tensor.name); layer && *layer < layers) present[*layer] = true;
        const auto stored = std::ranges::count(present, true);
        if (stored > 0 && static_cast<std::uint64_t>(stored) < layers)
            complain("block_count",
                     fmt::format("{} layers, but the file has the weights of {} of them; it is "
                                 "damaged or a part of another file",
                                 layers, stored));
    }

  private:
    /// Whether a setting says that some layers have no attention.
    static bool names_other_layers(std::string_view setting) {
        constexpr std::array<std::string_view, 5> kGroups{"ssm.", "kda.", "wkv.", "shortconv.", "linear"};
        return setting.ends_with("_interval") || setting.ends_with("_group_size") ||
               std::ranges::any_of(kGroups, [&](auto group) { return setting.starts_with(group); });
    }

    static bool repeats_layers(std::string_view setting) {
        constexpr std::array<std::string_view, 3> kParts{"loop", "recur", "repeat"};
        return setting.ends_with("_steps") || std::ranges::any_of(kParts, [&](auto part) {
                   return setting.find(part) != std::string_view::npos;
               });
    }

    const GgufHeader& header_;
    std::string file_;
    std::string name_;
};

/// Which layers of an architecture have its window, as llama.cpp has it.
struct WindowedArchitecture {
    std::string_view name;
    std::uint64_t pattern = 0;  ///< of so many layers, one sees the whole context; 0: none has a window
    bool whole_first = false;   ///< whether that is the first of them, not the last
};
constexpr std::array<WindowedArchitecture, 17> kWindowedArchitectures{{{"afmoe", 4},
                                                                       {"cohere2", 4},
                                                                       {"exaone-moe", 4},
                                                                       {"exaone4", 4},
                                                                       {"gemma-embedding", 6},
                                                                       {"gemma2", 2},
                                                                       {"gemma3", 6},
                                                                       {"gemma3n", 5},
                                                                       {"gpt-oss", 2},
                                                                       {"llama4", 4},
                                                                       {"olmo2", 4},
                                                                       {"phi3", 0},
                                                                       {"phimoe", 0},
                                                                       {"plamo3", 8},
                                                                       {"modern-bert", 3, true},
                                                                       {"smallthinker", 4, true},
                                                                       {"llama", 0}}};

/// For each layer, whether it sees only a window: by the pattern in the file, else by the architecture.
std::vector<bool> windowed_layers(const ArchitectureKeys& keys, const GgufHeader& header,
                                  std::uint64_t layers) {
    const std::string key = "attention.sliding_window_pattern";
    std::vector<bool> windowed(layers);
    if (header.array(keys.name() + "." + key) != nullptr) {
        const std::vector<double> stated = keys.per_layer(key, layers, 0);
        for (std::uint64_t i = 0; i < layers; ++i) windowed[i] = stated[i] != 0;
        return windowed;
    }
    const auto* const known =
        std::ranges::find(kWindowedArchitectures, keys.name(), &WindowedArchitecture::name);
    const bool is_known = known != kWindowedArchitectures.end();
    if (is_known && known->pattern == 0) return windowed;
    const auto stated = keys.find(key);
    if (!is_known && !stated)
        keys.complain("attention.sliding_window",
                      "which layers have this window is not known for this architecture, so that the size of "
                      "the KV cache would be a guess; give the model's config.json");
    const std::uint64_t pattern = stated ? *stated : known->pattern;
    const std::uint64_t whole = is_known && known->whole_first ? 0 : pattern - 1;
    for (std::uint64_t i = 0; i < layers; ++i) windowed[i] = pattern == 0 || i % pattern != whole;
    return windowed;
}

/// The tokens that layers with a window see. For Llama 4, files do not state the size of a chunk, and engines
/// use 8,192.
std::optional<std::uint64_t> window_of(const ArchitectureKeys& keys) {
    if (const auto window = keys.find("attention.sliding_window")) return window;
    if (const auto chunk = keys.find("attention.chunk_size")) return chunk;
    return keys.name() == "llama4" ? std::optional<std::uint64_t>(8192) : std::nullopt;
}

void fill_attention(ModelCard& card, const ArchitectureKeys& keys, const GgufHeader& header) {
    keys.refuse_unknown_attention();
    const auto queries = keys.per_layer("attention.head_count", card.layers, 0);
    card.query_heads = static_cast<std::uint64_t>(*std::ranges::max_element(queries));
    if (card.query_heads == 0) card.query_heads = keys.at("attention.head_count");
    const auto kv =
        keys.per_layer("attention.head_count_kv", card.layers, static_cast<double>(card.query_heads));
    card.kv_heads = static_cast<std::uint64_t>(*std::ranges::max_element(kv));
    if (card.kv_heads == 0)
        keys.complain("attention.head_count_kv", "0 for every layer; a model without a KV cache has no card");
    card.head_dim = keys.find("attention.key_length").value_or(card.hidden / card.query_heads);
    const std::uint64_t value_dim = keys.find("attention.value_length").value_or(card.head_dim);
    const auto qk_head_dim = keys.find("attention.key_length_mla");
    const auto v_head_dim = keys.find("attention.value_length_mla");
    // Files without both were converted before llama.cpp could keep the compressed vectors alone.
    if (const auto rank = keys.find("attention.kv_lora_rank");
        rank && *rank > 0 && qk_head_dim && v_head_dim) {
        LatentAttention mla;
        mla.kv_rank = *rank;
        mla.rope_dim = keys.at("rope.dimension_count");
        mla.q_rank = keys.find("attention.q_lora_rank").value_or(0);
        mla.qk_head_dim = *qk_head_dim;
        mla.v_head_dim = *v_head_dim;
        card.mla = mla;
    }
    const auto window = window_of(keys);
    const std::uint64_t shared = keys.find("attention.shared_kv_layers").value_or(0);
    if (shared >= card.layers) keys.complain("attention.shared_kv_layers", "expected fewer than all layers");
    const std::vector<bool> windowed = window && *window > 0 ? windowed_layers(keys, header, card.layers)
                                                             : std::vector<bool>(card.layers, false);
    for (std::uint64_t i = 0; i < card.layers; ++i) {
        const auto kv_heads = static_cast<std::uint64_t>(kv[i]);
        if (kv_heads == 0) continue;  // a layer of another kind, such as linear attention
        if (kv[i] > queries[i])
            keys.complain("attention.head_count_kv",
                          fmt::format("{} KV heads for {} query heads: damaged", kv[i], queries[i]));
        const std::uint64_t values =
            card.mla ? card.mla->kv_rank + card.mla->rope_dim : kv_heads * (card.head_dim + value_dim);
        const double widths = static_cast<double>(card.mla ? card.mla->qk_head_dim + card.mla->v_head_dim
                                                           : card.head_dim + value_dim);
        const double flops = 2 * queries[i] * widths;
        if (i < card.layers - shared)  // the last layers use the cache of an earlier layer
            (windowed[i] ? card.windowed_kv_values_per_token : card.kv_values_per_token) += values;
        (windowed[i] ? card.windowed_attention_flops_per_pair : card.attention_flops_per_pair) += flops;
        card.windowed_layers += windowed[i] ? 1 : 0;
    }
    if (card.windowed_layers > 0) card.sliding_window = window;
    card.chunked_attention = card.windowed_layers > 0 && card.architecture == "llama4";
}

/// The bytes that the recurrent layers of a sequence take. llama.cpp keeps, in 32 bits, the last inputs of a
/// layer's convolution and its state; the layers are those that have the matrix behind the state.
double state_bytes_of(const ArchitectureKeys& keys, const GgufHeader& header, std::uint64_t layers) {
    constexpr double kBytes = 4;
    const auto inner = static_cast<double>(keys.find("ssm.inner_size").value_or(0));
    const auto state = static_cast<double>(keys.find("ssm.state_size").value_or(0));
    const auto inputs = static_cast<double>(keys.find("ssm.conv_kernel").value_or(1)) - 1;
    const auto groups = static_cast<double>(keys.find("ssm.group_count").value_or(0));
    const auto recurrent = std::ranges::count_if(header.tensors, [&](const GgufTensor& tensor) {
        const auto layer = layer_of(tensor.name);
        return layer && *layer < layers && tensor.name.ends_with(".ssm_out.weight");
    });
    return static_cast<double>(recurrent) * kBytes *
           (inner * state + std::max(0.0, inputs) * (inner + 2 * groups * state));
}

void add_tensor(ModelCard& card, const GgufTensor& tensor, std::uint64_t& expert_bytes) {
    card.resident_weight_bytes += tensor.bytes;
    card.parameters += tensor.values;
    card.bytes_by_dtype[tensor.dtype] += tensor.bytes;
    if (const auto layer = layer_of(tensor.name); layer && *layer >= card.layers)
        return;  // draft layers after the model's layers
    if (tensor.name == "token_embd.weight") card.embedding_bytes = tensor.bytes;
    if (tensor.name == "token_embd.weight" && !card.tied_embeddings) return;
    const bool matrix = tensor.shape.size() >= 2;
    if (matrix && tensor.name.find(".attn_") != std::string::npos) card.attention_bytes += tensor.bytes;
    if (card.moe && tensor.name.find("_exps.") != std::string::npos) {
        expert_bytes += tensor.bytes;
        if (matrix) card.active_parameters += tensor.values / card.moe->experts * card.moe->active;
        return;
    }
    card.dense_streamed_bytes += tensor.bytes;
    if (matrix) card.active_parameters += tensor.values;
}

void fill_weights(ModelCard& card, const GgufHeader& header) {
    std::uint64_t expert_bytes = 0;
    for (const GgufTensor& tensor : header.tensors) add_tensor(card, tensor, expert_bytes);
    if (card.moe) {
        const auto routes = [&](const GgufTensor& t) {
            const auto layer = layer_of(t.name);
            return t.name.find("ffn_down_exps.weight") != std::string::npos && layer && *layer < card.layers;
        };
        card.moe->layers = static_cast<std::uint64_t>(std::ranges::count_if(header.tensors, routes));
        card.moe->expert_bytes =
            card.moe->layers > 0 ? expert_bytes / (card.moe->layers * card.moe->experts) : 0;
    }
    const auto most = std::ranges::max_element(
        card.bytes_by_dtype, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != card.bytes_by_dtype.end()) card.weight_dtype = most->first;
}

std::string without_ending(std::string text, std::string_view ending) {
    const std::string lower = lower_case(text);
    if (ending.empty() || !lower.ends_with(ending) || lower.size() == ending.size()) return text;
    text.resize(text.size() - ending.size());
    while (text.size() > 1 && (text.back() == '.' || text.back() == '-' || text.back() == '_'))
        text.pop_back();
    return text;
}

/// The model's name: the file's name, because general.name is often the name of a training run. If the file's
/// name is not informative ("model", a download's hash), general.name is used.
std::string name_of(const GgufHeader& header, const std::filesystem::path& path,
                    const std::string& weight_dtype) {
    std::string stem = path.stem().string();
    if (const auto part = stem.find("-00001-of-"); part != std::string::npos) stem.resize(part);
    const auto named = header.string("general.name");
    const bool says_nothing = stem.starts_with("sha256") || stem.starts_with("ggml-model") || stem == "model";
    if (says_nothing && named && !named->empty()) return *named;
    return without_ending(std::move(stem), weight_dtype);
}

/// Adds the tensors of the other parts of a file such as "model-00001-of-00003.gguf".
void append_parts(GgufHeader& header, const std::filesystem::path& path) {
    const double parts = header.number("split.count").value_or(1);
    if (!(parts > 1)) return;
    const std::string file = path.filename().string();
    const std::string ending =
        fmt::format("-00001-of-{:05}.gguf", static_cast<int>(std::min(parts, 99999.0)));
    if (!file.ends_with(ending))
        throw UsageError(
            fmt::format("{}: one part of {}; give the first one (\"…{}\")", path.string(), parts, ending));
    const std::string stem = file.substr(0, file.size() - ending.size());
    for (int part = 2; part <= static_cast<int>(parts); ++part) {
        const GgufHeader other = read_gguf_header(
            path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", stem, part, static_cast<int>(parts)));
        header.tensors.insert(header.tensors.end(), other.tensors.begin(), other.tensors.end());
    }
}

std::uint64_t vocabulary(const ArchitectureKeys& keys, const GgufHeader& header) {
    if (const auto size = keys.find("vocab_size")) return *size;
    const GgufArray* tokens = header.array("tokenizer.ggml.tokens");
    return tokens ? tokens->length : 0;
}

}  // namespace

ModelCard model_card_of_gguf(const std::filesystem::path& path, const ModelCardOptions& options) {
    if (options.weight_dtype)
        throw UsageError(fmt::format(
            "{}: a GGUF file determines the type of its weights; leave the weight type out", path.string()));
    GgufHeader header = read_gguf_header(path);
    append_parts(header, path);
    const ArchitectureKeys keys(header, path.string());
    ModelCard card;
    card.source = "GGUF metadata";
    card.architecture = keys.name();
    card.layers = keys.at("block_count");
    constexpr std::uint64_t kMostLayers = 4096;
    if (card.layers > kMostLayers)
        throw UsageError(
            fmt::format("{}: {}.block_count: {} layers: damaged", path.string(), keys.name(), card.layers));
    card.layers -= std::min(card.layers - 1, keys.find("nextn_predict_layers").value_or(0));
    keys.refuse_other_models(card.layers);
    card.hidden = keys.at("embedding_length");
    card.ffn =
        static_cast<std::uint64_t>(std::ranges::max(keys.per_layer("feed_forward_length", card.layers, 0)));
    card.vocab = vocabulary(keys, header);
    card.max_context = keys.find("context_length");
    card.tied_embeddings =
        std::ranges::none_of(header.tensors, [](const GgufTensor& t) { return t.name == "output.weight"; });
    const auto gates = [](const GgufTensor& t) {
        return t.name.find(".ffn_gate") != std::string::npos &&
               t.name.find("ffn_gate_inp") == std::string::npos;
    };
    const auto holds_both = [&card](const GgufTensor& t) {  // gate and up are in one tensor
        return t.name.ends_with(".ffn_up.weight") && t.shape.size() == 2 && t.shape[1] == 2 * card.ffn;
    };
    card.gated_ffn =
        std::ranges::any_of(header.tensors, gates) || std::ranges::any_of(header.tensors, holds_both);
    if (const auto experts = keys.find("expert_count"); experts && *experts > 1) {
        MixtureOfExperts moe;
        moe.experts = *experts;
        moe.active = std::min(keys.at("expert_used_count"), *experts);
        moe.expert_ffn = keys.find("expert_feed_forward_length").value_or(card.ffn);
        moe.shared_ffn = keys.find("expert_shared_feed_forward_length").value_or(0);
        card.moe = moe;
    }
    fill_attention(card, keys, header);
    card.state_bytes_per_sequence = state_bytes_of(keys, header, card.layers);
    fill_weights(card, header);
    if (card.dense_streamed_bytes == 0)
        throw UsageError(fmt::format("{}: holds no weights (a vocabulary-only file)", path.string()));
    card.name = name_of(header, path, card.weight_dtype);
    card.kv_dtype = options.kv_dtype ? std::string(number_format(*options.kv_dtype).name) : "f16";
    return card;
}

}  // namespace paretoken::cards
