#include "cards/config/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "cards/config/values.h"
#include "core/error.h"
#include "core/formats.h"

namespace paretoken::cards {
namespace {

/// Sums of values and scales, by format.
struct Sums {
    std::map<std::string, std::uint64_t> values;
    double scale_bytes = 0;
    std::uint64_t block = 0;  ///< the widest

    void add(const Stored& stored, std::uint64_t count) {
        values[stored.dtype] += count;
        scale_bytes += stored.scale_bytes * static_cast<double>(count);
        block = std::max(block, stored.block);
    }

    std::uint64_t count() const {
        std::uint64_t sum = 0;
        for (const auto& [dtype, values_of] : values) sum += values_of;
        return sum;
    }
};

/// The weights of the parts of a model.
class Weights {
  public:
    Weights(const ModelCard& card, Recipe& recipe, const ModelType& type)
        : card_(card), recipe_(recipe), experts_name_(type.experts_name) {}

    const Sums& operator[](Part part) const { return sums_[static_cast<std::size_t>(part)]; }

    void add(const ModuleNames& module, std::uint64_t values) {
        sums_[static_cast<std::size_t>(module.part)].add(format_of(recipe_, module), values);
    }

    /// Adds a gated delta net: queries, keys, values, their gate, and two numbers per head of values.
    void add_linear(std::uint64_t layer, const LinearLayers& linear) {
        const auto add_one = [&](std::string_view names, std::uint64_t values) {
            add({.part = Part::attention, .layer = layer, .folders = "linear_attn", .matrices = names},
                values);
        };
        add_one("in_proj_qkvz in_proj_qkv in_proj_z", card_.hidden * 2 * (linear.keys + linear.values));
        add_one("in_proj_ba in_proj_b in_proj_a", card_.hidden * 2 * linear.value_heads);
        add_one("out_proj", linear.values * card_.hidden);
    }

    /// `gated`: the matrix of queries has a gate beside each of them.
    void add_attention(std::uint64_t layer, bool gated) {
        const auto add_one = [&](std::string_view names, std::uint64_t values) {
            add({.part = Part::attention,
                 .layer = layer,
                 .folders = "self_attn attention attn self_attention",
                 .matrices = names},
                values);
        };
        const std::uint64_t hidden = card_.hidden;
        const std::uint64_t heads = card_.query_heads;
        constexpr std::string_view kOutput = "o_proj out_proj dense c_proj wo";
        if (!card_.mla) {
            add_one("q_proj qkv_proj query_key_value c_attn Wqkv W_pack wqkv",
                    (gated ? 2 : 1) * hidden * heads * card_.head_dim);
            add_one("k_proj qkv_proj query_key_value c_attn Wqkv W_pack wqkv",
                    hidden * card_.kv_heads * card_.head_dim);
            add_one("v_proj qkv_proj query_key_value c_attn Wqkv W_pack wqkv",
                    hidden * card_.kv_heads * card_.head_dim);
            add_one(kOutput, heads * card_.head_dim * hidden);
            return;
        }
        const LatentAttention& mla = *card_.mla;
        if (mla.q_rank > 0) {
            add_one("q_a_proj fused_qkv_a_proj_with_mqa", hidden * mla.q_rank);
            add_one("q_b_proj", mla.q_rank * heads * mla.qk_head_dim);
        } else {
            add_one("q_proj", hidden * heads * mla.qk_head_dim);
        }
        add_one("kv_a_proj_with_mqa fused_qkv_a_proj_with_mqa", hidden * (mla.kv_rank + mla.rope_dim));
        add_one("kv_b_proj", mla.kv_rank * heads * (mla.qk_head_dim - mla.rope_dim + mla.v_head_dim));
        add_one(kOutput, heads * mla.v_head_dim * hidden);
    }

    /// Adds the two or three matrices of a feed-forward layer, or of `copies` experts.
    void add_feed_forward(const ModuleNames& module, std::uint64_t width, std::uint64_t copies = 1) {
        const auto add_one = [&](std::string_view names) {
            ModuleNames matrix = module;
            matrix.matrices = names;
            add(matrix, copies * card_.hidden * width);
        };
        if (card_.gated_ffn) add_one("gate_proj gate_up_proj w1 linear_v");
        add_one("up_proj gate_up_proj w3 fc1 c_fc fc_in dense_h_to_4h linear_1");
        add_one("down_proj w2 fc2 c_proj fc_out dense_4h_to_h");
    }

