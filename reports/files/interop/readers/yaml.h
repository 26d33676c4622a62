#pragma once
// Reads YAML as JSON. Programs that were built without libyaml read none.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace paretoken::reports {

/// The first document of a YAML text: mappings, sequences, and scalars as YAML's core schema reads them. Keys
/// are texts. Throws a UsageError that names `where` if the text is malformed, nests too deep or has aliases,
/// or if the program was built without libyaml.
nlohmann::json foreign_yaml(const std::string& text, const std::string& where);

}  // namespace paretoken::reports
