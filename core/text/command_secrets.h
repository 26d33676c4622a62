#pragma once
// Recognises secrets that the user wrote into a command or a JSON object by the names beside them.
#include <string>
#include <string_view>
#include <vector>

#include "core/text/secrets.h"

namespace paretoken {

/// Returns the words of a command; those of quoted texts (`sh -c '…'`) are among them.
std::vector<std::string_view> command_words(std::string_view command);

/// Returns whether an option or a JSON key of this name holds a secret: "--api-key", "hf_token",
/// "accessToken". It goes by the last word of the name, so that "--max-tokens" and "--tokenizer" hold none.
bool is_secret_option(std::string_view name);

/// Adds the secrets in a command line: values of secret options, variables and headers, what follows
/// "Bearer", and those of URLs. Short numbers and references to variables ("$KEY") are no secrets.
void add_command(Secrets& secrets, std::string_view command);

/// Adds the value of a setting with a secret name; in any value, what follows "Bearer", and secrets of a URL.
void add_setting(Secrets& secrets, std::string_view name, std::string_view value);

/// Adds the same of an entry of an environment, "NAME=VALUE".
void add_variable(Secrets& secrets, std::string_view entry);

/// Adds texts and long numbers below secret keys of a JSON object, and what follows "Bearer" in it.
void add_json(Secrets& secrets, std::string_view object);

/// Returns the entry, the command, or the JSON object with these secrets hidden.
std::string variable_to_show(std::string_view entry);
std::string command_to_show(std::string_view command);
std::string json_to_show(std::string_view object);

}  // namespace paretoken
