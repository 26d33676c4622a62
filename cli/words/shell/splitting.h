#pragma once
// Splits a text into the commands that a shell would run, and these into words. Nothing is replaced or run.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cli {

using Words = std::vector<std::string>;

/// How a command follows the one before it.
enum class Follows : std::uint8_t {
    always,
    if_it_succeeds,  ///< A && B
    if_it_fails,     ///< A || B
};

/// A command, and which of its words are in double quotes. A computation, "((n = 2 * m))", is one word.
struct Command {
    Words words = {};
    std::vector<bool> is_quoted = {};
    Follows follows = Follows::always;
};

struct Split {
    std::vector<Command> commands = {};
    std::string_view open_quote = {};  ///< the text from a quotation mark that is not closed
};
Split split(std::string_view text);

/// Returns whether a name of a variable may begin with a character, or have it.
bool is_letter(char c);
bool is_of_name(char c);

/// Returns whether a word may stand before the program of a command: "do", "if", "!".
bool stands_before_program(std::string_view word);

/// Returns the place behind the brace or parenthesis that closes the one at `open`.
std::size_t end_of(std::string_view text, std::size_t open);

}  // namespace paretoken::cli
