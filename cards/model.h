#pragma once
// The cost of holding a model and of computing a step, from its shape alone: bytes of weights resident and
// streamed, bytes of KV cache, parameters that work on each token. From a shipped card, a Hugging Face
// config.json or a GGUF file. The embedding gather is never streamed; the output projection always is, even
// when it is the embedding (tied).
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cards {

/// Routed experts; shared ones are dense weights.
struct MixtureOfExperts {
    std::uint64_t layers = 0;   ///< layers that route
    std::uint64_t experts = 0;  ///< per layer
    std::uint64_t active = 0;   ///< per token and layer
    std::uint64_t expert_ffn = 0;
    std::uint64_t shared_ffn = 0;    ///< total width of the shared experts
    std::uint64_t expert_bytes = 0;  ///< of one expert in one layer (mean over layers)

    bool operator==(const MixtureOfExperts&) const = default;
};

/// Multi-head latent attention (DeepSeek): one compressed vector and one rotary key per token and layer.
struct LatentAttention {
    std::uint64_t kv_rank = 0;
    std::uint64_t rope_dim = 0;
    std::uint64_t q_rank = 0;  ///< 0: queries are not compressed
    std::uint64_t qk_head_dim = 0;
    std::uint64_t v_head_dim = 0;

    bool operator==(const LatentAttention&) const = default;
};

struct ModelCard {
    std::string name;          ///< "llama-3.1-8b"
    std::string source;        ///< "shipped card", "config.json", "GGUF metadata"
    std::string architecture;  ///< "llama"
    std::uint64_t layers = 0;
    std::uint64_t hidden = 0;
    std::uint64_t query_heads = 0;
    std::uint64_t kv_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t vocab = 0;
    std::uint64_t ffn = 0;  ///< of dense layers; 0 when every layer routes
    bool gated_ffn = true;  ///< gate, up and down; else up and down
    bool tied_embeddings = false;
    std::optional<std::uint64_t> sliding_window;
    std::uint64_t windowed_layers = 0;
    std::optional<MixtureOfExperts> moe;
    std::optional<LatentAttention> mla;
    std::optional<std::uint64_t> max_context;
    std::string weight_dtype;  ///< label: the type that holds most bytes, "bf16", "q4_1"
    std::string kv_dtype;      ///< of the KV cache: as was asked for, else as the config says, else 16 bits

    std::uint64_t resident_weight_bytes = 0;  ///< all of it
    std::uint64_t dense_streamed_bytes = 0;   ///< every step: no embedding gather, no routed experts
    std::map<std::string, std::uint64_t> bytes_by_dtype;
    std::uint64_t parameters = 0;
    std::uint64_t active_parameters = 0;    ///< per token: no embedding gather, routed experts × active
    std::uint64_t kv_values_per_token = 0;  ///< over the layers that keep the whole context
    std::uint64_t windowed_kv_values_per_token = 0;  ///< over the layers with a window
    double attention_flops_per_pair = 0;  ///< one query token against one key, layers without a window
    double windowed_attention_flops_per_pair = 0;  ///< the same, layers with one

    bool operator==(const ModelCard&) const = default;
};

/// Expected number of distinct experts that `tokens` draw in one layer: E·(1 − (1 − k/E)^tokens).
double distinct_experts(double experts, double active, double tokens);

/// Bytes of weights read by a step of `tokens` tokens.
double streamed_weight_bytes(const ModelCard& card, double tokens = 1);

/// Bytes that one more token takes while no window is full.
double kv_bytes_per_token(const ModelCard& card);

/// Bytes of one sequence of `context` tokens, windows taken into account.
double kv_bytes_per_sequence(const ModelCard& card, double context);

struct ModelCardOptions {
    std::optional<std::string> weight_dtype;  ///< of the linear layers; embedding and output keep theirs
    std::optional<std::string> kv_dtype;
};

/// The hf_quant_config.json that ModelOpt writes beside a config.json.
struct QuantizationFile {
    std::string text;
    std::string where;  ///< its name, for messages

    bool operator==(const QuantizationFile&) const = default;
};

/// A shipped card's name, a config.json (or the directory it is in), a GGUF file, or the JSON of a card. Of a
/// config.json the hf_quant_config.json beside it is read too.
/// Types may follow, as in "llama-3.1-8b:kv=fp8,weights=int4"; those of `options` come before them. Throws
/// UsageError: what was looked for, what is wrong with it, which names are known.
ModelCard model_card(const std::string& name_or_path, const ModelCardOptions& options = {});

/// From the text of a config.json; `where` is its name, for messages. `quantization` counts where the config
/// says nothing of quantisation itself. Throws UsageError.
ModelCard model_card_of_config(std::string_view json, const std::string& where,
                               const ModelCardOptions& options = {},
                               const std::optional<QuantizationFile>& quantization = {});

/// From a GGUF file's header, exact to the byte (all parts of a split file). Throws UsageError.
ModelCard model_card_of_gguf(const std::filesystem::path& path, const ModelCardOptions& options = {});

/// A hash of every value that a report computes with, so that a card that has changed since a run is noticed.
std::string content_hash_of(const ModelCard& card);

std::vector<std::string> known_models();

}  // namespace paretoken::cards
