#pragma once
// Small config.json texts for tests, and what is said about wrong ones.
#include <string>

#include "cards/model.h"
#include "core/error.h"

namespace paretoken::cards::testing {

/// A text like {"model_type": "llama", …}, from its members.
inline ModelCard card_of(const std::string& members, const ModelCardOptions& options = {}) {
    return model_card_of_config("{" + members + "}", "some/config.json", options);
}

inline std::string complaint_about(const std::string& members) {
    try {
        card_of(members);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

inline double billions(const ModelCard& card) {
    return static_cast<double>(card.parameters) / 1e9;
}

/// Llama 3.1 8B, with more members.
inline std::string eight_billion(const std::string& more = "") {
    return R"("model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16")" +
           more;
}

}  // namespace paretoken::cards::testing
