#include "tests/virtual_gpu/ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "core/error.h"

namespace paretoken::virtual_gpu {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
        text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
    return text;
}

/// Splits a text at the commas outside of brackets and braces.
std::vector<std::string> split_operands(std::string_view text) {
    std::vector<std::string> parts;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        if (c != ',' || depth != 0) continue;
        parts.emplace_back(trimmed(text.substr(begin, i - begin)));
        begin = i + 1;
    }
    const std::string_view last = trimmed(text.substr(begin));
    if (!last.empty()) parts.emplace_back(last);
    return parts;
}

std::size_t number_in(std::string_view text) {
    std::size_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::size_t bytes_of(std::string_view type) {
    const std::size_t digits = type.find_first_of("0123456789");
    return digits == std::string_view::npos ? 1 : number_in(type.substr(digits)) / 8;
}

/// The words of a text, which are separated by blanks.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t at = 0;
    while ((at = text.find_first_not_of(" \t\n\r", at)) != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(" \t\n\r", at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

/// Replaces comments with blanks, so that offsets and line numbers do not change.
std::string without_comments(std::string_view text) {
    std::string result(text);
    bool quoted = false;
    for (std::size_t i = 0; i < result.size(); ++i) {
        if (result[i] == '"') quoted = !quoted;
        if (quoted || result[i] != '/' || i + 1 == result.size()) continue;
        const bool block = result[i + 1] == '*';
        if (!block && result[i + 1] != '/') continue;
        const std::size_t end = block ? std::min(result.find("*/", i + 2), result.size() - 2) + 2
                                      : std::min(result.find('\n', i), result.size());
        std::replace_if(
            result.begin() + static_cast<std::ptrdiff_t>(i),
            result.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '\n'; }, ' ');
        i = end - 1;
    }
    return result;
}

/// Parses a declaration such as ".param .align 8 .b8 name[40]", ".extern .shared .align 128 .b8 name[]" or
/// ".param .u64 name".
Variable variable_of(std::string_view text) {
    const std::vector<std::string_view> words = words_of(text);
    Variable variable;
    std::size_t element = 1;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] == ".align") {
            variable.alignment = number_in(words[i + 1]);
        } else if (words[i].size() > 2 && words[i].front() == '.' &&
                   std::string_view("busf").find(words[i][1]) != std::string_view::npos &&
                   std::isdigit(static_cast<unsigned char>(words[i][2])) != 0) {
            element = bytes_of(words[i]);
        }
    }
    variable.alignment = std::max(variable.alignment, element);
    std::string_view name = words.empty() ? std::string_view() : words.back();
    variable.bytes = element;
    if (const std::size_t bracket = name.find('['); bracket != std::string_view::npos) {
        variable.bytes = element * number_in(name.substr(bracket + 1));
        name = name.substr(0, bracket);
    }
    variable.name = name;
    return variable;
}

class Parser {
  public:
    Parser(std::string_view text, std::string file) : plain_(without_comments(text)), text_(plain_) {
        module_.file = std::move(file);
    }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    ModuleText parsed() {
        while (const auto item = next()) take(*item);
        if (kernel_) complain("the file ends inside a kernel");
        return std::move(module_);
    }

  private:
    struct Item {
        std::string_view text;
        int line = 0;
        char end = ';';  ///< the character that ended it: ';', '{', '}', ':' or, for a line directive, '\n'
    };

    [[noreturn]] void complain(std::string_view what, int line = 0) const {
        throw RuntimeError(fmt::format("{}:{}: {}", module_.file, line != 0 ? line : line_, what));
    }

