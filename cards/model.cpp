#include "cards/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cards/card_file.h"
#include "cards/gguf.h"
#include "cards/json_value.h"
#include "core/error.h"
#include "core/formats.h"
#include "core/text/content_hash.h"
#include "core/text/letter_case.h"

namespace paretoken::cards {

double distinct_experts(double experts, double active, double tokens) {
    if (experts <= 0) return 0;
    return experts * (1 - std::pow(1 - active / experts, tokens));
}

double overlapped_seconds(double a, double b, double exponent) {
    const double longer = std::max(a, b);
    if (!(longer > 0)) return 0;
    return longer *
           std::pow(1 + std::pow(std::min(a, b) / longer, exponent), 1 / exponent);  // never overflows
}

double streamed_weight_bytes(const ModelCard& card, double tokens) {
    double bytes = static_cast<double>(card.dense_streamed_bytes);
    if (card.moe) {
        const double drawn = distinct_experts(static_cast<double>(card.moe->experts),
                                              static_cast<double>(card.moe->active), tokens);
        bytes += static_cast<double>(card.moe->layers) * drawn * static_cast<double>(card.moe->expert_bytes);
    }
    return bytes;
}

std::uint64_t attention_parameters(const ModelCard& card) {
    if (card.mla) {
        const LatentAttention& mla = *card.mla;
        const std::uint64_t queries =
            mla.q_rank > 0 ? card.hidden * mla.q_rank + mla.q_rank * card.query_heads * mla.qk_head_dim
                           : card.hidden * card.query_heads * mla.qk_head_dim;
        const std::uint64_t keys_and_values =
            card.hidden * (mla.kv_rank + mla.rope_dim) +
            mla.kv_rank * card.query_heads * (mla.qk_head_dim - mla.rope_dim + mla.v_head_dim);
        return queries + keys_and_values + card.query_heads * mla.v_head_dim * card.hidden;
    }
    return card.hidden * card.head_dim * (2 * card.query_heads + 2 * card.kv_heads);
}

double kv_bytes_per_token(const ModelCard& card) {
    return static_cast<double>(card.kv_values_per_token + card.windowed_kv_values_per_token) *
           bytes_per_value(number_format(card.kv_dtype));
}

double kv_bytes_per_sequence(const ModelCard& card, double context) {
    const double windowed =
        card.sliding_window ? std::min(context, static_cast<double>(*card.sliding_window)) : context;
    return (static_cast<double>(card.kv_values_per_token) * context +
            static_cast<double>(card.windowed_kv_values_per_token) * windowed) *
           bytes_per_value(number_format(card.kv_dtype));
}

namespace {

/// The repository that the source of a shipped card names: "… of huggingface.co/Qwen/Qwen3-8B".
std::string repository_in(std::string_view card) {
    constexpr std::string_view kHost = "huggingface.co/";
    const std::size_t at = card.find(kHost);
    if (at == std::string_view::npos) return {};
    card.remove_prefix(at + kHost.size());
    const std::string_view name = card.substr(0, card.find_first_of("\", ;)"));
    return std::ranges::count(name, '/') == 1 ? std::string(name) : std::string();
}

/// The text of the shipped card with this name or alias, in any case of letters.
std::optional<std::string_view> shipped_model(std::string_view name) {
    const std::string wanted = lower_case(name);
    if (const auto text = shipped_card("models", wanted)) return text;
    for (const std::string& card : shipped_cards("models")) {
        const std::string_view text = shipped_card("models", card).value();
        const JsonValue value = parse_json_value(text, card);
        const auto aliases = JsonCursor(value, card).find("aliases");
        if (!aliases) continue;
        for (const JsonCursor& alias : aliases->elements())
            if (lower_case(alias.string()) == wanted) return text;
    }
    return {};
}

ModelCard shipped_model_card(std::string_view text, const std::string& name,
                             const ModelCardOptions& options) {
    ModelCard card = model_card_of_config(text, name, options);
    card.source = "shipped card";
    card.repository = repository_in(text);
    return card;
}

/// The shipped card for OWNER/NAME, a repository of Hugging Face, by NAME. A note tells if the card describes
/// another repository.
std::optional<ModelCard> card_of_repository(const std::string& repository, const ModelCardOptions& options) {
    const std::size_t slash = repository.find('/');
    if (slash == 0 || slash == std::string::npos || slash != repository.rfind('/')) return {};
    const auto text = shipped_model(std::string_view(repository).substr(slash + 1));
    if (!text) return {};
    ModelCard card = shipped_model_card(*text, repository, options);
    if (lower_case(card.repository) == lower_case(repository)) return card;
    card.notes.push_back(
        fmt::format("{} was taken for the shipped card {} because of its name", repository, card.name));
    card.repository = repository;
    return card;
}

}  // namespace

std::string content_hash_of(const ModelCard& card) {
    std::string text =
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", card.weight_dtype, card.kv_dtype,
                    card.layers, card.hidden, card.query_heads, card.kv_heads, card.head_dim, card.vocab,
                    card.sliding_window.value_or(0), card.resident_weight_bytes, card.dense_streamed_bytes,
                    card.active_parameters, card.kv_values_per_token, card.windowed_kv_values_per_token,
                    card.attention_flops_per_pair, card.windowed_attention_flops_per_pair);
    if (card.moe)
        text += fmt::format(" {} {} {} {}", card.moe->layers, card.moe->experts, card.moe->active,
                            card.moe->expert_bytes);
    if (card.mla)
        text += fmt::format(" {} {} {} {} {}", card.mla->kv_rank, card.mla->rope_dim, card.mla->q_rank,
                            card.mla->qk_head_dim, card.mla->v_head_dim);
    return content_hash(text);
}

