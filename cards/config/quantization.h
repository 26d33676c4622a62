#pragma once
// The storage format of each module of a config.json's model, by its quantization_config.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/config/name_pattern.h"
#include "cards/json_value.h"

namespace paretoken::cards {

/// The kinds of weights. Recipes quantise linear layers: those of attention, feed-forward and experts.
enum class Part : std::uint8_t { embedding, head, attention, dense, shared, experts, router, tower };

/// The names of a matrix in checkpoints. Each list has spaces between its words.
struct ModuleNames {
    Part part = Part::attention;
    std::uint64_t layer = 0;
    std::string folders = {};        ///< names of the module that contains the matrix: "self_attn attention"
    std::string_view matrices = {};  ///< its own names: "q_proj qkv_proj"
};

/// The format in which a matrix is stored.
struct Stored {
    std::string dtype;
    double scale_bytes = 0;   ///< bytes of scales per value that the format's own size does not contain
    std::uint64_t block = 0;  ///< rows or columns with one scale; 0: a rank can have any number of them

    bool operator==(const Stored&) const = default;
};

/// A rule of a recipe for the modules that it names.
struct NameRule {
    JsonCursor where;                    ///< the rule in the config, for messages
    std::string text;                    ///< the name, or a part of it, between dots
    std::optional<NamePattern> pattern;  ///< in place of a name
    std::optional<std::uint64_t> layer;  ///< the only layer that the rule can concern
    Stored stored;
    int rank = 0;       ///< rules of a lower rank come first
    bool head = false;  ///< whether it may concern the output projection
    bool used = false;
};

struct Recipe {
    std::string base = "bf16";  ///< format of what is not quantised
    bool was_32_bits = false;   ///< whether the checkpoint is in 32 bits, which engines load in 16 bits
    Stored otherwise;           ///< format of linear layers that no rule concerns
    bool experts_only = false;  ///< whether `otherwise` is that of experts alone
    bool head = false;          ///< whether it is also that of the output projection
    /// Formats of the embedding and output projection that llama.cpp's converter chooses; absent: `base`.
    std::optional<Stored> table = {};
    std::optional<Stored> output = {};
    std::uint64_t layers = 0;
    std::vector<std::string> prefixes;  ///< beginnings of the names of layers: "model."
    std::vector<NameRule> rules;
};

/// The recipe of a language model's config, or of the whole config around it. `wanted`, a format, replaces
/// its quantization_config. Throws UsageError.
Recipe recipe_of(const JsonCursor& config, const JsonCursor& whole, const std::optional<std::string>& wanted,
                 std::uint64_t layers, std::vector<std::string> prefixes);

/// The format of a matrix. Rules that concern it are marked as used. Throws UsageError if they conflict.
Stored format_of(Recipe& recipe, const ModuleNames& module);

/// Throws a UsageError for an unused rule that seems to name a module of the language model.
void refuse_unused_rules(const Recipe& recipe);

/// The type of the KV cache that a checkpoint states; nothing if it states none.
std::optional<std::string> kv_dtype_of(const JsonCursor& config);

}  // namespace paretoken::cards