    void add_dense(std::uint64_t layer) {
        const bool llama4 = experts_name_ == "feed_forward";
        add_feed_forward({.part = Part::dense,
                          .layer = layer,
                          .folders = llama4 ? "feed_forward" : "mlp ffn feed_forward"},
                         card_.ffn);
    }

    void add_experts(std::uint64_t layer) {
        const MixtureOfExperts& moe = *card_.moe;
        add({.part = Part::router, .layer = layer, .folders = experts_name_, .matrices = "gate router"},
            card_.hidden * moe.experts);
        if (moe.shared_ffn > 0)
            add_feed_forward({.part = Part::shared,
                              .layer = layer,
                              .folders = fmt::format("{0}.shared_experts {0}.shared_expert {0}.shared_mlp",
                                                     experts_name_)},
                             moe.shared_ffn);
        ModuleNames first{.part = Part::experts, .layer = layer, .folders = expert_names(0)};
        ModuleNames last = first;
        last.folders = expert_names(moe.experts - 1);
        first.matrices = last.matrices = "gate_proj gate_up_proj w1";
        if (format_of(recipe_, first) != format_of(recipe_, last))
            throw UsageError(
                fmt::format("{}: experts of layer {} are stored in different formats, which cannot be "
                            "counted; give one type for all weights with CARD:weights=TYPE",
                            card_.name, layer));
        add_feed_forward(first, moe.expert_ffn, moe.experts);
    }

  private:
    std::string expert_names(std::uint64_t expert) const {
        return fmt::format("{0}.experts.{1} {0}.experts", experts_name_, expert);
    }

