#include "cli/words/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace paretoken::cli {
namespace {

using Manifest = nlohmann::json;
using Settings = std::map<std::string, std::string>;

std::string scalar_of(const Manifest& value) {
    return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

/// Adds what "env" (a list of names and values) or "environment" (a table, or a list of NAME=VALUE) sets.
void add_variables(const Manifest& node, Settings& variables) {
    for (const char* const key : {"env", "environment"}) {
        const auto list = node.find(key);
        if (list == node.end()) continue;
        for (const auto& [name, value] : list->items()) {
            const std::string text = scalar_of(value);
            if (list->is_object())
                variables[name] = text;
            else if (value.is_object() && value.contains("name") && value.contains("value"))
                variables[scalar_of(value["name"])] = scalar_of(value["value"]);
            else if (const auto equals = text.find('='); value.is_string() && equals != std::string::npos)
                variables[text.substr(0, equals)] = text.substr(equals + 1);
        }
    }
}

/// Replaces Kubernetes' $(NAME) by ${NAME}.
std::string with_variables(std::string text, const Settings& variables) {
    for (const auto& [name, value] : variables)
        for (std::size_t at = 0; (at = text.find("$(" + name + ")", at)) != std::string::npos; ++at) {
            text[at + 1] = '{';
            text[at + 2 + name.size()] = '}';
        }
    return text;
}

std::string in_quotes(const std::string& text, char quote) {
    std::string out(1, quote);
    for (const char c : text) {
        if (quote == '"' && (c == '"' || c == '\\')) out += '\\';
        out += quote == '\'' && c == '\'' ? "'\\''" : std::string(1, c);
    }
    return out + quote;
}

std::string_view program_of_image(std::string_view image) {
    image.remove_prefix(image.rfind('/') + 1);
    return image.substr(0, image.find(':'));
}

/// The words of a list, or a text that is a line by itself.
struct ContainerLine {
    std::vector<std::string> words = {};
    std::string text = {};
};

void append_words(ContainerLine& line, const Manifest& node, const char* key) {
    const auto value = node.find(key);
    if (value == node.end()) return;
    if (value->is_string()) line.text += (line.text.empty() ? "" : " ") + value->get<std::string>();
    if (value->is_array())
        for (const Manifest& word : *value) line.words.push_back(scalar_of(word));
}

/// The command of a container. A list that a shell reads ("sh -c TEXT") is its text.
std::string container_line(const Manifest& node, const Settings& variables) {
    const bool is_compose = !node.contains("args");  // whose command follows the program of the image
    ContainerLine line;
    append_words(line, node, is_compose ? "entrypoint" : "command");
    const bool names_program = !line.words.empty() || !line.text.empty();
    append_words(line, node, is_compose ? "command" : "args");
    auto& words = line.words;
    const auto script = std::ranges::find_if(words, [](const std::string& word) {
        return word.size() > 1 && word.front() == '-' && word.back() == 'c' && word[1] != '-';
    });
    if (script != words.end() && script - words.begin() <= 2 && script + 1 != words.end() &&
        program_of_image(words.front()).ends_with("sh"))
        return with_variables(*(script + 1), variables);
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + in_quotes(with_variables(word, variables), '"');
    std::string rest = with_variables(line.text, variables);
    std::ranges::replace(rest, '\n', ' ');
    text += (text.empty() || rest.empty() ? "" : " ") + rest;
    const std::string image = node.contains("image") ? scalar_of(node["image"]) : "";
    const std::string_view first =
        words.empty() ? std::string_view(rest).substr(0, rest.find(' ')) : words.front();
    constexpr std::array kPrograms = {"python", "python3", "vllm", "guidellm", "aiperf", "genai-perf"};
    const bool begins_with_program =
        first == program_of_image(image) ||
        std::ranges::find(kPrograms, program_of_image(first)) != kPrograms.end() ||
        first.find('/') != std::string_view::npos || !node.contains("image");
    return names_program || begins_with_program ? text : fmt::format("{} {}", image, text);
}

void add_containers(const Manifest& node, Settings variables, std::string& script) {
    if (node.is_object()) {
        add_variables(node, variables);
        std::string line;
        const bool has_words =
            node.contains("args") || node.contains("entrypoint") || node.contains("command");
        const bool is_container = has_words && (node.contains("image") || node.contains("args"));
        if (is_container) line = container_line(node, variables);
        for (const char* const key : {"run", "script"}) {
            const auto value = node.find(key);
            if (value == node.end()) continue;
            if (value->is_string()) line += value->get<std::string>() + "\n";
            if (value->is_array())
                for (const Manifest& one : *value) line += scalar_of(one) + "\n";
        }
        if (!line.empty()) {
            for (const auto& [name, value] : variables)
                script += fmt::format("export {}={}\n", name, in_quotes(value, '\''));
            script += line + "\n";
        }
    }
    if (node.is_structured())
        for (const Manifest& inner : node) add_containers(inner, variables, script);
}

}  // namespace

bool is_manifest(std::string_view text) {
    constexpr std::array kCommands = {"args:", "command:", "entrypoint:", "run:", "script:"};
    constexpr std::array kAround = {"image:", "apiVersion:", "services:", "steps:", "jobs:", "containers:"};
    bool is_first = true;
    bool has_command = false;
    bool has_around = false;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line.remove_prefix(std::min(line.find_first_not_of(" \t-"), line.size()));
        if (line.empty() || line.front() == '#') continue;
        const auto begins = [&](const char* word) { return line.starts_with(word); };
        const std::size_t end = line.find_first_of(": \t=\"'");
        if (std::exchange(is_first, false) && (end == std::string_view::npos || line[end] != ':'))
            return false;
        has_command = has_command || std::ranges::any_of(kCommands, begins);
        has_around = has_around || std::ranges::any_of(kAround, begins);
    }
    return has_command && has_around;
}

std::string script_of_manifest(std::string_view json) {
    std::string script;
    add_containers(Manifest::parse(json, nullptr, false), {}, script);
    return script;
}

}  // namespace paretoken::cli
