#pragma once
// Finds the value that a prompt asks for, so that the simulated server can answer a question of recall
// correctly. It understands one kind of prompt only: the last text in double quotes is the name asked for,
// and the first number after the first occurrence of the quoted name, and before the last one, is its value.
// Pure.
#include <string>
#include <string_view>

namespace paretoken::sim {

/// Returns "618034" for `The code of "amber-owl" is 618034. […] What is the code of "amber-owl"?`; empty if
/// the prompt asks no question of this kind.
std::string recalled_from(std::string_view prompt);

}  // namespace paretoken::sim
