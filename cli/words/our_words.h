#pragma once
// Replaces the words of other tools on a command line of ours by our words, and says what was replaced.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace paretoken::cli {

/// Returns the arguments (without the program's name) in our words, if they are those of a command that sends
/// a load, and prints notes on standard error about values that mean something else here. Throws UsageError
/// naming all options that are not known or have no counterpart, or the command that measures what was asked.
std::vector<std::string> our_words(CLI::App& app, const std::vector<std::string>& arguments);

/// Overwrites API keys in the memory that the system shows as this process's command line.
void hide_keys(int argc, char** argv);

}  // namespace paretoken::cli
