#include "core/text/command_secrets.h"

#include <algorithm>
#include <array>

#include "core/text/letter_case.h"

namespace paretoken {
namespace {

/// Returns whether the word is the scheme of an Authorization header, after which the secret follows.
bool is_scheme(std::string_view word) {
    const std::string lower = lower_case(word);
    return lower == "bearer" || lower == "basic" || lower == "token";
}

bool may_be_secret(std::string_view value) {
    constexpr std::size_t kShortestNumber = 12;
    const bool is_number = value.find_first_not_of("0123456789.") == std::string_view::npos;
    return !value.starts_with('-') && !value.starts_with('$') && !value.starts_with('{') &&
           !is_scheme(value) && (!is_number || value.size() >= kShortestNumber);
}

/// Returns the position at which the last word of a name begins: after a separator, or at a capital letter
/// ("accessToken", "APIKey").
std::size_t last_word_of(std::string_view name) {
    const auto is_upper = [&](std::size_t i) { return name[i] >= 'A' && name[i] <= 'Z'; };
    const auto is_lower = [&](std::size_t i) { return name[i] >= 'a' && name[i] <= 'z'; };
    for (std::size_t i = name.size(); i-- > 1;) {
        if (std::string_view("-_.").find(name[i - 1]) != std::string_view::npos) return i;
        if (is_upper(i) && (!is_upper(i - 1) || (i + 1 < name.size() && is_lower(i + 1)))) return i;
    }
    return 0;
}

/// Adds what follows "Bearer" in a text.
void add_bearers(Secrets& secrets, std::string_view text) {
    const std::vector<std::string_view> words = command_words(text);
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (lower_case(words[i]) == "bearer" && may_be_secret(words[i + 1])) secrets.add(words[i + 1]);
}

/// Returns the position after the JSON string whose opening quote is at `begin`, or the size of the text.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
    std::size_t at = begin + 1;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
}

}  // namespace

std::vector<std::string_view> command_words(std::string_view command) {
    constexpr std::string_view kBetween = " \t\r\n'\"\\;";
    std::vector<std::string_view> words;
    for (std::size_t begin = 0;
         (begin = command.find_first_not_of(kBetween, begin)) != std::string_view::npos;) {
        const std::size_t end = std::min(command.find_first_of(kBetween, begin), command.size());
        words.push_back(command.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

bool is_secret_option(std::string_view name) {
    constexpr std::array<std::string_view, 14> kWords{
        "key",        "keys",        "apikey", "token",    "secret",        "secrets", "passwd",
        "credential", "credentials", "auth",   "password", "authorization", "bearer",  "passphrase"};
    const std::string last = lower_case(name.substr(last_word_of(name)));
    return std::ranges::find(kWords, last) != kWords.end();
}

void add_setting(Secrets& secrets, std::string_view name, std::string_view value) {
    add_bearers(secrets, value);
    if (value.find("://") != std::string_view::npos) secrets.add_url(value);
    if (!is_secret_option(name) || !may_be_secret(value)) return;
    secrets.add(value);
    const auto space = value.find(' ');
    if (space != std::string_view::npos && is_scheme(value.substr(0, space)))
        secrets.add(value.substr(space + 1));
}

void add_variable(Secrets& secrets, std::string_view entry) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view value = entry.substr(std::min(equals + 1, entry.size()));
    add_setting(secrets, entry.substr(0, equals), value);
    if (names_a_secret(entry.substr(0, equals))) secrets.add(value);
}

namespace {

/// Returns what follows the first name of a secret in a word such as "--env=HF_TOKEN=abc" or
/// "--header=X-Api-Key:abc"; empty if nothing does.
std::string_view value_within(std::string_view word) {
    while (true) {
        const std::size_t end = word.find_first_of("=:");
        if (end == std::string_view::npos || end + 1 == word.size()) return {};
        const bool is_secret = is_secret_option(word.substr(0, end));
        word.remove_prefix(end + 1);
        if (is_secret) return word;
    }
}

}  // namespace

void add_command(Secrets& secrets, std::string_view command) {
    const std::vector<std::string_view> words = command_words(command);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word.find("://") != std::string_view::npos) secrets.add_url(word);
        const std::string_view name = word.substr(0, word.find('='));
        std::string_view value = value_within(word);
        const bool is_header = word.ends_with(':') && is_secret_option(word.substr(0, word.size() - 1));
        if (value.empty() && i + 1 < words.size() &&
            (is_header || (word.starts_with('-') && is_secret_option(name)) || lower_case(word) == "bearer"))
            value = words[i + 1];
        if (is_header && i + 2 < words.size() && is_scheme(value)) value = words[i + 2];
        if (!value.empty() && may_be_secret(value)) secrets.add(value);
    }
}

void add_json(Secrets& secrets, std::string_view object) {
    constexpr std::string_view kBlank = " \t\r\n";
    constexpr std::string_view kEndOfNumber = " \t\r\n,:{}[]\"";
    std::vector<std::string_view> holders;  // the secret keys of the open objects and lists; "" for others
    std::string_view key;                   // the secret key whose value is next; "" for other keys
    const auto held_by = [&] { return holders.empty() ? std::string_view() : holders.back(); };
    for (std::size_t at = 0; (at = object.find_first_not_of(kBlank, at)) != std::string_view::npos;) {
        const char c = object[at];
        if (c == '"') {
            const std::size_t end = end_of_string(object, at);
            const std::string_view text =
                object.substr(at + 1, end - at - std::min<std::size_t>(2, end - at));
            at = end;
            const std::size_t next = object.find_first_not_of(kBlank, end);
            if (next != std::string_view::npos && object[next] == ':') {
                key = is_secret_option(text) ? text : held_by();
                at = next + 1;
            } else if (!text.empty()) {
                if (!key.empty()) secrets.add(text);
                add_setting(secrets, key, text);
            }
        } else if (c == '{' || c == '[') {
            holders.push_back(key);
            ++at;
        } else if (c == '}' || c == ']') {
            if (!holders.empty()) holders.pop_back();
            key = held_by();
            ++at;
        } else if (c == ',' || c == ':') {
            if (c == ',') key = held_by();
            ++at;
        } else {  // a number, true, false or null
            const std::size_t end = std::min(object.find_first_of(kEndOfNumber, at), object.size());
            const std::string_view value = object.substr(at, end - at);
            if (value.find_first_not_of("0123456789.") == std::string_view::npos)
                add_setting(secrets, key, value);
            at = end;
        }
    }
}

std::string variable_to_show(std::string_view entry) {
    if (names_a_secret(entry.substr(0, entry.find('='))))
        return std::string(entry.substr(0, entry.find('='))) + '=' + std::string(Secrets::kHidden);
    Secrets secrets;
    add_variable(secrets, entry);
    return secrets.redacted(entry);
}

std::string command_to_show(std::string_view command) {
    Secrets secrets;
    add_command(secrets, command);
    return secrets.redacted(command);
}

std::string json_to_show(std::string_view object) {
    Secrets secrets;
    add_json(secrets, object);
    return secrets.redacted(object);
}

}  // namespace paretoken
