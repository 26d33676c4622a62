#include "cli/words/pasted_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
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

/// A command, and which of its words are in double quotes, so that a shell keeps them even if they are empty.
struct Command {
    Words words = {};
    std::vector<bool> is_quoted = {};
};

/// Whether the text of a here-document is a script: for one of these programs, by its beginning, or by the
/// `file` that it is written to.
bool is_script(const Words& command, std::string_view text, std::string_view file) {
    constexpr std::array kShells = {"ssh", "bash", "sh", "zsh", "sbatch", "qsub"};
    constexpr std::array kEndings = {".sh", ".bash", ".sbatch", ".slurm"};
    return text.starts_with("#!") ||
           std::ranges::any_of(kEndings, [&](const char* ending) { return file.ends_with(ending); }) ||
           std::ranges::any_of(command, [&](std::string_view word) {
               word.remove_prefix(word.rfind('/') + 1);
               return std::ranges::find(kShells, word) != kShells.end();
           });
}

/// Reads the characters of a text one after another.
class Splitting {
  public:
    explicit Splitting(std::string_view text) : text_(text) {}

    std::vector<Command> commands() {
        while (at_ < text_.size()) read_one();
        end_command();
        return std::move(commands_);
    }
    /// Returns the text from a quotation mark that is not closed; empty if there is none.
    std::string_view open_quote() const { return open_quote_; }

  private:
    bool next_is(std::size_t distance, char c) const {
        return at_ + distance < text_.size() && text_[at_ + distance] == c;
    }

