#pragma once
// The memory that a model takes and the work of one forward pass (a step), from the model's shape. The shape
// comes from a shipped card (JSON), a Hugging Face config.json or a GGUF file. Embeddings are looked up by
// single rows and do not count as streamed weights; the output projection always does.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cards {

/// The routed experts of a model; shared experts count as dense weights.
struct MixtureOfExperts {
    std::uint64_t layers = 0;        ///< number of layers with routed experts
    std::uint64_t experts = 0;       ///< experts per layer
    std::uint64_t active = 0;        ///< active experts per token and layer
    std::uint64_t expert_ffn = 0;    ///< width of one expert
    std::uint64_t shared_ffn = 0;    ///< total width of the shared experts
    std::uint64_t expert_bytes = 0;  ///< bytes of one expert in one layer (mean over layers)
    double scale_bytes = 0;          ///< part of the card's: the scales of all experts
    std::uint64_t scale_block = 0;   ///< as of the card, in the matrices of an expert

    bool operator==(const MixtureOfExperts&) const = default;
};

/// Multi-head latent attention (DeepSeek): one compressed vector and one rotary key per token and layer.
struct LatentAttention {
    std::uint64_t kv_rank = 0;      ///< width of the compressed vector
    std::uint64_t rope_dim = 0;     ///< width of the rotary key
    std::uint64_t q_rank = 0;       ///< width of a compressed query; 0 means that queries are not compressed
    std::uint64_t qk_head_dim = 0;  ///< width of one head's query, including rope_dim
    std::uint64_t v_head_dim = 0;   ///< width of one head's value

    bool operator==(const LatentAttention&) const = default;
};

struct ModelCard {
    std::string name;          ///< "llama-3.1-8b"
    std::string source;        ///< "shipped card", "config.json", "GGUF metadata"
    std::string repository;    ///< of Hugging Face, for a shipped card: "Qwen/Qwen3-8B"; else empty
    std::string architecture;  ///< "llama"
    std::uint64_t layers = 0;
    std::uint64_t hidden = 0;
    std::uint64_t query_heads = 0;
    std::uint64_t kv_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t vocab = 0;
    std::uint64_t ffn = 0;  ///< feed-forward width of dense layers; no meaning if every layer has experts
    bool gated_ffn = true;  ///< whether there are three matrices (gate, up and down) or two (up and down)
    bool tied_embeddings = false;
    std::optional<std::uint64_t> sliding_window;  ///< tokens that layers with a window or chunks see
    std::uint64_t windowed_layers = 0;            ///< number of layers with a window or chunks
    bool chunked_attention = false;               ///< whether these layers see chunks, not a window
    std::optional<MixtureOfExperts> moe;
    std::optional<LatentAttention> mla;
    std::optional<std::uint64_t> max_context;
    std::string weight_dtype;  ///< label: the type with the most bytes: "bf16", "q4_1"
    std::string kv_dtype;      ///< type of the KV cache: the one asked for, else the config's, else 16 bits

    std::uint64_t resident_weight_bytes = 0;  ///< bytes of all weights
    std::uint64_t dense_streamed_bytes = 0;   ///< read by every step: no embedding lookup, no routed experts
    std::uint64_t embedding_bytes = 0;  ///< part of all weights: the embedding that tokens are looked up in
    std::uint64_t attention_bytes = 0;  ///< part of all weights: the matrices of attention, with their scales
    /// Bytes of scales that the sizes of the formats, and so `resident_weight_bytes`, do not contain.
    double scale_bytes = 0;
    /// Rows or columns of a feed-forward matrix that share a scale, which ranks cannot divide; 0: none do.
    std::uint64_t scale_block = 0;
    std::map<std::string, std::uint64_t> bytes_by_dtype;
    std::uint64_t parameters = 0;
    std::uint64_t active_parameters = 0;  ///< used per token: no embedding lookup, only active experts
    /// Keys and values of one token in all layers without a window. Layers that use the cache of another
    /// layer do not count, neither here nor in windowed_kv_values_per_token.
    std::uint64_t kv_values_per_token = 0;
    std::uint64_t windowed_kv_values_per_token = 0;  ///< such values in all layers with a window
    double state_bytes_per_sequence = 0;  ///< what recurrent layers keep of a sequence, whatever its length
    double attention_flops_per_pair = 0;  ///< FLOP per pair of query and key token, layers without a window
    double windowed_attention_flops_per_pair = 0;  ///< FLOP of such a pair in all layers with a window
    std::vector<std::string> notes;                ///< what a reader of the figures must know, as clauses

    bool operator==(const ModelCard&) const = default;
};

/// Returns the expected number of distinct experts that `tokens` tokens use in one layer, if each token uses
/// any k = `active` of the E = `experts` with equal probability: E·(1 − (1 − k/E)^tokens). 0 for no experts.
double distinct_experts(double experts, double active, double tokens);

/// Returns the time of two kinds of work that overlap in part: (a^q + b^q)^(1/q), with q = `exponent` ≥ 1.
double overlapped_seconds(double a, double b, double exponent);

/// The bytes of weights that a step of `tokens` tokens reads, with the expected routed experts.
double streamed_weight_bytes(const ModelCard& card, double tokens = 1);

std::uint64_t attention_parameters(const ModelCard& card);

/// The bytes of KV cache that one more token takes while no window is full.
double kv_bytes_per_token(const ModelCard& card);

/// The bytes of KV cache of one sequence of `context` tokens, with windows taken into account.
double kv_bytes_per_sequence(const ModelCard& card, double context);

struct ModelCardOptions {
    /// The type of the linear layers, in place of the config's quantisation. An unquantised one also applies
    /// to embedding, output projection and router. Refused for a GGUF file.
    std::optional<std::string> weight_dtype;
    std::optional<std::string> kv_dtype;  ///< type of the KV cache
};

/// The hf_quant_config.json that ModelOpt (NVIDIA's tool for quantisation) writes beside a config.json.
struct QuantizationFile {
    std::string text;
    std::string where;  ///< name of the file, for messages

    bool operator==(const QuantizationFile&) const = default;
};

/// Returns the card for the name or alias of a shipped card (in any case), the path of a config.json (or its
/// directory), a GGUF file or a JSON card, or a repository OWNER/NAME with the name of a shipped card. Types
/// may follow ("llama-3.1-8b:kv=fp8,weights=int4"); those in `options` take precedence. Throws a UsageError
/// that names the card or file and what is wrong, or the known names.
ModelCard model_card(const std::string& name_or_path, const ModelCardOptions& options = {});

/// The card from the text of a config.json; `where` is its name, for messages. `quantization` is used if the
/// config itself does not describe its quantisation. Throws UsageError.
ModelCard model_card_of_config(std::string_view json, const std::string& where,
                               const ModelCardOptions& options = {},
                               const std::optional<QuantizationFile>& quantization = {});

/// The card from the header of a GGUF file; its bytes of weights are exact. For a split file, `path` is the
/// first part, and the other parts are read from the same directory. Throws UsageError.
ModelCard model_card_of_gguf(const std::filesystem::path& path, const ModelCardOptions& options = {});

/// A hash of the numbers and formats (not the name), to show whether a card has changed since a run.
std::string content_hash_of(const ModelCard& card);

std::vector<std::string> known_models();

}  // namespace paretoken::cards
