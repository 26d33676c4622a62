#pragma once
// Finds the value that a prompt asks for, as a question of recall: the first number behind the first
// occurrence of the prompt's last text in double quotes, before its last occurrence.
#include <string>
#include <string_view>

namespace paretoken::sim {

/// Returns "618034" for `The code of "amber-owl" is 618034. […] What is the code of "amber-owl"?`; empty if
/// the prompt asks no question of this kind.
std::string recalled_from(std::string_view prompt);

}  // namespace paretoken::sim
