#include "cli/words/pasted_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/words/shell/functions.h"
#include "cli/words/shell/known_values.h"
#include "cli/words/shell/splitting.h"
#include "core/error.h"

namespace paretoken::cli {
namespace {

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
    Split written = split(bare);
    if (!written.open_quote.empty())
        throw UsageError(
            fmt::format("a quotation mark is not closed: {}", written.open_quote.substr(0, kShown)));
    return with_known_values(with_expanded_calls(std::move(written.commands)));
}

}  // namespace paretoken::cli
