#include "core/text/command_secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace paretoken {
namespace {

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

/// Returns the words of a command. Quotes only separate words, so that the words of `sh -c '…'` are among
/// them.
std::vector<std::string_view> words_in(std::string_view command) {
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

bool may_be_secret(std::string_view value) {
    constexpr std::size_t kShortestNumber = 12;
    const bool is_number = value.find_first_not_of("0123456789.") == std::string_view::npos;
    return !value.starts_with('-') && !value.starts_with('$') && !value.starts_with('{') &&
           (!is_number || value.size() >= kShortestNumber);
}

/// Returns the position after the JSON string whose opening quote is at `begin`, or the size of the text.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
    std::size_t at = begin + 1;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
}

}  // namespace

bool is_secret_option(std::string_view name) {
    constexpr std::array<std::string_view, 10> kWords{"key",    "keys",    "apikey",     "token",
                                                      "secret", "passwd",  "credential", "credentials",
                                                      "auth",   "password"};
    const std::size_t separator = name.find_last_of("-_.");
    const std::string last =
        in_lower_case(separator == std::string_view::npos ? name : name.substr(separator + 1));
    return std::find(kWords.begin(), kWords.end(), last) != kWords.end();
}

void add_command(Secrets& secrets, std::string_view command) {
    const std::vector<std::string_view> words = words_in(command);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word.find("://") != std::string_view::npos) secrets.add_url(word);
        const std::size_t equals = word.find('=');
        const std::string_view name = word.substr(0, equals);
        std::string_view value;
        if (equals != std::string_view::npos && is_secret_option(name) && equals + 1 < word.size())
            value = word.substr(equals + 1);
        else if (i + 1 < words.size() &&
                 ((word.starts_with('-') && is_secret_option(name)) || in_lower_case(word) == "bearer"))
            value = words[i + 1];
        if (!value.empty() && may_be_secret(value)) secrets.add(value);
    }
}

void add_json(Secrets& secrets, std::string_view object) {
    constexpr std::string_view kBlank = " \t\r\n";
    for (std::size_t at = 0; (at = object.find('"', at)) != std::string_view::npos;) {
        const std::size_t end = end_of_string(object, at);
        const std::string_view name = object.substr(at + 1, end - at - std::min<std::size_t>(2, end - at));
        at = end;
        const std::size_t colon = object.find_first_not_of(kBlank, end);
        if (colon == std::string_view::npos || object[colon] != ':') continue;
        const std::size_t value = object.find_first_not_of(kBlank, colon + 1);
        if (value == std::string_view::npos || object[value] != '"') continue;
        at = end_of_string(object, value);
        if (is_secret_option(name) && at > value + 2) secrets.add(object.substr(value + 1, at - value - 2));
    }
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
