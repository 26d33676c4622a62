#include "cli/words/pasted_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
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
        if (c == '<' && text_.find('>', at_) != std::string_view::npos) return read_place();
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
        const char close = open == '(' ? ')' : '}';
        add(text_[at_++]);
        if (open != '(' && open != '{') return;
        int depth = 0;
        do {
            depth += static_cast<int>(text_[at_] == open) - static_cast<int>(text_[at_] == close);
            add(text_[at_++]);
        } while (depth > 0 && at_ < text_.size());
    }

    /// "<your data path>", which is one word.
    void read_place() {
        const std::size_t end = text_.find('>', at_);
        for (; at_ <= end; ++at_) add(text_[at_]);
    }

    void read_backslash() {
        const std::size_t next = text_.find_first_not_of(" \t\r", at_ + 1);
        const bool ends_line = next == std::string_view::npos || text_[next] == '\n';
        if (ends_line) {
            at_ = next == std::string_view::npos ? text_.size() : next + 1;
            if (next_is(0, '>')) ++at_;  // the mark with which a shell or a page begins a further line
            return end_word();
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
using Arrays = std::map<std::string, Words, std::less<>>;

/// Replaces variables whose values are known, and "${NAME:-8}" by 8 where none is.
std::string with_values(std::string_view text, const Variables& variables) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const bool braces = text.substr(at).starts_with("${");
        const std::size_t begin = at + (braces ? 2 : 1);
        if (text[at] != '$' || begin >= text.size() || !is_letter(text[begin])) {
            out += text[at++];
            continue;
        }
        std::size_t end = begin;
        while (end < text.size() && is_of_name(text[end])) ++end;
        const std::size_t close = braces ? text.find('}', end) : end;
        if (close == std::string_view::npos) return out.append(text.substr(at));
        const std::size_t after = close + (braces ? 1 : 0);
        const std::string_view rest = text.substr(end, close - end);  // ":-8000"
        const auto known = variables.find(text.substr(begin, end - begin));
        const bool has_default = rest.starts_with(":-") || rest.starts_with('-');
        if (known != variables.end() && (rest.empty() || has_default))
            out += known->second;
        else if (has_default)
            out += rest.substr(rest.find('-') + 1);
        else
            out += text.substr(at, after - at);
        at = after;
    }
    return out;
}

/// Takes the variables that a command sets, if it does nothing else: "export MODEL=m PORT=${PORT:-9000}".
bool take_variables(const Words& command, Variables& variables) {
    constexpr std::array kWordsBefore = {"export", "local", "readonly", "declare"};
    const std::size_t first = std::ranges::find(kWordsBefore, command.front()) != kWordsBefore.end() ? 1 : 0;
    const auto name_of = [](const std::string& word) { return word.substr(0, word.find('=')); };
    const bool sets = first < command.size() &&
                      std::all_of(command.begin() + static_cast<std::ptrdiff_t>(first), command.end(),
                                  [&](const std::string& word) {
                                      return word.find('=') != std::string::npos && is_letter(word.front()) &&
                                             std::ranges::all_of(name_of(word), is_of_name);
                                  });
    if (!sets) return false;
    for (std::size_t i = first; i < command.size(); ++i) {
        const std::string name = name_of(command[i]);
        const std::string value = with_values(command[i].substr(name.size() + 1), variables);
        // What only a shell knows stays a variable, and so does what is not to be shown.
        if (value.find('$') == std::string::npos && !is_secret_option(name)) variables[name] = value;
    }
    return true;
}

/// Takes the words of an array: "local -a args=(…)", "args+=(…)".
void take_array(const Words& command, Arrays& arrays) {
    const auto name = std::ranges::find_if(command, [](const std::string& word) {
        return word.size() > 1 && word.ends_with('=') && is_letter(word.front());
    });
    if (name == command.end()) return;
    Words& words = arrays["${" + name->substr(0, name->find_first_of("+=")) + "[@]}"];
    if (!name->ends_with("+=")) words.clear();
    words.insert(words.end(), name + 1, command.end());
}

/// Whether a word is nothing but a variable whose value holds several words.
bool is_several_words(const std::string& word, const std::string& value, bool of_loop) {
    const bool alone = word.starts_with('$') && word.find_first_of(" /:.,=", 1) == std::string::npos;
    return alone && value.find(' ') != std::string::npos && (of_loop || value.starts_with('-'));
}

}  // namespace

bool has_shell_variable(std::string_view text) {
    for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1))
        if (at + 1 < text.size() && (is_of_name(text[at + 1]) ||
                                     std::string_view("({@*").find(text[at + 1]) != std::string_view::npos))
            return true;
    return false;
}

std::vector<Words> commands_in(std::string_view text) {
    Variables variables;
    Arrays arrays;
    std::vector<Words> commands;
    for (const Words& command : Splitting(without_comment_marks(text)).commands()) {
        Words known;
        const bool is_loop = command.front() == "for";
        for (const std::string& word : command) {
            std::string value = with_values(word, variables);
            if (const auto array = arrays.find(word); array != arrays.end())
                known.insert(known.end(), array->second.begin(), array->second.end());
            else if (is_several_words(word, value, is_loop))
                for (const Words& part : Splitting(value).commands())
                    known.insert(known.end(), part.begin(), part.end());
            else
                known.push_back(std::move(value));
        }
        if (!take_variables(command, variables)) take_array(known, arrays);
        commands.push_back(std::move(known));
    }
    return commands;
}

}  // namespace paretoken::cli