    const ModelCard& card_;
    Recipe& recipe_;
    std::string experts_name_;
    std::array<Sums, 8> sums_;
};

/// Adds sums to the card and returns their bytes, without scales.
std::uint64_t hold(ModelCard& card, const Sums& sums) {
    std::uint64_t all = 0;
    for (const auto& [dtype, values] : sums.values) {
        const auto bytes = static_cast<std::uint64_t>(
            std::llround(static_cast<double>(values) * bytes_per_value(number_format(dtype))));
        if (bytes > 0) card.bytes_by_dtype[dtype] += bytes;
        all += bytes;
    }
    card.parameters += sums.count();
    card.resident_weight_bytes += all;
    card.scale_bytes += sums.scale_bytes;
    return all;
}

/// The embeddings of Gemma 3n that each layer looks up, and the matrices that add them to its residual
/// stream.
struct LayerEmbeddings {
    std::uint64_t table = 0;
    std::uint64_t projections = 0;
};
LayerEmbeddings layer_embeddings_of(const JsonCursor& config, const ModelCard& card) {
    const std::uint64_t width = count_or_none(config, {"hidden_size_per_layer_input"});
    if (width == 0) return {};
    const std::uint64_t vocab = extent_or(config, {"vocab_size_per_layer_input"}, card.vocab);
    return {vocab * card.layers * width, 3 * card.hidden * card.layers * width};
}

/// The width of the embedding, which OPT 350M has narrower than its residual stream.
std::uint64_t embedding_width_of(const JsonCursor& config, const ModelCard& card) {
    return extent_or(config, {"word_embed_proj_dim"}, card.hidden);
}

/// The parameters of an encoder from its number of layers and its widths.
std::optional<std::uint64_t> tower_parameters(const JsonCursor& tower) {
    const auto number = [&](Keys keys) -> std::optional<double> {
        const auto found = find_any(tower, keys);
        if (!found || !found->is_number() || !(found->number() > 0 && found->number() < 1 << 20)) return {};
        return found->number();
    };
    auto layers = number({"num_hidden_layers", "depth", "encoder_layers", "layers", "num_layers"});
    if (const auto more = number({"num_global_layers"}); layers && more) *layers += *more;
    const auto width = number({"embed_dim", "hidden_size", "d_model", "width"});
    auto inner = number({"intermediate_size", "encoder_ffn_dim", "mlp_dim"});
    if (const auto ratio = number({"mlp_ratio"}); !inner && ratio && width) inner = *ratio * *width;
    if (!layers || !width || !inner) return {};
    const auto activation = tower.find("hidden_act");
    const bool gated = activation && activation->is_string() && activation->string() == "silu";
    return static_cast<std::uint64_t>(*layers * *width * (4 * *width + (gated ? 3 : 2) * *inner));
}

}  // namespace

std::vector<Tower> towers_of(const JsonCursor& whole) {
    constexpr std::array<std::string_view, 10> kParts{
        "vision", "visual", "audio", "speech", "sound", "vit", "talker", "2wav", "img_", "encoder_config"};
    std::vector<Tower> towers;
    for (const auto& [key, value] : whole.members()) {
        if (value.is_string() && key.ends_with("vision_tower")) towers.push_back({key, {}});  // its name
        if (!value.is_object()) continue;
        const bool tower = std::ranges::any_of(
            kParts, [&key = key](std::string_view part) { return key.find(part) != std::string::npos; });
        if (tower)
            towers.push_back({key, tower_parameters(value)});
        else if (key == "thinker_config")
            for (Tower& inner : towers_of(value)) towers.push_back(std::move(inner));
    }
    return towers;
}

void fill_weights(ModelCard& card, const JsonCursor& config, const ModelType& type,
                  const LinearLayers& linear, const std::vector<bool>& routed,
                  const std::vector<Tower>& towers, Recipe& recipe) {
    Weights weights(card, recipe, type);
    if (card.tied_embeddings && recipe.output) recipe.table = recipe.output;
    const std::uint64_t width = embedding_width_of(config, card);
    weights.add({.part = Part::embedding}, card.vocab * width);
    if (!card.tied_embeddings) weights.add({.part = Part::head}, card.vocab * width);
    for (std::uint64_t layer = 0; layer < card.layers; ++layer) {
        if (linear.linear[layer])
            weights.add_linear(layer, linear);
        else
            weights.add_attention(layer, linear.gated_attention);
        if (routed[layer])
            weights.add_experts(layer);
        else
            weights.add_dense(layer);
    }
    refuse_unused_rules(recipe);
    LayerEmbeddings embeddings = layer_embeddings_of(config, card);
    if (width != card.hidden) embeddings.projections += 2 * width * card.hidden;
    Sums looked_up;
    looked_up.add({recipe.base}, embeddings.table);
    Sums projections;
    projections.add({recipe.base}, embeddings.projections);
    for (const Tower& tower : towers) {
        looked_up.add({recipe.base}, tower.parameters.value_or(0));
        card.notes.push_back(
            tower.parameters
                ? fmt::format(
                      "the weights include {:.2f} billion parameters of {} and none of what connects it "
                      "to the language model",
                      static_cast<double>(*tower.parameters) / 1e9, tower.key)
                : fmt::format("the weights of {} are not counted, because their number does not follow from "
                              "the config; --weights-memory states the size of all weights",
                              tower.key));
    }
    card.embedding_bytes = hold(card, weights[Part::embedding]);
    const std::uint64_t output =
        card.tied_embeddings ? card.embedding_bytes : hold(card, weights[Part::head]);
    const std::uint64_t attention = hold(card, weights[Part::attention]);
    card.attention_bytes =
        attention + static_cast<std::uint64_t>(std::llround(weights[Part::attention].scale_bytes));
    card.dense_streamed_bytes = output + attention + hold(card, weights[Part::dense]) +
                                hold(card, weights[Part::shared]) + hold(card, weights[Part::router]) +
                                hold(card, projections);
    const std::uint64_t experts = hold(card, weights[Part::experts]);
    card.scale_block = std::max(weights[Part::dense].block, weights[Part::shared].block);
    hold(card, looked_up);
    card.active_parameters = card.vocab * width + embeddings.projections;
    for (const Part part : {Part::attention, Part::dense, Part::shared, Part::router})
        card.active_parameters += weights[part].count();
    if (card.moe && card.moe->layers > 0) {
        card.moe->expert_bytes = experts / (card.moe->layers * card.moe->experts);
        card.moe->scale_bytes = weights[Part::experts].scale_bytes;
        const auto& stored = weights[Part::experts].values;  // kernels for experts in integers halve groups
        if (stored.contains("fp8") || stored.contains("fp8_blocks"))
            card.moe->scale_block = weights[Part::experts].block;
        card.active_parameters += weights[Part::experts].count() / card.moe->experts * card.moe->active;
    }
    card.weight_dtype = std::ranges::max_element(card.bytes_by_dtype, [](const auto& a, const auto& b) {
                            return a.second < b.second;
                        })->first;
}

}  // namespace paretoken::cards
