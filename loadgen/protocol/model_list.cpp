#include "loadgen/protocol/model_list.h"

#include <algorithm>
#include <array>
#include <utility>

#include "loadgen/protocol/event_reader.h"

namespace paretoken::protocol {
namespace {

/// Returns a count of tokens; nothing if it is missing, below 1, or larger than any real server's.
std::optional<std::int64_t> tokens_at(dom::element object, std::string_view key) {
    double count = 0;
    if (object[key].get(count) || !(count >= 1 && count <= static_cast<double>(kMostTokens)))
        return std::nullopt;
    return static_cast<std::int64_t>(count);
}

ListedModel model_of(dom::element element) {
    std::string_view name;
    if (!element.get(name)) return {.name = std::string(name), .owner = {}, .context = {}};
    ListedModel model{.name = {},
                      .owner = std::string(text_in(element, "owned_by")),
                      .context = tokens_at(element, "max_model_len"),
                      .root = std::string(text_in(element, "root"))};
    for (const auto key : {"id", "model", "name"})
        if (model.name.empty()) model.name = text_in(element, key);
    return model;
}

/// Returns whether a name is one of a model of another kind, or stands for several ("openai/*" of LiteLLM).
bool writes_no_text(std::string_view name) {
    constexpr std::array<std::string_view, 10> kKinds = {
        "embed",      "rerank",    "whisper",          "tts-", "dall-e", "bge-",
        "moderation", "gpt-image", "stable-diffusion", "*"};
    return std::any_of(kKinds.begin(), kKinds.end(),
                       [&](std::string_view kind) { return name.find(kind) != std::string_view::npos; });
}

}  // namespace

std::vector<ListedModel> listed_models(std::string_view body) {
    dom::parser parser;
    dom::element whole;
    dom::array list;
    std::vector<ListedModel> models;
    if (parser.parse(body.data(), body.size()).get(whole)) return models;
    if (whole["data"].get(list) && whole["models"].get(list) && whole.get(list)) return models;
    for (const dom::element element : list)
        if (ListedModel model = model_of(element); !model.name.empty()) models.push_back(std::move(model));
    return models;
}

bool is_model_list(std::string_view body) {
    dom::parser parser;
    dom::element whole, list;
    if (parser.parse(body.data(), body.size()).get(whole)) return false;
    if (whole["data"].get(list) && whole["models"].get(list)) list = whole;
    return list.is_array() || (list.is_null() && !whole.is_null());
}

std::optional<ListedModel> chosen_model(const std::vector<ListedModel>& models, std::string_view asked) {
    if (models.empty()) return std::nullopt;
    const auto found = std::find_if(models.begin(), models.end(), [&](const ListedModel& model) {
        return asked.empty() ? !writes_no_text(model.name) : model.name == asked;
    });
    if (found != models.end()) return *found;
    return asked.empty() ? std::optional(models.front()) : std::nullopt;
}

std::string kind_by_owner(std::string_view owner) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOwners{{
        {"vllm", "vllm"},
        {"llamacpp", "llama.cpp"},
        {"sglang", "sglang"},
        {"library", "ollama"},
        {"paretoken", "paretoken-sim"},
    }};
    for (const auto& [owned_by, kind] : kOwners) {
        if (owner == owned_by) return std::string(kind);
    }
    return {};
}

}  // namespace paretoken::protocol
