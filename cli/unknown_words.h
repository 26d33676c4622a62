#pragma once
// Finds errors of a command line before any option is read: words that name no command or option, with the
// name that was probably meant, and options without a value.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace paretoken::cli {

/// Throws UsageError at the first word of `arguments` (without the program's name) that is no command, or
/// looks like an option that its command does not have. The parser itself would take the value behind an
/// unknown option for the URL, and complain about that.
void refuse_unknown_words(const CLI::App& app, const std::vector<std::string>& arguments);

/// Makes the parser refuse an empty value of any option of any command. An unset shell variable leaves an
/// empty value; the user never means it.
void refuse_empty_values(CLI::App& app);

}  // namespace paretoken::cli
