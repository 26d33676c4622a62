#pragma once
// Reads YAML as JSON. Programs that were built without libyaml read none.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace paretoken::reports {

/// The first document of a YAML text by the core schema. Throws a UsageError that names `where` if it is
/// malformed, nests too deep or has aliases, or without libyaml.
nlohmann::json foreign_yaml(const std::string& text, const std::string& where);

}  // namespace paretoken::reports
