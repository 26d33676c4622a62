#include "cli/words/shell/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/words/shell/arithmetic.h"

namespace paretoken::cli {
namespace {

using Commands = std::vector<Command>;

/// The number of words that may stand before a program: "do", "if", "!".
std::size_t words_before_program(const Words& words) {
    const auto first = std::ranges::find_if_not(words, stands_before_program);
    return static_cast<std::size_t>(first - words.begin());
}

/// Whether a word gives a variable its value for the program behind it: "C=8".
bool is_assignment(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == word.npos || !is_letter(word.front())) return false;
    return std::ranges::all_of(word.substr(0, equals), is_of_name);
}

/// Rewrites "let n=2*m" and "((n = 2 * m))" as n=$((2*m)).
void rewrite_computation(Command& command) {
    const std::size_t at = words_before_program(command.words);
    if (at >= command.words.size() || command.words.front() == "if" || command.words.front() == "while")
        return;
    Words assignments(command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(at));
    if (command.words[at] == "let")
        for (std::size_t i = at + 1; i < command.words.size(); ++i)
            std::ranges::move(assignments_in_computation(command.words[i]), std::back_inserter(assignments));
    else if (const auto computation = computation_in(command.words[at]))
        std::ranges::move(assignments_in_computation(*computation), std::back_inserter(assignments));
    if (assignments.size() == at) return;
    command.words = std::move(assignments);
    command.is_quoted.assign(command.words.size(), true);
}

struct Function {
    Commands body = {};
    bool is_called = false;
    /// Whether "$1" and "$@" say all that the function reads of its arguments.
    bool may_be_expanded() const {
        bool shifts = false;
        bool loops = false;
        for (const Command& command : body) {
            const std::string& first = command.words.front();
            shifts = shifts || first == "shift" || command.words.back() == "shift";
            loops = loops || first == "while" || first == "until";
            if (std::ranges::find(command.words, "$#") != command.words.end()) return false;
        }
        return !(shifts && loops);
    }
};

/// The arguments of a call, as words and whether they are in quotes.
struct Arguments {
    Words words = {};
    std::vector<bool> is_quoted = {};

    /// Whether an argument stands for any number of arguments.
    bool is_unknown() const {
        return std::ranges::any_of(words, [](const std::string& word) {
            return word == "$@" || word == "$*" || word.find("[@]") != word.npos ||
                   word.find("[*]") != word.npos;
        });
    }
    void shift(std::size_t count) {
        count = std::min(count, words.size());
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
        is_quoted.erase(is_quoted.begin(), is_quoted.begin() + static_cast<std::ptrdiff_t>(count));
    }
};

/// "${2:-8}" or "$2" at a place of a text, with the argument that it stands for.
struct Positional {
    std::size_t length = 0;
    std::string value = {};
};

std::optional<Positional> positional_at(std::string_view text, const Words& arguments) {
    const auto argument = [&](std::size_t number) {
        return number >= 1 && number <= arguments.size() ? arguments[number - 1] : std::string();
    };
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    if (text.size() < 2) return std::nullopt;
    if (is_digit(text[1]) && text[1] != '0')
        return Positional{2, argument(static_cast<std::size_t>(text[1] - '0'))};
    if (text[1] == '#') return Positional{2, std::to_string(arguments.size())};
    if (text[1] == '@' || text[1] == '*') {
        std::string all;
        for (const std::string& word : arguments) all += (all.empty() ? "" : " ") + word;
        return Positional{2, std::move(all)};
    }
    if (text[1] != '{' || text.size() < 4 || !is_digit(text[2]) || text[2] == '0') return std::nullopt;
    const std::size_t end = end_of(text, 1);
    const std::string inner(text.substr(2, end - 3));  // "2:-8"
    char* rest = nullptr;
    std::string value = argument(std::strtoul(inner.c_str(), &rest, 10));
    const std::string_view operation(rest);
    if (operation.empty()) return Positional{end, std::move(value)};
    const std::size_t colon = operation.starts_with(':') ? 1 : 0;
    const bool has_default = operation.size() > colon &&
                             (operation[colon] == '-' || operation[colon] == '?' || operation[colon] == '=');
    if (!has_default) return std::nullopt;
    if (value.empty() && operation[colon] == '-') value = operation.substr(colon + 1);
    return Positional{end, std::move(value)};
}

/// Returns a command of a function with the arguments of a call.
Command with_arguments(const Command& command, const Arguments& arguments) {
    Command out{.follows = command.follows};
    const bool is_unknown = arguments.is_unknown();
    for (std::size_t i = 0; i < command.words.size(); ++i) {
        const std::string& word = command.words[i];
        if (word == "$@" || word == "$*" || word == "${@}" || word == "${*}") {
            out.words.insert(out.words.end(), arguments.words.begin(), arguments.words.end());
            out.is_quoted.insert(out.is_quoted.end(), arguments.is_quoted.begin(), arguments.is_quoted.end());
            continue;
        }
        std::string text;
        for (std::size_t at = 0; at < word.size();) {
            const auto found = word[at] == '$' && !is_unknown
                                   ? positional_at(std::string_view(word).substr(at), arguments.words)
                                   : std::nullopt;
            text += found ? found->value : word.substr(at, 1);
            at += found ? found->length : 1;
        }
        if (text.empty() && !command.is_quoted[i] && !word.empty()) continue;
        out.words.push_back(std::move(text));
        out.is_quoted.push_back(command.is_quoted[i]);
    }
    return out;
}

/// The functions of a script, and what remains of it without them.
class Script {
  public:
    explicit Script(const Commands& commands) {
        for (std::size_t at = 0; at < commands.size();) {
            const std::size_t end = read_function(commands, at);
            if (end == at) main_.push_back(commands[at]);
            at = std::max(at + 1, end);
        }
    }