    void read_one() {
        const char c = text_[at_];
        if (c == '\'' || c == '"') return read_quoted(c);
        if (c == '$') return read_dollar();
        if (c == '<' && is_place()) return read_place('>');
        if (c == '<') return skip_input();
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

    /// Whether "<your data path>" stands here, and not "< file", "<<END", "<(command)" or "<in 2>out".
    bool is_place() const {
        const std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
        const std::size_t end = line.find('>');
        const bool begins_as_one = end != std::string_view::npos && end > 1 &&
                                   std::string_view(" \t/<(&'\"$").find(line[1]) == std::string_view::npos;
        return begins_as_one && line[line.find_last_not_of("0123456789", end - 1)] != ' ';
    }

    void add(char c) {
        begin_word(false);
        words_.back() += c;
    }
    void begin_word(bool is_quoted) {
        if (std::exchange(begun_, true)) return;
        words_.emplace_back();
        is_quoted_.resize(words_.size() - 1);
        is_quoted_.push_back(is_quoted);
    }
    void end_word() { begun_ = false; }
    void end_command() {
        end_word();
        if (!words_.empty()) {
            const bool begins_with_option =
                words_.front().size() > 2 && words_.front().starts_with("--") && is_letter(words_.front()[2]);
            is_quoted_.resize(words_.size());
            if (!begins_with_option || !may_go_on_ || commands_.empty()) commands_.emplace_back();
            Command& command = commands_.back();
            command.words.insert(command.words.end(), words_.begin(), words_.end());
            command.is_quoted.insert(command.is_quoted.end(), is_quoted_.begin(), is_quoted_.end());
            words_.clear();
            is_quoted_.clear();
        }
        may_go_on_ = false;
    }
    void end_line() {
        const bool was_empty = words_.empty();
        const bool went_on = may_go_on_;
        end_command();
        may_go_on_ = !was_empty || went_on;
        for (const std::string& end : std::exchange(document_ends_, {})) read_document(end);
    }

    /// Skips a here-document up to the line `end`, or reads it if it is commands.
    void read_document(const std::string& end) {
        for (std::size_t begin = at_; begin < text_.size();) {
            const std::size_t line_end = std::min(text_.find('\n', begin), text_.size());
            std::string_view line = text_.substr(begin, line_end - begin);
            line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
            while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
            if (line != end) {
                begin = line_end + 1;
                continue;
            }
            const std::string_view text = text_.substr(at_, begin - at_);
            if (!commands_.empty() && is_script(commands_.back().words, text, output_)) {
                auto inner = Splitting(text).commands();
                std::ranges::move(inner, std::back_inserter(commands_));
            }
            at_ = line_end;
            return;
        }
    }

    void read_quoted(char quote) {
        begin_word(quote == '"');
        const std::size_t open = at_;
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
        if (at_ >= text_.size()) open_quote_ = text_.substr(open);
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
        drop_descriptor();
        while (next_is(0, '>') || next_is(0, '&') || next_is(0, '|')) ++at_;
        output_ = taken_word();
    }

    /// "< file", "<<< TEXT", "<<END" with its text, and "<(command)", which is a word.
    void skip_input() {
        if (next_is(1, '(')) {
            add(text_[at_++]);
            for (const std::size_t end = end_of(text_, at_); at_ < end;) add(text_[at_++]);
            return;
        }
        drop_descriptor();
        const bool is_text = next_is(1, '<') && next_is(2, '<');
        const bool is_document = next_is(1, '<') && !is_text;
        while (next_is(0, '<') || next_is(0, '&')) ++at_;
        if (is_document && next_is(0, '-')) ++at_;
        const std::string word = taken_word();
        if (is_document && !word.empty()) document_ends_.push_back(word);
    }

    /// Removes the number before a redirection: "2>".
    void drop_descriptor() {
        const bool has_number = begun_ && std::ranges::all_of(words_.back(), [](char c) {
                                    return std::isdigit(static_cast<unsigned char>(c)) != 0;
                                });
        if (has_number) words_.pop_back();
        end_word();
    }

    /// Reads the next word of this line, which does not become one of the command.
    std::string taken_word() {
        while (next_is(0, ' ') || next_is(0, '\t')) ++at_;
        if (next_is(0, '(')) at_ = end_of(text_, at_);  // >(command)
        const std::size_t before = words_.size();
        constexpr std::string_view kEnds = " \t\r\n;|&<>)";
        while (at_ < text_.size() && kEnds.find(text_[at_]) == std::string_view::npos) read_one();
        std::string word = words_.size() > before ? std::move(words_.back()) : std::string();
        words_.resize(std::min(before, words_.size()));
        end_word();
        return word;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool begun_ = false;
    bool in_array_ = false;
    bool may_go_on_ = false;  ///< whether the next line may continue the last command
    Words words_;
    std::vector<bool> is_quoted_;  ///< of the words
    Words document_ends_;          ///< the lines that end the here-documents of this line
    std::string output_;           ///< the file to which the last redirection writes
    std::string_view open_quote_;
    std::vector<Command> commands_;
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

/// Whether a word is nothing but a variable whose value holds several words: options, or, where a shell would
/// divide it, any.
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

/// What `[ -n X ]`, `[[ ! -z X ]]` or `test -z X` gives, as far as the values are known.
std::optional<bool> result_of_test(const Words& command) {
    auto word = command.begin() + static_cast<std::ptrdiff_t>(is_one_of(command.front(), {"if"}));
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

/// What the text says of its variables. What only a shell knows stays a variable: a value that a command
/// computes, that depends on a condition, or that changes inside a loop.
class KnownValues {
  public:
    explicit KnownValues(const std::vector<Command>& commands) {
        int loops = 0;
        std::set<std::string> set;
        for (const auto& [command, is_quoted] : commands) {
            loops += change_of(command.front(), {"for", "while", "until"}, {"done"});
            for (const std::string& word : assignments_of(command)) {
                const std::string name = word.substr(0, word.find('='));
                const bool is_again = !set.insert(name).second;
                if (loops > 0 && (is_again || word.find('$') != std::string::npos)) changing_.insert(name);
            }
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
                for (const Command& part : Splitting(value).commands())
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
        const auto test = result_of_test(known(asked));
        if (is_one_of(command.front(), {"if", "case"})) ifs_.push_back(test);
        if (is_one_of(command.front(), {"fi", "esac"}) && !ifs_.empty()) ifs_.pop_back();
        if (is_one_of(command.front(), {"else", "elif"}) && !ifs_.empty())
            ifs_.back() = command.front() == "else" && ifs_.back() ? std::optional(!*ifs_.back()) : test;
        const std::optional<bool> of_test = std::exchange(of_test_, std::nullopt);
        const bool is_after_test =
            std::exchange(after_test_, is_one_of(command.front(), {"[", "[[", "test"}));
        if (after_test_) of_test_ = test;
        if (after_test_ && std::exchange(is_in_condition_, false))
            ifs_.back() = std::nullopt;  // "if [ a ] && [ b ]"
        is_in_condition_ = command.front() == "if";
        const bool is_left_out =
            of_test == false || std::ranges::find(ifs_, std::optional(false)) != ifs_.end();
        const bool is_conditional =
            (is_after_test && !of_test) || std::ranges::find(ifs_, std::optional<bool>()) != ifs_.end();
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
    std::vector<std::optional<bool>> ifs_;  ///< what each open condition gives, if that is known
    bool after_test_ = false;
    bool is_in_condition_ = false;  ///< whether the last command is that of "if"
    std::optional<bool> of_test_;
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
    constexpr std::size_t kShown = 60;
    const std::string bare = without_comment_marks(text);
    Splitting splitting(bare);
    const std::vector<Command> written = splitting.commands();
    if (const std::string_view open = splitting.open_quote(); !open.empty())
        throw UsageError(fmt::format("a quotation mark is not closed: {}", open.substr(0, kShown)));
    KnownValues values(written);
    std::vector<Words> commands;
    for (const Command& command : written) {
        Words known = values.known(command);
        if (!values.learn(command, commands) && !known.empty()) commands.push_back(std::move(known));
    }
    return commands;
}

}  // namespace paretoken::cli
