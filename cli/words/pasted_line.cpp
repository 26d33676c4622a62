#include "cli/words/pasted_line.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace paretoken::cli {
namespace {

/// Reads the characters of a line one after another.
class Splitting {
  public:
    explicit Splitting(std::string_view line) : line_(line) {}

    std::vector<std::vector<std::string>> commands() {
        while (at_ < line_.size()) read_one();
        end_command();
        return std::move(commands_);
    }

  private:
    bool next_is(std::size_t distance, char c) const {
        return at_ + distance < line_.size() && line_[at_ + distance] == c;
    }

    void read_one() {
        const char c = line_[at_];
        if (c == '\'' || c == '"') return read_quoted(c);
        if (c == '<' && line_.find('>', at_) != std::string_view::npos) return read_place();
        if (c == '\\') return read_backslash();
        if (c == '#' && !begun_) return skip_to_end_of_line();
        if (c == '>') return skip_redirection();
        ++at_;
        if (c == ';' || c == '|' || c == '&' || c == '\n') return end_command();
        if (c == ' ' || c == '\t' || c == '\r')
            end_word();
        else
            add(c);
    }

    void add(char c) {
        if (!std::exchange(begun_, true)) words_.emplace_back();
        words_.back() += c;
    }
    void end_word() { begun_ = false; }
    void end_command() {
        end_word();
        if (!words_.empty()) commands_.push_back(std::exchange(words_, {}));
    }

    void read_quoted(char quote) {
        if (!std::exchange(begun_, true)) words_.emplace_back();
        for (++at_; at_ < line_.size() && line_[at_] != quote; ++at_) {
            const bool escapes = line_[at_] == '\\' && quote == '"' && at_ + 1 < line_.size();
            if (escapes) ++at_;
            words_.back() += line_[at_];
        }
        ++at_;
    }

    /// "<your data path>", which is one word.
    void read_place() {
        const std::size_t end = line_.find('>', at_);
        for (; at_ <= end; ++at_) add(line_[at_]);
    }

    void read_backslash() {
        const std::size_t next = line_.find_first_not_of(" \t\r", at_ + 1);
        const bool ends_line = next == std::string_view::npos || line_[next] == '\n';
        if (ends_line) {
            at_ = next == std::string_view::npos ? line_.size() : next + 1;
            return end_word();
        }
        if (line_[at_ + 1] != ' ') add(line_[at_ + 1]);
        at_ += 2;
    }

    void skip_to_end_of_line() { at_ = std::min(line_.find('\n', at_), line_.size()); }

    /// "> log.txt", "2>&1", ">> log"
    void skip_redirection() {
        const bool has_number = begun_ && std::ranges::all_of(words_.back(), [](char c) {
                                    return std::isdigit(static_cast<unsigned char>(c)) != 0;
                                });
        if (has_number) words_.pop_back();
        end_word();
        while (next_is(0, '>') || next_is(0, '&') || next_is(0, ' ')) ++at_;
        at_ = std::min(line_.find_first_of(" \t\r\n;|", at_), line_.size());
    }

    std::string_view line_;
    std::size_t at_ = 0;
    bool begun_ = false;
    std::vector<std::string> words_;
    std::vector<std::vector<std::string>> commands_;
};

}  // namespace

std::vector<std::vector<std::string>> commands_in(std::string_view line) {
    return Splitting(line).commands();
}

}  // namespace paretoken::cli
