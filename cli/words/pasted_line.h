#pragma once
// Splits a pasted command line into words, as a shell does, but expands and refuses nothing: examples in
// documents have places to fill in ("<your data path>").
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cli {

/// The words of each command of a line, in order. Commands are separated by ;, |, & and ends of lines. A
/// comment, a redirection and a backslash at the end of a line are left out.
std::vector<std::vector<std::string>> commands_in(std::string_view line);

}  // namespace paretoken::cli
