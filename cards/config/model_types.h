#pragma once
// What a model's type (model_type of its config.json) implies for keys that the config leaves out. The values
// are the defaults of the library transformers or of the model's own code.
#include <cstdint>
#include <optional>
#include <string>

#include "cards/json_value.h"

namespace paretoken::cards {

/// The facts about a type. An absent one is not known, and a config that needs it must state it.
struct ModelType {
    bool known = false;                 ///< whether the type's attention and feed-forward are known
    std::optional<bool> tied;           ///< whether the output projection is the embedding
    std::optional<bool> gated;          ///< whether there are three feed-forward matrices, not two
    bool halves = false;                ///< whether intermediate_size counts gate and up together
    bool shared_expert = false;         ///< whether every token also uses an expert of intermediate_size
    bool gated_delta = false;           ///< whether some layers are gated delta nets (Qwen3-Next)
    bool cross_attention = false;       ///< whether some layers attend to images alone (Llama 3.2 Vision)
    bool window_by_default = true;      ///< whether a stated window is used unless use_sliding_window says so
    std::uint64_t window_pattern = 0;   ///< every n-th layer sees the whole context; 0: none does
    std::optional<std::uint64_t> head;  ///< width of a head
    std::string experts_name = "mlp";   ///< name of the module that has the experts
};

/// The facts about the type of a config's language model: model_type, or else the class in `architectures`.
ModelType model_type_of(const JsonCursor& config);

/// Whether feed-forward layers are gated, by the type, else by the activation. Throws UsageError if unknown.
bool is_gated(const JsonCursor& config, const ModelType& type);

/// Whether layer_types says "attention" for every layer, so that settings of other layers are not used
/// (Granite 4.0 Micro).
bool has_attention_alone(const JsonCursor& config);

/// Throws a UsageError for a model without a KV cache that a config describes: encoders, encoder-decoders,
/// state-space and linear-attention models.
void refuse_other_architectures(const JsonCursor& config, const std::string& where);

}  // namespace paretoken::cards
