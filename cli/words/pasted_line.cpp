#include "cli/words/pasted_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "core/text/command_secrets.h"

namespace paretoken::cli {
namespace {

using Words = std::vector<std::string>;

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_of_name(char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Returns the place behind the brace or parenthesis that closes the one at `open`.
std::size_t end_of(std::string_view text, std::size_t open) {
    const char opening = text[open];
    const char closing = opening == '{' ? '}' : ')';
    int depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
        depth += static_cast<int>(text[at] == opening) - static_cast<int>(text[at] == closing);
        if (depth == 0) return at + 1;
    }
    return text.size();
}

/// Reads the characters of a text one after another.
class Splitting {
  public:
    explicit Splitting(std::string_view text) : text_(text) {}

    std::vector<Words> commands() {
        while (at_ < text_.size()) read_one();
        end_command();
        return std::move(commands_);
    }

  private:
    bool next_is(std::size_t distance, char c) const {
        return at_ + distance < text_.size() && text_[at_ + distance] == c;
    }

    void read_one() {
        const char c = text_[at_];
        if (c == '\'' || c == '"') return read_quoted(c);
        if (c == '$') return read_dollar();
        if (c == '<' && text_.find('>', at_) != std::string_view::npos) return read_place('>');
        if (c == '{' && next_is(1, '{') && text_.find("}}", at_) != std::string_view::npos)
            return read_place('}');
        if (c == '\\') return read_backslash();
        if (c == '#' && !begun_) return skip_to_end_of_line();
        if (c == '>') return skip_redirection();
        ++at_;
        if (c == '(' && begun_ && words_.back().ends_with('=')) {  // an array: args=(…)
            in_array_ = true;
            return end_word();
        }
        if (c == ')' && !is_inside_parentheses()) {  // of an array or a subshell
            in_array_ = false;
            return end_command();
        }
        if (c == '(' && !begun_) return end_command();
        if (c == ';' || c == '|' || c == '&') return end_command();
        if (c == '\n' && !in_array_) return end_line();
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '`')
            end_word();
        else
            add(c);
    }

    /// Whether the present word has a parenthesis that is open: "N(480,240)".
    bool is_inside_parentheses() const {
        return begun_ && std::ranges::count(words_.back(), '(') > std::ranges::count(words_.back(), ')');
    }

    void add(char c) {
        if (!std::exchange(begun_, true)) words_.emplace_back();
        words_.back() += c;
    }
    void end_word() { begun_ = false; }
    void end_command() {
        end_word();
        if (!words_.empty()) {
            const bool begins_with_option =
                words_.front().size() > 2 && words_.front().starts_with("--") && is_letter(words_.front()[2]);
            if (begins_with_option && may_go_on_ && !commands_.empty())
                commands_.back().insert(commands_.back().end(), words_.begin(), words_.end());
            else
                commands_.push_back(words_);
            words_.clear();
        }
        may_go_on_ = false;
    }
    void end_line() {
        const bool was_empty = words_.empty();
        const bool went_on = may_go_on_;
        end_command();
        may_go_on_ = !was_empty || went_on;
    }

    void read_quoted(char quote) {
        if (!std::exchange(begun_, true)) words_.emplace_back();
        for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
            const bool escapes = text_[at_] == '\\' && quote == '"' && at_ + 1 < text_.size();
            if (escapes) ++at_;
            if (escapes && text_[at_] == '\n') continue;
            if (quote == '"' && !escapes && text_[at_] == '$') {
                read_dollar();
                --at_;
            } else {
                words_.back() += text_[at_];
            }
        }
        ++at_;
    }

    /// "$(date +%s)" and "${PORT:-8000}", in which blanks end no word; another "$" is a character.
    void read_dollar() {
        const char open = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
        add(text_[at_++]);
        if (open != '(' && open != '{') return;
        for (const std::size_t end = end_of(text_, at_); at_ < end;) add(text_[at_++]);
    }

    /// "<your data path>" and "{{ model }}", which are one word.
    void read_place(char close) {
        const std::size_t end = text_.find(close, at_) + (close == '}' ? 1 : 0);
        for (; at_ <= end; ++at_) add(text_[at_]);
    }

    void read_backslash() {
        if (next_is(1, '\\') && next_is(2, '\n')) ++at_;  // of a line inside a text of a program
        const std::size_t next = text_.find_first_not_of(" \t\r", at_ + 1);
        const bool ends_line = next == std::string_view::npos || text_[next] == '\n';
        if (ends_line) {
            at_ = next == std::string_view::npos ? text_.size() : next + 1;
            if (next_is(0, '>')) ++at_;  // the mark with which a shell or a page begins a further line
            // A shell joins the two parts of a word. An option without its indentation begins a new one.
            const bool joins = begun_ && (words_.back() == "-" || !next_is(0, '-'));
            return joins ? void() : end_word();
        }
        if (text_[at_ + 1] != ' ') add(text_[at_ + 1]);
        at_ += 2;
    }

    void skip_to_end_of_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

