#pragma once
// Reaches a server, and asks for its list of models and for the path of its requests.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/probe/asker.h"
#include "loadgen/protocol/model_list.h"

namespace paretoken::loadgen {

/// The answer to the question for the models, and the path that was asked.
struct ModelsAnswer {
    std::string path;
    http::Fetched fetched = {};

    std::string what() const { return "GET " + path; }
    std::vector<protocol::ListedModel> list() const;
};

inline constexpr std::string_view kModels = "/models";  ///< path of the models at a base without a version

/// Returns whether the paths of requests may be those at a base without a version.
bool may_lack_version(const EndpointOptions& options);

/// Finds the first address that accepts a connection. Returns its answer to the question for the models. A
/// list that breaks off or does not come is not needed if a model was given.
ModelsAnswer first_contact(const EndpointOptions& options, http::Address& chosen);

/// Returns the listed model that requests will name; nothing if a model was given that is not listed.
std::optional<protocol::ListedModel> model_for(const Asker& asker, const ModelsAnswer& models);

/// Returns whether requests have another path than with a version: that one is unknown to the server, and
/// the one at its base is known. The requests are empty, so that the server computes nothing.
bool lacks_version(Asker& asker);

}  // namespace paretoken::loadgen
