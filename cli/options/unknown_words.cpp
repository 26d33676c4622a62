#include "cli/options/unknown_words.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "cli/words/meant.h"
#include "cli/words/reading.h"
#include "core/error.h"
#include "core/nearest.h"

namespace paretoken::cli {
namespace {

bool looks_like_option(std::string_view word) {
    const std::size_t dashes = word.starts_with("--") ? 2 : word.starts_with('-') ? 1 : 0;
    return dashes > 0 && word.size() > dashes && std::isalpha(static_cast<unsigned char>(word[dashes])) != 0;
}

/// Returns the name of an option: "--out" from "--out=DIR", "-H" from "-Hname: value".
std::string name_of(const std::string& word) {
    return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

std::vector<std::string> commands_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return names;
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
    const auto found =
        app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

std::vector<std::string> options_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

std::string suggestion(const std::string& name) {
    return name.empty() ? "" : fmt::format("; did you mean {}?", name);
}

/// Returns whether a command takes words that are no options.
bool takes_words(const CLI::App& command) {
    return !command.get_options([](const CLI::Option* option) { return option->get_positional(); }).empty();
}

}  // namespace

void refuse_unknown_words(const CLI::App& app, const std::vector<std::string>& arguments) {
    const CLI::App* command = &app;
    std::string path = "paretoken";
    std::vector<std::pair<std::string, std::string>> unknown;  // names, and the nearest known ones
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "--" || command->get_prefix_command()) break;
        if (!looks_like_option(word)) {
            const CLI::App* below = command_named(*command, word);
            if (below != nullptr) {
                command = below;
                path += " " + word;
            } else if (command == &app && !word.starts_with('-')) {
                throw UsageError(fmt::format("there is no command '{}'{}; see --help", word,
                                             suggestion(nearest(word, commands_of(app)))));
            } else if (word.starts_with("sim:") && !takes_words(*command) &&
                       command->get_option_no_throw("--profile") != nullptr) {
                throw UsageError(fmt::format("{0} takes the profile as an option: {0} --profile {1}", path,
                                             word.substr(4)));
            } else if (path.starts_with("paretoken cost ") && !takes_words(*command)) {
                throw UsageError(fmt::format(
                    "{0} computes with the numbers that its options give, and reads no directory: "
                    "'{1}'; `paretoken report {1} --price 2.50` and `paretoken compare` know what "
                    "tokens cost with a run",
                    path, word));
            }
            continue;
        }
        const std::string name = name_of(word);
        const CLI::Option* option = command->get_option_no_throw(name);
        if (option == nullptr) {
            const bool has_place = name == "--out" && command->get_option_no_throw("out") != nullptr;
            unknown.emplace_back(name, has_place ? path + " FILE OUT" : meant_by(name, options_of(*command)));
            const bool has_value = i + 1 < arguments.size() && !looks_like_option(arguments[i + 1]);
            if (has_value && word == name) ++i;
            continue;
        }
        if (option->get_items_expected_min() == 0 || word != name || ++i == arguments.size()) continue;
        const std::string& value = arguments[i];
        if (value.starts_with("--") && command->get_option_no_throw(value) != nullptr)
            throw UsageError(missing_value(name, value));
    }
    if (unknown.empty()) return;
    if (unknown.size() == 1)
        throw UsageError(fmt::format("{} has no option {}{}; see {} --help", path, unknown.front().first,
                                     suggestion(unknown.front().second), path));
    std::string all;
    for (const auto& [name, meant] : unknown)
        all += fmt::format("{}{}{}", all.empty() ? "" : ", ", name,
                           meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant));
    throw UsageError(fmt::format("{} has no options {}; see {} --help", path, all, path));
}

void refuse_empty_values(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
        if (option->get_items_expected_max() > 0)
            option->check(CLI::Validator(
                [](const std::string& value) { return value.empty() ? "its value is empty" : ""; }, ""));
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
        refuse_empty_values(*command);
}

void let_the_last_value_win(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
        if (option->get_items_expected_max() <= 1 &&
            option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw)
            option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
        let_the_last_value_win(*command);
}

}  // namespace paretoken::cli
