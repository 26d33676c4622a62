#include "cli/words/shell/splitting.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

namespace paretoken::cli {

bool stands_before_program(std::string_view word) {
    constexpr std::array<std::string_view, 10> kBefore = {"do",    "then",  "else", "if",   "elif",
                                                          "while", "until", "!",    "time", "{"};
    return std::ranges::find(kBefore, word) != kBefore.end();
}

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_of_name(char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

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

namespace {

/// Whether a name is one of a variable and not of a command: "TARGET".
bool is_of_capitals(std::string_view name) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return !name.empty() && is_letter(name.front()) &&
           name.find_first_not_of(kLetters) == std::string_view::npos;
}

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
        if (c == '$' && next_is(1, '\'')) return read_with_escapes();
        if (c == '$') return read_dollar();
        if (c == '<' && is_place()) return read_place('>');
        if (c == '<') return skip_input();
        if (c == '{' && next_is(1, '{') && text_.find("}}", at_) != std::string_view::npos)
            return read_place('}');
        if (c == '\\') return read_backslash();
        if (c == '#' && !begun_) return skip_to_end_of_line();
        if (c == '>') return skip_redirection();
        if (c == '(' && !begun_ && is_computation()) return read_computation();
        if (c == '(' && !begun_ && words_.size() == 1 && next_is(1, ')')) {  // "name () {"
            words_.back() += "()";
            at_ += 2;
            return;
        }
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
        if (c == ';' || c == '|' || c == '&') {
            end_command();
            follows_ = !next_is(0, c) || c == ';' ? Follows::always
                       : c == '&'                 ? Follows::if_it_succeeds
                                                  : Follows::if_it_fails;
            if (follows_ != Follows::always) ++at_;
            return;
        }
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

    /// Whether "((n = 2 * m))" stands here, and not a subshell inside another one.
    bool is_computation() const {
        if (!next_is(1, '(')) return false;
        const std::size_t end = end_of(text_, at_);
        return end_of(text_, at_ + 1) == end - 1 && text_[end - 1] == ')';
    }
    void read_computation() {
        begin_word(true);
        for (const std::size_t end = end_of(text_, at_); at_ < end;) add(text_[at_++]);
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
            if (command.words.empty()) command.follows = follows_;
            follows_ = Follows::always;
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

    /// $'a\tb', in which a backslash stands before the name of a character.
    void read_with_escapes() {
        begin_word(false);
        const std::size_t open = at_;
        for (at_ += 2; at_ < text_.size() && text_[at_] != '\''; ++at_) {
            if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
                words_.back() += text_[at_];
                continue;
            }
            const char name = text_[++at_];
            constexpr std::string_view kNames = "ntr\\'\"";
            constexpr std::string_view kCharacters = "\n\t\r\\'\"";
            const std::size_t known = kNames.find(name);
            if (known == std::string_view::npos)
                words_.back().append({'\\', name});
            else
                words_.back() += kCharacters[known];
        }
        if (at_ >= text_.size()) open_quote_ = text_.substr(open);
        ++at_;
    }

    /// "$(date +%s)" and "${PORT:-8000}", in which blanks end no word; another "$" is a character.
    void read_dollar() {
        const char open = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
        if (open == '(') {  // "$(NAME)", a variable of Kubernetes or of make
            const std::size_t end = end_of(text_, at_ + 1);
            const std::string_view name = text_.substr(at_ + 2, end - at_ - 3);
            if (is_of_capitals(name)) {
                begin_word(false);
                words_.back().append("${").append(name).append("}");
                at_ = end;
                return;
            }
        }
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
        std::size_t next = text_.find_first_not_of(" \t\r", at_ + 1);
        const bool has_comment = next != std::string_view::npos && next > at_ + 1 && text_[next] == '#';
        if (has_comment) next = text_.find('\n', next);  // "--b \  # a comment", after which the line goes on
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
    Follows follows_ = Follows::always;  ///< how the next command follows the last one
    bool may_go_on_ = false;             ///< whether the next line may continue the last command
    Words words_;
    std::vector<bool> is_quoted_;  ///< of the words
    Words document_ends_;          ///< the lines that end the here-documents of this line
    std::string output_;           ///< the file to which the last redirection writes
    std::string_view open_quote_;
    std::vector<Command> commands_;
};

}  // namespace

Split split(std::string_view text) {
    Splitting splitting(text);
    Split split{.commands = splitting.commands()};
    split.open_quote = splitting.open_quote();
    return split;
}

}  // namespace paretoken::cli
