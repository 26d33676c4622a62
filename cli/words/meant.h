#pragma once
// Finds the option that was probably meant by an unknown one.
#include <string>
#include <vector>

namespace paretoken::cli {

/// Returns the option that was probably meant by an unknown one: one that people call so, or else one with
/// nearly this name. Empty if there is none among `options`.
std::string meant_by(const std::string& name, const std::vector<std::string>& options);

}  // namespace paretoken::cli
