#pragma once
// Finds the value that a prompt asks for, so that the simulated server can answer a question of recall
// correctly. It understands one kind of prompt only. The last text in double quotes is the name that is asked
// for. Its value is the first number that follows the first occurrence of the quoted name. This number must
// stand before the last occurrence. The functions are pure.
#include <string>
#include <string_view>

namespace paretoken::sim {

/// Returns "618034" for `The code of "amber-owl" is 618034. […] What is the code of "amber-owl"?`; empty if
/// the prompt asks no question of this kind.
std::string recalled_from(std::string_view prompt);

}  // namespace paretoken::sim