    /// Reads the next item. A line directive ends with its line, a label with a colon, and any other item
    /// with a semicolon or a brace.
    std::optional<Item> next() {
        skip_blank();
        if (at_ == text_.size()) return std::nullopt;
        const std::size_t begin = at_;
        const int line = line_;
        if (ends_with_its_line(text_.substr(begin))) {
            const std::size_t end = std::min(text_.find('\n', at_), text_.size());
            at_ = end;
            return Item{trimmed(text_.substr(begin, end - begin)), line, '\n'};
        }
        int depth = 0;  // of parentheses: an item does not end inside of a list of parameters
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '\n') ++line_;
            if (c == '(') ++depth;
            if (c == ')') --depth;
            if (depth > 0) continue;
            const bool label = c == ':' && (at_ + 1 == text_.size() || text_[at_ + 1] != ':') &&
                               (at_ == 0 || text_[at_ - 1] != ':');
            const bool block = (c == '{' || c == '}') && is_block(text_.substr(begin, at_ - begin));
            if (c != ';' && !label && !block) continue;
            const Item item{trimmed(text_.substr(begin, at_ - begin)), line, c};
            ++at_;
            return item;
        }
        return Item{trimmed(text_.substr(begin)), line, ';'};
    }
    /// Says whether a brace opens or closes a block. Only after an instruction does it not: there it belongs
    /// to an operand.
    static bool is_block(std::string_view before) {
        const std::string_view text = trimmed(before);
        return text.empty() || text.front() == '.';
    }
    static bool ends_with_its_line(std::string_view text) {
        for (const std::string_view directive :
             {".version", ".target", ".address_size", ".loc", ".file", ".section"}) {
            if (text.starts_with(directive)) return true;
        }
        return false;
    }
    void skip_blank() {
        while (at_ < text_.size()) {
            if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0) return;
            if (text_[at_] == '\n') ++line_;
            ++at_;
        }
    }

    void take(const Item& item) {
        if (item.end == ':') {
            if (!kernel_) complain("a label outside of kernels", item.line);
            if (!kernel_->labels.emplace(item.text, kernel_->statements.size()).second)
                complain(fmt::format("the label '{}' is defined twice in a kernel", item.text), item.line);
        } else if (item.text.starts_with('.')) {
            take_directive(item);
        } else if (item.end == '{') {
            if (!kernel_) complain("a block outside of kernels", item.line);
            scopes_.emplace_back();
        } else if (item.end == '}') {
            close(item);
        } else if (!item.text.empty()) {
            if (!kernel_) complain("an instruction outside of kernels", item.line);
            take_instruction(item);
        }
    }
    void close(const Item& item) {
        if (!item.text.empty()) complain("a statement without its semicolon", item.line);
        if (!kernel_) complain("a brace that closes nothing", item.line);
        if (!scopes_.empty()) {
            scopes_.pop_back();
            return;
        }
        module_.kernels.push_back(std::move(*kernel_));
        kernel_.reset();
    }

    void take_directive(const Item& item) {
        const std::vector<std::string_view> words = words_of(item.text);
        const auto has = [&](std::string_view word) {
            for (const std::string_view w : words) {
                if (w == word) return true;
            }
            return false;
        };
        if (has(".entry")) return open_kernel(item);
        if (has(".func")) complain("device functions (.func) are not supported", item.line);
        if (words.front() == ".target") {
            // The word is "sm_90", "sm_90a," or the like.
            if (words.size() < 2 || !words[1].starts_with("sm_"))
                complain("an architecture like sm_90 was expected", item.line);
            module_.capability = static_cast<int>(number_in(words[1].substr(3)));
        } else if (words.front() == ".file") {
            if (words.size() > 2)
                module_.sources[static_cast<int>(number_in(words[1]))] = file_name_of(words[2]);
        } else if (words.front() == ".loc") {
            if (words.size() > 2) {
                source_file_ = static_cast<int>(number_in(words[1]));
                source_line_ = static_cast<int>(number_in(words[2]));
            }
        } else if (words.front() ==
                   ".section") {  // debug information, which is skipped up to its closing brace
            const std::size_t end = std::min(text_.find('}', at_), text_.size() - 1) + 1;
            const std::string_view skipped = text_.substr(at_, end - at_);
            line_ += static_cast<int>(std::count(skipped.begin(), skipped.end(), '\n'));
            at_ = end;
        } else if (has(".shared")) {
            (kernel_ ? kernel_->shared : module_.shared).push_back(variable_of(item.text));
        } else if (words.front() == ".reg") {
            take_registers(item);
        } else if (has(".local") || has(".global") || has(".const")) {
            complain(fmt::format("memory of this kind is not supported: {}", item.text), item.line);
        }
    }
    void take_registers(const Item& item) {
        if (!kernel_) complain("registers outside of kernels", item.line);
        const std::vector<std::string_view> words = words_of(item.text);
        if (words.size() < 3) complain("a declaration of registers was expected", item.line);
        // Examples: ".reg .b32 %r<8>, %tmp;" and ".reg .pred p;".
        const std::string type(words[1].substr(1));
        const auto names_at = static_cast<std::size_t>(words[2].data() - item.text.data());
        for (const std::string& name : split_operands(item.text.substr(names_at))) {
            std::string own = name.substr(0, name.find('<'));
            if (!scopes_.empty()) {
                // Another block may declare the same name with another type, so that the register gets an
                // alias that is unique in the kernel.
                std::string& alias = scopes_.back()[own];
                alias = fmt::format("{}@{}@", own, ++aliases_);
                own = alias;
            }
            kernel_->registers[own] = type;
        }
    }
    /// Replaces the names of registers that inner blocks declare with their aliases.
    std::string resolved(std::string_view text) const {
        if (scopes_.empty()) return std::string(text);
        std::string result;
        while (!text.empty()) {
            std::size_t end = 0;
            while (end < text.size() && is_name_character(text[end])) ++end;
            std::string word(text.substr(0, std::max<std::size_t>(end, 1)));
            text.remove_prefix(word.size());
            for (auto scope = scopes_.rbegin(); end > 0 && scope != scopes_.rend(); ++scope) {
                // A name such as "%t12" may be declared as "%t<20>".
                const std::size_t digits = word.find_last_not_of("0123456789") + 1;
                auto found = scope->find(word);
                if (found != scope->end()) {
                    word = found->second;
                    break;
                }
                found = scope->find(word.substr(0, digits));
                if (found == scope->end() || digits == word.size()) continue;
                word = found->second + word.substr(digits);
                break;
            }
            result += word;
        }
        return result;
    }
    static std::string file_name_of(std::string_view quoted) {
        if (quoted.ends_with(',')) quoted.remove_suffix(1);
        if (quoted.size() < 2) return std::string(quoted);
        quoted = quoted.substr(1, quoted.size() - 2);
        return std::string(quoted.substr(quoted.rfind('/') + 1));
    }
    void open_kernel(const Item& item) {
        if (kernel_) complain("a kernel inside a kernel", item.line);
        std::string_view text = item.text.substr(item.text.find(".entry") + 6);
        const std::size_t open = text.find('(');
        kernel_ = KernelText{.name = std::string(trimmed(text.substr(0, open))), .line = item.line};
        scopes_.clear();
        source_file_ = source_line_ = 0;
        // Directives such as .maxntid stand between the parameters and the opening brace.
        const std::size_t close = text.rfind(')');
        if (open != std::string_view::npos && close != std::string_view::npos) {
            for (const std::string& parameter : split_operands(text.substr(open + 1, close - open - 1)))
                kernel_->parameters.push_back(variable_of(parameter));
            text = text.substr(close + 1);
        }
        if (const std::size_t at = text.find(".maxntid"); at != std::string_view::npos) {
            int threads = 1;
            for (const std::string& extent :
                 split_operands(text.substr(at + 8, text.find('\n', at) - at - 8)))
                threads *= static_cast<int>(number_in(extent));
            kernel_->max_threads = threads;
        }
    }

    void take_instruction(const Item& item) {
        Statement statement{.line = item.line, .source_file = source_file_, .source_line = source_line_};
        std::string_view text = item.text;
        if (text.front() == '@') {
            const std::size_t end = text.find_first_of(" \t\n\r");
            if (end == std::string_view::npos) complain("an instruction was expected", item.line);
            std::string_view guard = text.substr(1, end - 1);
            if (guard.starts_with('!')) {
                statement.guard_inverted = true;
                guard.remove_prefix(1);
            }
            statement.guard = resolved(guard);
            text = trimmed(text.substr(end));
        }
        statement.text = text;
        const std::size_t end = std::min(text.find_first_of(" \t\n\r"), text.size());
        std::string_view mnemonic = text.substr(0, end);
        while (!mnemonic.empty()) {
            const std::size_t dot = std::min(mnemonic.find('.'), mnemonic.size());
            statement.mnemonic.emplace_back(mnemonic.substr(0, dot));
            mnemonic.remove_prefix(std::min(dot + 1, mnemonic.size()));
        }
        statement.operands = split_operands(resolved(text.substr(end)));
        kernel_->statements.push_back(std::move(statement));
    }

    std::string plain_;  ///< the text without its comments
    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
    int source_file_ = 0;
    int source_line_ = 0;
    std::vector<std::map<std::string, std::string>> scopes_;  ///< per open inner block: register → alias
    int aliases_ = 0;
    ModuleText module_;
    std::optional<KernelText> kernel_;
};

}  // namespace

ModuleText parse_ptx(std::string_view text, std::string file) {
    return Parser(text, std::move(file)).parsed();
}

std::vector<std::string> parts_of(std::string_view operand) {
    if (operand.starts_with('{') && operand.ends_with('}'))
        return split_operands(operand.substr(1, operand.size() - 2));
    return {std::string(operand)};
}

}  // namespace paretoken::virtual_gpu