    Commands expanded() {
        Commands out;
        for (const Command& command : main_) add(command, 0, out);
        Commands whole;
        for (Command& command : out) {
            const auto function = functions_.find(command.words.front());
            const bool is_header =
                command.words.size() == 2 && command.words.back() == "{" && function != functions_.end();
            if (!is_header) {
                whole.push_back(std::move(command));
            } else if (!function->second.is_called) {
                whole.push_back(std::move(command));
                whole.insert(whole.end(), function->second.body.begin(), function->second.body.end());
                whole.push_back({.words = {"}"}, .is_quoted = {false}});
            }
        }
        return whole;
    }
    bool is_too_long() const { return count_ > kMost; }

  private:
    static constexpr std::size_t kMost = 20000;

    /// Reads the function that begins at a command. Returns the place behind it; `at` if none begins there.
    std::size_t read_function(const Commands& commands, std::size_t at) {
        Words header = commands[at].words;
        const bool has_word = header.front() == "function" && header.size() > 1;
        if (has_word) header.erase(header.begin());
        if (!has_word && !header.front().ends_with("()")) return at;
        std::string name = header.front().substr(0, header.front().find('('));
        Function function;
        std::size_t next = at + 1;
        if (header.size() == 1 && next < commands.size() && commands[next].words.front() == "{")
            header.insert(header.end(), commands[next].words.begin(), commands[next].words.end()), ++next;
        if (header.size() < 2 || header[1] != "{") return at;
        if (header.size() > 2)
            function.body.push_back({.words = {header.begin() + 2, header.end()},
                                     .is_quoted = std::vector<bool>(header.size() - 2, true)});
        for (int depth = 1; next < commands.size(); ++next) {
            const std::string& first = commands[next].words.front();
            const bool opens = first == "{" || commands[next].words.back() == "{";
            depth += static_cast<int>(opens) - static_cast<int>(first == "}");
            if (depth > 0) {
                function.body.push_back(commands[next]);
                continue;
            }
            main_.push_back({.words = {name + "()", "{"}, .is_quoted = {false, false}});
            functions_.insert_or_assign(name + "()", std::move(function));
            return next + 1;
        }
        return at;
    }

    void add(const Command& command, int depth, Commands& out) {
        constexpr int kDeepest = 5;
        std::size_t program = words_before_program(command.words);
        while (program < command.words.size() && is_assignment(command.words[program])) ++program;
        const auto function = program < command.words.size() ? functions_.find(command.words[program] + "()")
                                                             : functions_.end();
        if (++count_ > kMost || depth > kDeepest || function == functions_.end() ||
            !function->second.may_be_expanded())
            return out.push_back(command);
        function->second.is_called = true;
        const auto from = static_cast<std::ptrdiff_t>(program);
        Command before{.words = {command.words.begin(), command.words.begin() + from},
                       .is_quoted = std::vector<bool>(program, false),
                       .follows = command.follows};
        const bool is_condition =
            !before.words.empty() && (before.words[0] == "if" || before.words[0] == "elif");
        if (!before.words.empty() && !is_condition) out.push_back(before);
        const bool is_conditional = command.follows != Follows::always;
        if (is_conditional) out.push_back({.words = {"{"}, .is_quoted = {false}, .follows = command.follows});
        Arguments arguments{.words = {command.words.begin() + from + 1, command.words.end()},
                            .is_quoted = {command.is_quoted.begin() + from + 1, command.is_quoted.end()}};
        for (const Command& inner : function->second.body) {
            if (inner.words.front() == "shift") {
                arguments.shift(inner.words.size() > 1 ? std::strtoul(inner.words[1].c_str(), nullptr, 10)
                                                       : 1);
                continue;
            }
            const Command given = with_arguments(inner, arguments);
            if (!given.words.empty()) add(given, depth + 1, out);
        }
        if (is_conditional) out.push_back({.words = {"}"}, .is_quoted = {false}});
        if (is_condition) out.push_back(before);
    }

    Commands main_;
    std::map<std::string, Function> functions_;  ///< by their names with "()"
    std::size_t count_ = 0;
};

}  // namespace

std::vector<Command> with_expanded_calls(std::vector<Command> commands) {
    for (Command& command : commands) rewrite_computation(command);
    Script script(commands);
    Commands expanded = script.expanded();
    return script.is_too_long() ? std::move(commands) : std::move(expanded);
}

}  // namespace paretoken::cli
