#pragma once
// Splits a pasted command line into words, as a shell does, but runs and refuses nothing: examples in
// documents have places to fill in ("<your data path>") and variables that only the reader's shell knows.
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cli {

/// The words of each command of a text, in order. Commands are separated by ;, |, & and ends of lines; a line
/// that begins with an option continues the one before it. Comments, redirections and backslashes at ends of
/// lines are left out, and variables that the text itself sets ("PORT=9000") are replaced by their values.
/// Throws UsageError if a quotation mark is not closed.
std::vector<std::vector<std::string>> commands_in(std::string_view text);

/// Returns whether a shell would replace something in this text: "$NAME", "${NAME}" or "$(command)".
bool has_shell_variable(std::string_view text);

}  // namespace paretoken::cli
