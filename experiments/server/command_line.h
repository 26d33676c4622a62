#pragma once
// Command lines as text: splits them into words without a shell, joins them, and fills placeholders.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace paretoken::experiments {

/// Splits a command into words like a POSIX shell: blanks separate, '…' and "…" quote, a backslash takes the
/// next character literally (within "…" only ", \, $ and `). Nothing is expanded. Throws UsageError for an
/// open quote, a backslash at the end, no word, or what only a shell can do (|, ;, $NAME, NAME=value …).
std::vector<std::string> words_of(std::string_view line);

/// Returns the names in braces ("{port}", "{max_num_seqs}"): letters, digits and underscores, not beginning
/// with a digit. "{{name}}", JSON and empty braces are no placeholders.
std::set<std::string> placeholders_in(std::string_view text);

/// Returns the placeholders in all server options of a plan, except "port", which is a free one.
std::set<std::string> placeholders_of(const ServerLaunch& server);

/// Returns `text` with each placeholder replaced by its value, if it has one.
std::string with_values(std::string_view text, const std::map<std::string, std::string>& values);

/// Replaces placeholders in a command, word by word, so that a value with blanks stays one word. A command
/// in which no placeholder has a value is returned unchanged; any other command throws as words_of() does.
std::string command_with_values(const std::string& command, const std::map<std::string, std::string>& values);

/// Returns a server with the placeholders in its options replaced. Throws as command_with_values() does.
ServerLaunch with_values(ServerLaunch server, const std::map<std::string, std::string>& values);

}  // namespace paretoken::experiments
