#pragma once
// Reads the list of models of a server: {"data": [{"id": …}]}, or one of the other forms that servers use.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::protocol {

struct ListedModel {
    std::string name;
    std::string owner;                    ///< "owned_by", which tells the kind of some servers
    std::optional<std::int64_t> context;  ///< "max_model_len", if it is a possible number of tokens
    std::string root = {};                ///< "root": the folder or repository that vLLM loaded; may be empty

    bool operator==(const ListedModel&) const = default;
};

/// Returns the models of a list under "data" or "models", or of a list by itself (Together). A model is an
/// object with an id or a name, or its name; any other element is left out.
std::vector<ListedModel> listed_models(std::string_view body);

/// Returns whether the text is a list of models in one of these forms. It may have no model.
bool is_model_list(std::string_view body);

/// Returns the listed model that requests will name: the one that was asked for, or the first whose name is
/// not that of a model which writes no text, such as an embedding model. Nothing if there is none.
std::optional<ListedModel> chosen_model(const std::vector<ListedModel>& models, std::string_view asked);

/// Returns the kind of a server ("vllm", "llama.cpp", …) by the owner of its models; empty if it is unknown.
std::string kind_by_owner(std::string_view owner);

}  // namespace paretoken::protocol