    /// "> log.txt", "2>&1", ">> log"
    void skip_redirection() {
        const bool has_number = begun_ && std::ranges::all_of(words_.back(), [](char c) {
                                    return std::isdigit(static_cast<unsigned char>(c)) != 0;
                                });
        if (has_number) words_.pop_back();
        end_word();
        while (next_is(0, '>') || next_is(0, '&') || next_is(0, ' ')) ++at_;
        at_ = std::min(text_.find_first_of(" \t\r\n;|", at_), text_.size());
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool begun_ = false;
    bool in_array_ = false;
    bool may_go_on_ = false;  ///< whether the next line may continue the last command
    Words words_;
    std::vector<Words> commands_;
};

/// Removes the "#" at the beginning of each line, if all lines are comments and have options.
std::string without_comment_marks(std::string_view text) {
    std::string bare;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (!line.empty() && !line.starts_with('#')) return std::string(text);
        line.remove_prefix(std::min(line.find_first_not_of('#'), line.size()));
        bare.append(line).append("\n");
    }
    return bare.find(" -") == std::string::npos ? std::string(text) : bare;
}

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
            const std::string inner = with_values(text.substr(at + 3, end - at - 3), variables);
            out += "$((" + with_values_of_names(inner, variables);
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

/// Whether a word is nothing but a variable whose value holds several words: options, or, where a list or a
/// command stands, any.
bool is_several_words(const std::string& word, const std::string& value, bool is_list) {
    const bool alone = word.starts_with('$') && word.find_first_of(" /:.,=", 1) == std::string::npos;
    return alone && value.find(' ') != std::string::npos && (is_list || value.starts_with('-'));
}

/// Returns the words NAME=VALUE of a command that does nothing else: "export MODEL=m PORT=${PORT:-9000}".
Words assignments_of(const Words& command) {
    constexpr std::array kWordsBefore = {"export", "local", "readonly", "declare", "do", "then", "else"};
    const auto first = std::ranges::find_if(command, [&](const std::string& word) {
        return std::ranges::find(kWordsBefore, word) == kWordsBefore.end();
    });
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

/// What the text says of its variables. What only a shell knows stays a variable: a value that a command
/// computes, that depends on a condition, or that changes inside a loop.
class KnownValues {
  public:
    explicit KnownValues(const std::vector<Words>& commands) {
        int loops = 0;
        std::set<std::string> set;
        for (const Words& command : commands) {
            loops += change_of(command.front(), {"for", "while", "until"}, {"done"});
            for (const std::string& word : assignments_of(command)) {
                const std::string name = word.substr(0, word.find('='));
                const bool is_again = !set.insert(name).second;
                if (loops > 0 && (is_again || word.find('$') != std::string::npos)) changing_.insert(name);
            }
        }
    }

    /// Returns a command with the values that are known where it stands.
    Words known(const Words& command) const {
        Words words;
        const std::string* const program =
            command.data() + static_cast<int>(is_one_of(command.front(), {"eval", "exec"}));
        for (const std::string& word : command) {
            std::string value = with_values(word, variables_);
            if (const auto array = arrays_.find(word); array != arrays_.end())
                words.insert(words.end(), array->second.begin(), array->second.end());
            else if (is_several_words(word, value, &word == program || command.front() == "for"))
                for (const Words& part : Splitting(value).commands())
                    words.insert(words.end(), part.begin(), part.end());
            else
                words.push_back(std::move(value));
        }
        return words;
    }

    /// Learns what a command sets. `commands` are the earlier ones, to which COMMAND+="…" may add. Returns
    /// whether it only adds.
    bool learn(const Words& command, std::vector<Words>& commands) {
        ifs_ += change_of(command.front(), {"if", "case"}, {"fi", "esac"});
        const bool is_conditional = ifs_ > 0 || after_test_;
        after_test_ = is_one_of(command.front(), {"[", "[[", "test"});
        if (command.front() == "for" && command.size() > 1) variables_.erase(command[1]);
        const Words assignments = assignments_of(command);
        for (const std::string& word : assignments) {
            const std::string name = word.substr(0, word.find('='));
            std::string value = with_values(word.substr(name.size() + 1), variables_);
            const bool is_computed = value.find("$(") != std::string::npos &&
                                     !(value.starts_with("$((") && std::ranges::none_of(value, is_letter));
            const bool is_argument = value.size() == 2 && value.front() == '$';  // "$1"
            const bool is_known = !is_computed && !is_argument;
            variables_.erase(name);
            if (is_known && !is_conditional && !changing_.contains(name) && !is_secret_option(name))
                variables_[name] = std::move(value);
        }
        if (!assignments.empty()) return false;
        const Words words = known(command);
        take_array(words, is_conditional);
        return words.size() == 1 && extend_assignment(words.front(), is_conditional, commands);
    }

  private:
    static int change_of(std::string_view word, std::initializer_list<std::string_view> opening,
                         std::initializer_list<std::string_view> closing) {
        return static_cast<int>(is_one_of(word, opening)) - static_cast<int>(is_one_of(word, closing));
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
    int ifs_ = 0;
    bool after_test_ = false;
};

}  // namespace

bool has_shell_variable(std::string_view text) {
    for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1))
        if (at + 1 < text.size() && (is_of_name(text[at + 1]) ||
                                     std::string_view("({@*").find(text[at + 1]) != std::string_view::npos))
            return true;
    return false;
}

std::vector<Words> commands_in(std::string_view text) {
    const std::vector<Words> written = Splitting(without_comment_marks(text)).commands();
    KnownValues values(written);
    std::vector<Words> commands;
    for (const Words& command : written) {
        Words known = values.known(command);
        if (!values.learn(command, commands)) commands.push_back(std::move(known));
    }
    return commands;
}

}  // namespace paretoken::cli
