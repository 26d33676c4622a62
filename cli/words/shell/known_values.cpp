#include "cli/words/shell/known_values.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/words/pasted_line.h"
#include "cli/words/shell/arithmetic.h"
#include "core/text/command_secrets.h"

namespace paretoken::cli {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

std::string with_values(std::string_view text, const Variables& variables);

/// Replaces the names in a computation of the shell, which has no "$" before them: $((10 * CONCURRENCY)).
std::string with_values_of_names(std::string_view text, const Variables& variables) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_of_name(text[end])) ++end;
        const auto known = variables.find(text.substr(at, end - at));
        if (end == at)
            out += text[at++];
        else
            out += known == variables.end() ? text.substr(at, end - at) : std::string_view(known->second);
        at = std::max(at, end);
    }
    return out;
}

/// Returns the value of the variable in "${NAME:-8}" or "${NAME}", or the default; else the text as it is.
std::string value_in_braces(std::string_view braces, const Variables& variables) {
    const std::string_view inner = braces.substr(2, braces.size() - 3);
    const std::size_t end =
        static_cast<std::size_t>(std::ranges::find_if_not(inner, is_of_name) - inner.begin());
    const std::string_view rest = inner.substr(end);  // ":-8000"
    const std::size_t operation = rest.starts_with(':') ? 1 : 0;
    const bool has_default = rest.size() > operation && (rest[operation] == '-' || rest[operation] == '=');
    const auto known = variables.find(inner.substr(0, end));
    if (known != variables.end() && (rest.empty() || has_default)) return known->second;
    if (!has_default) return std::string(braces);
    std::string_view value = rest.substr(operation + 1);
    const bool has_quotes =
        value.size() > 1 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'');
    if (has_quotes) value = value.substr(1, value.size() - 2);
    return with_values(value, variables);
}

/// Replaces variables whose values are known, and "${NAME:-8}" by 8 where none is.
std::string with_values(std::string_view text, const Variables& variables) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("$((")) {
            const std::size_t end = end_of(text, at + 1);
            const std::string inner =
                with_values_of_names(with_values(text.substr(at + 3, end - at - 3), variables), variables);
            const auto number = inner.ends_with("))")
                                    ? value_of_computation(inner.substr(0, inner.size() - 2),
                                                           [](const auto&) { return std::nullopt; })
                                    : std::nullopt;
            out += number ? std::to_string(*number) : "$((" + inner;
            at = end;
        } else if (rest.starts_with("${")) {
            const std::size_t end = end_of(text, at + 1);
            out += text[end - 1] == '}' ? value_in_braces(text.substr(at, end - at), variables)
                                        : std::string(text.substr(at, end - at));
            at = end;
        } else if (rest.size() > 1 && rest[0] == '$' && is_letter(rest[1])) {
            std::size_t end = at + 1;
            while (end < text.size() && is_of_name(text[end])) ++end;
            const auto known = variables.find(text.substr(at + 1, end - at - 1));
            out += known == variables.end() ? text.substr(at, end - at) : std::string_view(known->second);
            at = end;
        } else {
            out += text[at++];
        }
    }
    return out;
}

/// Whether a word is nothing but a variable whose value holds several words: options, or, where a shell would
/// divide it, any.
bool is_several_words(const std::string& word, const std::string& value, bool is_list) {
    const bool alone = word.starts_with('$') && word.find_first_of(" /:.,=", 1) == std::string::npos;
    return alone && value.find(' ') != std::string::npos && (is_list || value.starts_with('-'));
}