std::vector<std::string> known_models() {
    return shipped_cards("models");
}

namespace {

/// A spec such as "NAME:kv=fp8,weights=int4" without its types. The types are put into those options that are
/// not given.
std::string without_types(const std::string& spec, ModelCardOptions& options) {
    const auto colon = spec.find_last_of(':');
    if (colon == std::string::npos || spec.find('=', colon) == std::string::npos ||
        spec.find('/', colon) != std::string::npos)
        return spec;
    std::string_view rest = std::string_view(spec).substr(colon + 1);
    while (true) {
        const std::string_view field = rest.substr(0, rest.find(','));
        const auto equals = field.find('=');
        const std::string_view key = field.substr(0, equals);
        const bool has_value = equals != std::string_view::npos && equals + 1 < field.size();
        if (!has_value || (key != "kv" && key != "weights"))
            throw UsageError(
                fmt::format("{}: \"{}\" is not a type; write CARD:kv=TYPE, CARD:weights=TYPE or "
                            "both with a comma between them",
                            spec, field));
        auto& option = key == "kv" ? options.kv_dtype : options.weight_dtype;
        if (!option) option = std::string(field.substr(equals + 1));
        if (field.size() == rest.size()) return spec.substr(0, colon);
        rest.remove_prefix(field.size() + 1);
    }
}

/// The quantisation file that checkpoints of ModelOpt have beside their config.json; nothing if there is
/// none.
std::optional<QuantizationFile> quantization_beside(const std::filesystem::path& config) {
    const auto path = config.parent_path() / "hf_quant_config.json";
    std::error_code error;
    if (config.filename() != "config.json" || !std::filesystem::exists(path, error)) return {};
    return QuantizationFile{read_card_file(path), path.string()};
}

}  // namespace

ModelCard model_card(const std::string& name_or_path, const ModelCardOptions& given) {
    ModelCardOptions options = given;
    const std::string name = without_types(name_or_path, options);
    if (const auto text = shipped_model(name)) return shipped_model_card(*text, name, options);
    std::filesystem::path path(name);
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) path /= "config.json";
    if (!std::filesystem::exists(path, error)) {
        if (auto card = card_of_repository(name, options)) return *std::move(card);
        throw UsageError(
            fmt::format("{}: no such model card or file; give a config.json, a GGUF file or one of {}",
                        path.string(), fmt::join(known_models(), ", ")));
    }
    if (is_gguf(path)) return model_card_of_gguf(path, options);
    return model_card_of_config(read_card_file(path), path.string(), options, quantization_beside(path));
}

}  // namespace paretoken::cards
