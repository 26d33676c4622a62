#pragma once
// Reads the command lines in manifests: containers of Kubernetes and Docker Compose, and steps of workflows.
#include <string>
#include <string_view>

namespace paretoken::cli {

/// Returns whether a text is YAML with the commands of containers or of steps, and no command line.
bool is_manifest(std::string_view text);

/// Returns the commands of a manifest, as JSON, as lines of a shell, with the variables of each before it.
std::string script_of_manifest(std::string_view json);

}  // namespace paretoken::cli
