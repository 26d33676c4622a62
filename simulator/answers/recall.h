#pragma once
// Finds in a prompt the statement about the thing that it asks for, so that the simulated server can answer a
// question of recall correctly. It understands one kind of sentence and no other: the last word in double
// quotes is what is asked for, and the first number behind an earlier place of it is its value. Pure.
#include <string>
#include <string_view>

namespace paretoken::sim {

/// "618034" of `The code of "amber-owl" is 618034. […] What is the code of "amber-owl"?`; empty where the
/// prompt asks nothing of this kind.
std::string recalled_from(std::string_view prompt);

}  // namespace paretoken::sim
