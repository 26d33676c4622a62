#include "microbench/shapes.h"

#include <fmt/format.h>

#include "cards/presets.h"
#include "core/error.h"

namespace paretoken::microbench {
namespace {

ModelShape shape_of(const cards::ModelPreset& preset) {
    ModelShape shape = model_shape_of(cards::model_card(std::string(preset.card)));
    shape.name = preset.name;
    return shape;
}

void add_attention(std::vector<MatrixShape>& layer, const cards::ModelCard& card) {
    if (!card.mla) {
        const std::size_t q = card.query_heads * card.head_dim;
        layer.push_back({"qkv", q + 2 * card.kv_heads * card.head_dim, card.hidden});
        layer.push_back({"o", card.hidden, q});
        return;
    }
    const cards::LatentAttention& mla = *card.mla;
    const std::size_t queries = card.query_heads * mla.qk_head_dim;
    if (mla.q_rank > 0) {
        layer.push_back({"q_a", mla.q_rank, card.hidden});
        layer.push_back({"q_b", queries, mla.q_rank});
    } else {
        layer.push_back({"q", queries, card.hidden});
    }
    layer.push_back({"kv_a", mla.kv_rank + mla.rope_dim, card.hidden});
    layer.push_back(
        {"kv_b", card.query_heads * (mla.qk_head_dim - mla.rope_dim + mla.v_head_dim), mla.kv_rank});
    layer.push_back({"o", card.hidden, card.query_heads * mla.v_head_dim});
}

void add_feed_forward(std::vector<MatrixShape>& layer, const cards::ModelCard& card,
                      const std::string& prefix, std::size_t width, std::size_t count) {
    if (width == 0) return;
    if (card.gated_ffn) {
        layer.push_back({prefix + "gate_up", 2 * width, card.hidden, count});
    } else {
        layer.push_back({prefix + "up", width, card.hidden, count});
    }
    layer.push_back({prefix + "down", card.hidden, width, count});
}

}  // namespace

std::string name_of(const HeadShape& heads) {
    return fmt::format("{}x{}x{}", heads.query_heads, heads.kv_heads, heads.head_dim);
}

ModelShape model_shape_of(const cards::ModelCard& card) {
    ModelShape shape{.name = card.name,
                     .layer = {},
                     .lm_head = {"lm_head", card.vocab, card.hidden},
                     .heads = {card.query_heads, card.kv_heads, card.head_dim},
                     .moe = card.moe,
                     .mla = card.mla};
    add_attention(shape.layer, card);
    if (card.moe) {
        add_feed_forward(shape.layer, card, "moe_", card.moe->expert_ffn, card.moe->active);
        add_feed_forward(shape.layer, card, "", card.moe->shared_ffn, 1);
    } else {
        add_feed_forward(shape.layer, card, "", card.ffn, 1);
    }
    return shape;
}

std::vector<ModelShape> model_shapes() {
    std::vector<ModelShape> shapes;
    for (const cards::ModelPreset& preset : cards::model_presets()) shapes.push_back(shape_of(preset));
    return shapes;
}

ModelShape model_shape(std::string_view name) {
    std::string known;
    for (const cards::ModelPreset& preset : cards::model_presets()) {
        if (preset.name == name) return shape_of(preset);
        known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
    }
    throw UsageError(fmt::format("unknown preset '{}': the presets are {}", name, known));
}

}  // namespace paretoken::microbench
