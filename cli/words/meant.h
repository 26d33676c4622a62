#pragma once
// Finds the option that was probably meant by an unknown one.
#include <string>
#include <vector>

namespace paretoken::cli {

/// Returns the option that was probably meant by an unknown one: one that people call so, which may have a
/// value or be a whole command, or else one of `options` with nearly this name. Empty if there is none.
std::string meant_by(const std::string& name, const std::vector<std::string>& options);

}  // namespace paretoken::cli
