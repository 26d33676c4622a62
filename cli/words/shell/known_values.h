#pragma once
// Replaces the variables of a script by the values that the script itself gives them.
#include <vector>

#include "cli/words/shell/splitting.h"

namespace paretoken::cli {

/// Returns the words of commands with the values of variables that are known where each command stands.
/// Commands that only add to an earlier one, COMMAND+="…", are left out.
std::vector<Words> with_known_values(const std::vector<Command>& written);

}  // namespace paretoken::cli