/// Returns the words NAME=VALUE of a command that does nothing else: "export MODEL=m PORT=${PORT:-9000}".
Words assignments_of(const Words& command) {
    constexpr std::array kWordsBefore = {"export", "local", "readonly", "declare", "typeset",
                                         "do",     "then",  "else",     "{"};
    bool is_declared = false;
    auto first = command.begin();
    for (; first != command.end(); ++first) {  // "declare -i N=5"
        const bool is_option = is_declared && first->starts_with('-');
        if (!is_option && std::ranges::find(kWordsBefore, *first) == kWordsBefore.end()) break;
        is_declared = true;
    }
    const bool sets =
        first != command.end() && std::all_of(first, command.end(), [](const std::string& word) {
            const std::size_t equals = word.find('=');
            return equals != std::string::npos && is_letter(word.front()) &&
                   std::ranges::all_of(word.substr(0, equals), is_of_name);
        });
    return sets ? Words(first, command.end()) : Words();
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

/// What `[ -n X ]`, `[[ ! -z X ]]`, `test -z X` or `((N > 2))` gives, as far as the values are known.
std::optional<bool> result_of_test(const Words& command, const Variables& variables) {
    auto word = command.begin() + static_cast<std::ptrdiff_t>(is_one_of(command.front(), {"if", "elif"}));
    if (word == command.end()) return std::nullopt;
    if (const auto computation = computation_in(*word)) {
        const auto number = value_of_computation(*computation, [&](const std::string& name) {
            const auto known = variables.find(name);
            return known == variables.end() ? std::nullopt : std::optional(known->second);
        });
        return number ? std::optional(*number != 0) : std::nullopt;
    }
    if (command.end() - word < 3 || !is_one_of(*word++, {"[", "[[", "test"})) return std::nullopt;
    const bool is_negated = *word == "!";
    word += static_cast<std::ptrdiff_t>(is_negated);
    const bool is_last = command.end() - word == 2 || (command.end() - word == 3 && word[2].starts_with(']'));
    // An empty variable outside quotes is no word.
    if (is_last && *word == "-z" && word[1].starts_with(']')) return !is_negated;
    if (!is_last || !is_one_of(*word, {"-n", "-z"}) || word[1].starts_with(']') ||
        has_shell_variable(word[1]))
        return std::nullopt;
    return (word[1].empty() == (*word == "-z")) != is_negated;
}

/// Returns the words of a command without those that may stand before it: "do", "then", "while", "IFS=".
std::span<const std::string> bare_words(const Words& command) {
    const auto first = std::ranges::find_if(command, [](const std::string& word) {
        return !stands_before_program(word) && word.find('=') == std::string::npos;
    });
    return {first, command.end()};
}

/// Returns the names of the variables that a command sets other than by NAME=VALUE: "read N", "printf -v N",
/// "for ((N = 1; …; N++))".
std::set<std::string> names_set_by(const Words& command) {
    std::set<std::string> names;
    const auto words = bare_words(command);
    if (words.empty()) return names;
    const std::string& program = words.front();
    const auto add_assignments = [&](const Words& assignments) {
        for (const std::string& word : assignments) names.insert(word.substr(0, word.find('=')));
    };
    if (const auto computation = computation_in(program))
        add_assignments(assignments_in_computation(*computation));
    if (program == "for" && words.size() > 1 && computation_in(words[1])) {
        std::string parts(*computation_in(words[1]));
        std::ranges::replace(parts, ';', ',');
        add_assignments(assignments_in_computation(parts));
    }
    if (program == "eval")
        for (const std::string& text : words.subspan(1))
            for (const Command& inner : split(text).commands) {
                add_assignments(assignments_of(inner.words));
                if (inner.words.front() != "eval") names.merge(names_set_by(inner.words));
            }
    const bool is_print = program == "printf" && words.size() > 2 && words[1] == "-v";
    if (!is_print && !is_one_of(program, {"read", "mapfile", "readarray", "unset", "getopts", "select"}))
        return names;
    for (std::size_t i = is_print ? 2 : 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        const std::string_view with_value = program == "read"                                ? "dinNptu"
                                            : program == "mapfile" || program == "readarray" ? "dnOsuCc"
                                                                                             : "";
        const bool takes_value =
            word.size() == 2 && word.front() == '-' && with_value.find(word[1]) != std::string_view::npos;
        if (takes_value) ++i;
        if (!word.empty() && is_letter(word.front()) && std::ranges::all_of(word, is_of_name))
            names.insert(word);
        if (is_print) break;
    }
    return names;
}

/// What the text says of its variables. What only a shell knows stays a variable: a value that a command
/// computes or reads, that depends on a condition, that changes inside a loop, or that a function sets whose
/// call is not in the text.
class KnownValues {
  public:
    explicit KnownValues(const std::vector<Command>& commands) {
        int loops = 0;
        int depth = 0;         // open braces
        std::string function;  // in which a command stands; empty: in none
        struct Set {
            std::string word, function;
        };
        std::map<std::string, Set> sets;    // what first sets each variable
        std::vector<std::string> in_loops;  // what is set there from other variables
        std::set<std::string> of_loops;     // the variables of "for"
        for (const auto& [command, is_quoted, follows] : commands) {
            const std::string& first = command.front();
            if (first.ends_with("()")) function = first;
            depth += change_of(command.back(), {"{"}, {}) - change_of(first, {"}"}, {});
            if (depth == 0) function.clear();
            loops += change_of(first, {"for", "while", "until"}, {"done"});
            if (first == "for" && command.size() > 1) of_loops.insert(command[1]);
            changing_.merge(names_set_by(command));
            for (const std::string& word : assignments_of(command)) {
                const std::string name = word.substr(0, word.find('='));
                const auto [other, is_new] = sets.try_emplace(name, Set{word, function});
                const bool is_again = !is_new && first != "local" && other->second.word != word;
                if ((loops > 0 && is_again) || (!is_new && other->second.function != function))
                    changing_.insert(name);
                if (loops > 0 && word.find('$') != std::string::npos) in_loops.push_back(word);
            }
        }
        const auto changes = [&](const std::string& word) {
            const std::size_t equals = word.find('=');
            const auto names = names_in(std::string_view(word).substr(equals));
            return std::ranges::any_of(names, [&](const std::string& name) {
                return changing_.contains(name) || of_loops.contains(name) || name == word.substr(0, equals);
            });
        };
        constexpr int kDeepest = 64;
        auto before = static_cast<std::size_t>(-1);
        for (int round = 0; round < kDeepest && before != changing_.size(); ++round) {
            before = changing_.size();
            for (const std::string& word : in_loops)
                if (changes(word)) changing_.insert(word.substr(0, word.find('=')));
        }
    }

    /// Returns a command with the values that are known where it stands.
    Words known(const Command& asked) const {
        Words words;
        const Words& command = asked.words;
        const std::size_t program = is_one_of(command.front(), {"eval", "exec"}) ? 1 : 0;
        for (std::size_t i = 0; i < command.size(); ++i) {
            const std::string& word = command[i];
            std::string value = with_values(word, variables_);
            const bool is_list = i == program || command.front() == "for";
            if (const auto array = arrays_.find(word); array != arrays_.end())
                words.insert(words.end(), array->second.begin(), array->second.end());
            else if (is_several_words(word, value, is_list || !asked.is_quoted[i]))
                for (const Command& part : split(value).commands)
                    words.insert(words.end(), part.words.begin(), part.words.end());
            else if (!value.empty() || word.empty() || asked.is_quoted[i])
                words.push_back(std::move(value));
        }
        return words;
    }

    /// Learns what a command sets. `commands` are the earlier ones, to which COMMAND+="…" may add. Returns
    /// whether it only adds.
    bool learn(const Command& asked, std::vector<Words>& commands) {
        const Words& command = asked.words;
        const std::optional<bool> runs = runs_after_condition(asked);
        const bool is_left_out = runs == false || is_any_branch(false);
        const bool is_conditional = !runs || is_any_branch(std::nullopt);
        if (command.front() == "for" && command.size() > 1) variables_.erase(command[1]);
        const Words assignments = assignments_of(command);
        if (is_left_out) return !assignments.empty();
        for (const std::string& word : assignments) {
            const std::string name = word.substr(0, word.find('='));
            const bool is_unsure = is_conditional || changing_.contains(name);
            if (const auto more = added_by(word, name); more && assignments.size() == 1)
                return extend_assignment(name + "+=" + *more, is_unsure, commands);
            std::string value = with_values(word.substr(name.size() + 1), variables_);
            const bool is_computed = value.find("$(") != std::string::npos &&
                                     !(value.starts_with("$((") && std::ranges::none_of(value, is_letter));
            const bool is_argument = value.size() == 2 && value.front() == '$';  // "$1"
            variables_.erase(name);
            if (!is_computed && !is_argument && !is_unsure && !is_secret_option(name))
                variables_[name] = std::move(value);
        }
        if (!assignments.empty()) return false;
        const Words words = known(asked);
        take_array(words, is_conditional);
        return words.size() == 1 && extend_assignment(words.front(), is_conditional, commands);
    }

  private:
    static int change_of(std::string_view word, std::initializer_list<std::string_view> opening,
                         std::initializer_list<std::string_view> closing) {
        return static_cast<int>(is_one_of(word, opening)) - static_cast<int>(is_one_of(word, closing));
    }

    /// Returns whether a command runs, as far as "if", "A && B" and "A || B" before it say so.
    std::optional<bool> runs_after_condition(const Command& asked) {
        const std::string& first = asked.words.front();
        const auto test = result_of_test(known(asked), variables_);
        if (asked.follows == Follows::always) {
            has_test_ = false;
            succeeds_ = std::nullopt;
        }
        const bool is_alternative = asked.follows == Follows::if_it_fails;
        const std::optional<bool> runs = is_alternative
                                             ? (succeeds_ ? std::optional(!*succeeds_) : std::nullopt)
                                         : has_test_ ? succeeds_
                                                     : std::optional(true);
        if (is_one_of(first, {"if", "case"})) branches_.push_back(test);
        const bool is_function = first.ends_with("()");
        if (first == "{" || is_function) branches_.push_back(is_function ? std::optional(true) : runs);
        const bool closes = is_one_of(first, {"fi", "esac", "}"});
        if (closes && !branches_.empty()) branches_.pop_back();
        if (is_one_of(first, {"else", "elif"}) && !branches_.empty())
            branches_.back() = first == "else" && branches_.back() ? std::optional(!*branches_.back()) : test;
        const bool is_test = is_one_of(first, {"[", "[[", "test"}) || computation_in(first);
        is_in_condition_ =
            is_one_of(first, {"if", "elif"}) || (is_in_condition_ && asked.follows != Follows::always);
        if (is_in_condition_ && asked.follows != Follows::always && !branches_.empty())
            branches_.back() = std::nullopt;  // "if [ a ] && [ b ]"
        if (is_test && runs != false) {
            has_test_ = true;
            succeeds_ = runs ? test : std::nullopt;
        }
        return runs;
    }

    bool is_any_branch(std::optional<bool> taken) const {
        return std::ranges::find(branches_, taken) != branches_.end();
    }

    /// Returns what NAME="$NAME more" adds to a value that is known; nothing if the word is none.
    std::optional<std::string> added_by(const std::string& word, const std::string& name) const {
        if (!variables_.contains(name)) return std::nullopt;
        for (const std::string& own : {"=${" + name + "}", "=$" + name})
            if (const std::size_t end = name.size() + own.size();
                word.compare(name.size(), own.size(), own) == 0 &&
                (own.ends_with('}') || end == word.size() || !is_of_name(word[end])))
                return with_values(word.substr(end), variables_);
        return std::nullopt;
    }

    /// Takes the words of an array: "local -a args=(…)", "args+=(…)". Words that depend on a condition are
    /// left out, and the array's name takes their place.
    void take_array(const Words& command, bool is_conditional) {
        const auto name = std::ranges::find_if(command, [](const std::string& word) {
            return word.size() > 1 && word.ends_with('=') && is_letter(word.front());
        });
        if (name == command.end()) return;
        const std::string all = "${" + name->substr(0, name->find_first_of("+=")) + "[@]}";
        Words& words = arrays_[all];
        if (!name->ends_with("+=")) words.clear();
        if (is_conditional)
            words.push_back(all);
        else
            words.insert(words.end(), name + 1, command.end());
    }

    /// Appends the value of COMMAND+="…" to the earlier COMMAND="…"; returns whether the word is one.
    bool extend_assignment(const std::string& word, bool is_conditional, std::vector<Words>& commands) {
        const std::string name = word.substr(0, word.find("+="));
        if (name.empty() || name == word || !std::ranges::all_of(name, is_of_name)) return false;
        const std::string more = is_conditional ? " $" + name : word.substr(name.size() + 2);
        for (Words& command : commands)
            if (command.size() == 1 && command.front().starts_with(name + "=")) command.front() += more;
        if (const auto value = variables_.find(name); value != variables_.end()) value->second += more;
        return true;
    }

    Variables variables_;
    std::map<std::string, Words, std::less<>> arrays_;
    std::set<std::string> changing_;
    std::vector<std::optional<bool>> branches_;  ///< whether each open branch is taken, if that is known
    bool is_in_condition_ = false;               ///< whether the last command is that of "if"
    bool has_test_ = false;                      ///< whether a test decides what follows by && and ||
    std::optional<bool> succeeds_;               ///< whether it succeeds, if that is known
};

}  // namespace

std::vector<Words> with_known_values(const std::vector<Command>& written) {
    KnownValues values(written);
    std::vector<Words> commands;
    for (const Command& command : written) {
        Words known = values.known(command);
        if (!values.learn(command, commands) && !known.empty()) commands.push_back(std::move(known));
    }
    return commands;
}

}  // namespace paretoken::cli
