#include "experiments/server/command_line.h"

#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "core/error.h"
#include "core/plan/plan_arguments.h"

namespace paretoken::experiments {
namespace {

constexpr std::string_view kPort = "port";
constexpr std::string_view kBlanks = " \t\r\n";

bool is_name_letter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

[[noreturn]] void refuse_shell(std::string_view line, std::string_view what) {
    throw UsageError(
        fmt::format("'{}': {} needs a shell, but the command runs without one; write sh -c '…'", line, what));
}

/// Reads the words of a line in order.
class WordReader {
  public:
    explicit WordReader(std::string_view line) : line_(line) {}

    std::optional<std::string> next() {
        at_ = line_.find_first_not_of(kBlanks, at_);
        if (at_ == std::string_view::npos) return std::nullopt;
        std::string word;
        while (at_ < line_.size() && kBlanks.find(line_[at_]) == std::string_view::npos) take(word);
        return word;
    }

  private:
    void take(std::string& word) {
        const char c = line_[at_++];
        if (c == '\'' || c == '"') return take_quoted(word, c);
        if (c == '\\') {
            if (at_ == line_.size()) throw UsageError(fmt::format("'{}' ends in a backslash", line_));
            word += line_[at_++];
            return;
        }
        if (std::string_view("|;&<>`").find(c) != std::string_view::npos)
            refuse_shell(line_, std::string(1, c));
        refuse_expansion(c);
        word += c;
    }

    void take_quoted(std::string& word, char quote) {
        while (at_ < line_.size()) {
            const char c = line_[at_++];
            if (c == quote) return;
            const bool escapes = quote == '"' && c == '\\' && at_ < line_.size() &&
                                 std::string_view("\"\\$`").find(line_[at_]) != std::string_view::npos;
            if (quote == '"' && !escapes) refuse_expansion(c);
            word += escapes ? line_[at_++] : c;
        }
        throw UsageError(fmt::format("'{}': the quote {} does not end", line_, quote));
    }

    /// Throws if `c` is a backtick, or "$" before a name, a brace or a parenthesis.
    void refuse_expansion(char c) const {
        if (c == '`') refuse_shell(line_, "`");
        if (c != '$' || at_ == line_.size()) return;
        const char following = line_[at_];
        if (is_name_letter(following) || following == '{' || following == '(')
            refuse_shell(line_, fmt::format("${}", following));
    }

    std::string_view line_;
    std::size_t at_ = 0;
};

/// Calls `visit(begin, end, name)` for every placeholder of a text, from left to right.
template <class Visit>
void for_each_placeholder(std::string_view text, Visit visit) {
    for (std::size_t begin = 0; (begin = text.find('{', begin)) != std::string_view::npos; ++begin) {
        std::size_t end = begin + 1;
        while (end < text.size() && is_name_letter(text[end])) ++end;
        const std::string_view name = text.substr(begin + 1, end - begin - 1);
        const bool is_doubled = begin > 0 && text[begin - 1] == '{';
        if (end == text.size() || text[end] != '}' || name.empty() || is_doubled ||
            std::isdigit(static_cast<unsigned char>(name.front())) != 0)
            continue;
        visit(begin, end + 1, std::string(name));
    }
}

}  // namespace

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    WordReader reader(line);
    while (auto word = reader.next()) words.push_back(std::move(*word));
    if (words.empty()) throw UsageError("the command is empty");
    if (const auto equals = words.front().find('=');
        equals != std::string::npos && equals > 0 && words.front().find('/') > equals)
        refuse_shell(line, fmt::format("'{}' before the command", words.front()));
    return words;
}

std::set<std::string> placeholders_in(std::string_view text) {
    std::set<std::string> names;
    for_each_placeholder(text,
                         [&](std::size_t, std::size_t, std::string name) { names.insert(std::move(name)); });
    return names;
}

std::set<std::string> placeholders_of(const ServerLaunch& server) {
    std::set<std::string> names = placeholders_in(server.command);
    for (const std::string& entry : server.environment) names.merge(placeholders_in(entry));
    names.merge(placeholders_in(server.ready_url));
    names.merge(placeholders_in(server.after_run_command));
    names.erase(std::string(kPort));
    return names;
}

std::string with_values(std::string_view text, const std::map<std::string, std::string>& values) {
    std::string filled;
    std::size_t done = 0;
    for_each_placeholder(text, [&](std::size_t begin, std::size_t end, const std::string& name) {
        const auto value = values.find(name);
        if (value == values.end()) return;
        filled.append(text.substr(done, begin - done)).append(value->second);
        done = end;
    });
    return filled.append(text.substr(done));
}

std::string command_with_values(const std::string& command,
                                const std::map<std::string, std::string>& values) {
    const std::set<std::string> names = placeholders_in(command);
    bool changes = false;
    for (const std::string& name : names) changes = changes || values.contains(name);
    if (!changes) return command;
    std::vector<std::string> words = words_of(command);
    for (std::string& word : words) word = with_values(word, values);
    return shell_line(words);
}

ServerLaunch with_values(ServerLaunch server, const std::map<std::string, std::string>& values) {
    server.command = command_with_values(server.command, values);
    for (std::string& entry : server.environment) entry = with_values(entry, values);
    server.ready_url = with_values(server.ready_url, values);
    server.after_run_command = command_with_values(server.after_run_command, values);
    return server;
}

}  // namespace paretoken::experiments
