#pragma once
// Puts the commands of a script's functions in the places of their calls.
#include <vector>

#include "cli/words/shell/splitting.h"

namespace paretoken::cli {

/// Returns the commands of a script with those of each function where it is called, with the call's arguments
/// in place of "$1" and "$@". A function that is not called, or that reads its options one by one in a loop,
/// stays as it is. Also rewrites "let n=2*m" and "((n = 2 * m))" as n=$((2*m)).
std::vector<Command> with_expanded_calls(std::vector<Command> commands);

}  // namespace paretoken::cli
