#pragma once
// Replaces the words of other tools on a command line of ours by our words, and says what was replaced.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace paretoken::cli {

/// Returns the arguments of a command that sends a load in our words, and prints notes about values that mean
/// something else here. Throws UsageError naming all options that are not known or have no counterpart.
std::vector<std::string> our_words(CLI::App& app, const std::vector<std::string>& arguments);

/// Overwrites API keys in the memory that the system shows as this process's command line.
void hide_keys(int argc, char** argv);

}  // namespace paretoken::cli
