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

/// Replaces "${{ matrix.conc }}" of a workflow by "${matrix_conc}", and "${{ env.N }}" by "${N}".
std::string without_expressions(std::string text) {
    constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    constexpr std::string_view kEnvironment = "env.";
    for (std::size_t at = 0; (at = text.find("${{", at)) != std::string::npos; ++at) {
        const std::size_t end = text.find("}}", at);
        if (end == std::string::npos) break;
        std::string name = text.substr(at + 3, end - at - 3);
        std::erase(name, ' ');
        if (name.empty() || name.find_first_not_of(kNames) != std::string::npos) continue;
        if (name.starts_with(kEnvironment)) name.erase(0, kEnvironment.size());
        std::ranges::replace_if(
            name, [](char c) { return c == '.' || c == '-'; }, '_');
        text.replace(at, end + 2 - at, "${" + name + "}");
    }
    return text;
}

/// Replaces "$$", with which a file of Docker Compose writes a "$" for the container.
std::string without_double_signs(std::string text) {
    for (std::size_t at = 0; (at = text.find("$$", at)) != std::string::npos; ++at) text.erase(at, 1);
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

/// Whether a container has no words, and its variables are the options of guidellm.
bool is_set_by_variables(const Manifest& node, const Settings& variables) {
    return node.contains("image") && program_of_image(scalar_of(node["image"])) == "guidellm" &&
           std::ranges::any_of(variables, [](const auto& one) { return one.first.starts_with("GUIDELLM_"); });
}

/// The lists of a workflow's matrix that its job uses, as the beginnings of loops.
std::vector<std::string> loops_of(const Manifest& node) {
    std::vector<std::string> loops;
    const auto strategy = node.find("strategy");
    if (strategy == node.end() || !strategy->is_object() || !strategy->contains("matrix")) return loops;
    const std::string job = node.dump();
    for (const auto& [key, values] : (*strategy)["matrix"].items()) {
        const bool is_list =
            values.is_array() && !values.empty() &&
            std::ranges::none_of(values, [](const Manifest& one) { return one.is_structured(); });
        if (!is_list || job.find("matrix." + key) == std::string::npos) continue;
        std::string words;
        for (const Manifest& value : values) words += " " + in_quotes(scalar_of(value), '\'');
        std::string name = "matrix_" + key;
        std::ranges::replace(name, '-', '_');
        loops.push_back(fmt::format("for {} in{}; do\n", name, words));
    }
    return loops;
}

void add_containers(const Manifest& node, Settings variables, bool is_compose, std::string& script) {
    std::vector<std::string> loops;
    if (node.is_object()) {
        add_variables(node, variables);
        loops = loops_of(node);
        for (const std::string& loop : loops) script += loop;
        std::string line;
        const bool has_words =
            node.contains("args") || node.contains("entrypoint") || node.contains("command");
        const bool is_container = has_words && (node.contains("image") || node.contains("args"));
        if (is_container)
            line = container_line(node, variables);
        else if (!has_words && is_set_by_variables(node, variables))
            line = scalar_of(node["image"]);
        if (is_compose) line = without_double_signs(line);
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
        for (const Manifest& inner : node) add_containers(inner, variables, is_compose, script);
    for (std::size_t i = 0; i < loops.size(); ++i) script += "done\n";
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
        has_command = has_command || std::ranges::any_of(kCommands, begins) ||
                      line.find("GUIDELLM_") != std::string_view::npos;
        has_around = has_around || std::ranges::any_of(kAround, begins);
    }
    return has_command && has_around;
}

std::string script_of_manifest(std::string_view json) {
    std::string script;
    const Manifest manifest = Manifest::parse(json, nullptr, false);
    add_containers(manifest, {}, manifest.is_object() && manifest.contains("services"), script);
    return without_expressions(std::move(script));
}

}  // namespace paretoken::cli
