#pragma once
// Finds errors that the parser of command lines would explain badly or accept: words that name no command or
// option (the message suggests the nearest name), and options with an empty value.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace paretoken::cli {

/// Throws UsageError if the first word that is no option is not a command, if an option of the command stands
/// where a value is expected, if sim:PROFILE stands where --profile is expected, or naming all words that
/// look like options that the command does not have. Words after "--" are not checked.
void refuse_unknown_words(const CLI::App& app, const std::vector<std::string>& arguments);

/// Makes the parser refuse an empty value (of an unset shell variable) of any option of any command.
void refuse_empty_values(CLI::App& app);

/// Makes an option that takes one value and is given several times take the last.
void let_the_last_value_win(CLI::App& app);

}  // namespace paretoken::cli
