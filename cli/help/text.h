#pragma once
// The help of commands as text, as manual pages and as completions for shells; all are made from the options
// that the commands register. The functions are pure, but terminal_width() asks the terminal.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace paretoken::cli {

/// What the short help of a command shows: five examples with a comment each, and its most used options.
struct HelpPage {
    std::string_view command;  ///< "run"; "" for the program itself
    /// Pairs of lines: a comment, and a command line.
    std::span<const std::string_view> examples;
    /// The names of the options, in this order. Empty: the command has few options, and all are shown.
    std::span<const std::string_view> most_used;
};
std::span<const HelpPage> help_pages();

/// Returns the help of a command, broken to `width` columns. `path` is "paretoken run". The short help of a
/// command that has a page with most used options shows these; otherwise, or with `all`, every option.
std::string help_text(const CLI::App& command, const std::string& path, bool all, std::size_t width);

/// Returns the examples, the options and commands, and the topics that have each of `words`, or, if there are
/// none, words that begin with them; empty if there are none either.
std::string mentions_of(const CLI::App& app, const std::vector<std::string>& words, std::size_t width);

/// Returns the manual page of a command in the language of man(7): "paretoken-run.1".
std::string manual_page(const CLI::App& command, const std::string& path);

/// Returns the completions for bash, zsh or fish. Throws UsageError for another shell.
std::string completion_script(const CLI::App& app, std::string_view shell);

/// Returns the columns of the terminal on standard output, from 60 to 120; 80 if there is none.
std::size_t terminal_width();

}  // namespace paretoken::cli
