#pragma once
// Command lines as text: how they are split into words without a shell, joined again, and what their
// placeholders are replaced by. Pure.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace paretoken::experiments {

/// The words of a command as a POSIX shell splits them: blanks separate, '…' and "…" quote, a backslash takes
/// the next character as it is. Nothing is expanded. Throws UsageError that says what is wrong with the
/// text: a quote that does not end, no word, or what only a shell can do (|, ;, &, <, >, `, $NAME, NAME=value
/// before the command).
std::vector<std::string> words_of(std::string_view line);

/// Names that stand in braces ("{port}", "{max_num_seqs}"): letters, digits and underscores, not beginning
/// with a digit. "{{name}}", JSON and empty braces hold none.
std::set<std::string> placeholders_in(std::string_view text);

/// The placeholders of everything that a plan says of its server, besides "port".
std::set<std::string> placeholders_of(const ServerLaunch& server);

/// `text` with every placeholder that has a value replaced by it.
std::string with_values(std::string_view text, const std::map<std::string, std::string>& values);

/// Replaces placeholders in a command, word by word, so that a value with blanks stays one word. A command
/// without placeholders that have values comes back as it was written.
std::string command_with_values(const std::string& command, const std::map<std::string, std::string>& values);

/// The server of a plan with its placeholders replaced.
ServerLaunch with_values(ServerLaunch server, const std::map<std::string, std::string>& values);

}  // namespace paretoken::experiments
