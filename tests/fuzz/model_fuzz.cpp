// Model cards from a config.json: the sizes of a card are possible, and the values computed from them are
// finite numbers.
#include "cards/model.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {

void fuzz(Input input) {
    cards::ModelCardOptions options;
    const std::uint8_t form = input.byte();
    if ((form & 1) != 0) options.weight_dtype = "int4";
    if ((form & 2) != 0) options.kv_dtype = "fp8";
    cards::ModelCard card;
    if (refuses([&] { card = cards::model_card_of_config(input.rest(), "config.json", options); })) return;
    require(card.layers > 0 && card.hidden > 0, "a model has layers and a width");
    require(card.resident_weight_bytes > 0 && card.parameters > 0, "a model has weights");
    require(card.dense_streamed_bytes <= card.resident_weight_bytes, "no more is streamed than there is");
    require(card.active_parameters <= card.parameters, "no more works on a token than there is");
    if (card.moe) require(card.moe->active <= card.moe->experts, "no more experts work than there are");
    for (const double tokens : {1.0, 64.0}) {
        const double bytes = cards::streamed_weight_bytes(card, tokens);
        require(std::isfinite(bytes) && bytes >= 0, "the bytes of a step are a number");
        require(bytes <= 1.001 * static_cast<double>(card.resident_weight_bytes),
                "a step reads each weight once");
    }
    require(std::isfinite(cards::kv_bytes_per_token(card)) && cards::kv_bytes_per_token(card) >= 0,
            "the bytes of a token's keys and values are a number");
    require(cards::kv_bytes_per_sequence(card, 1000) <= 1001 * cards::kv_bytes_per_token(card),
            "windows make a sequence smaller, not larger");
}

}  // namespace paretoken::fuzz
