#include "cli/unknown_words.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>

#include "core/error.h"

namespace paretoken::cli {
namespace {

bool looks_like_option(std::string_view word) {
    const std::size_t dashes = word.starts_with("--") ? 2 : word.starts_with('-') ? 1 : 0;
    return dashes > 0 && word.size() > dashes && std::isalpha(static_cast<unsigned char>(word[dashes])) != 0;
}

/// "--out" of "--out=DIR", "-H" of "-Hname: value".
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

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                                   cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a.size()][b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
    const std::size_t most = std::max<std::size_t>(1, word.size() / 4);
    std::string best;
    std::size_t least = most + 1;
    for (const std::string& name : names) {
        const std::size_t distance = edit_distance(word, name);
        if (distance >= least) continue;
        best = name;
        least = distance;
    }
    return best;
}

void refuse_unknown_words(const CLI::App& app, const std::vector<std::string>& arguments) {
    const CLI::App* command = &app;
    std::string path = "paretoken";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "--") return;
        if (!looks_like_option(word)) {
            const CLI::App* below = command_named(*command, word);
            if (below != nullptr) {
                command = below;
                path += " " + word;
            } else if (command == &app && !word.starts_with('-')) {
                throw UsageError(fmt::format("there is no command '{}'{}; see --help", word,
                                             suggestion(nearest(word, commands_of(app)))));
            }
            continue;
        }
        const std::string name = name_of(word);
        const CLI::Option* option = command->get_option_no_throw(name);
        if (option == nullptr)
            throw UsageError(fmt::format("{} has no option {}{}; see {} --help", path, name,
                                         suggestion(nearest(name, options_of(*command))), path));
        if (option->get_items_expected_min() > 0 && word == name) ++i;  // its value, whatever it looks like
    }
}

void refuse_empty_values(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
        if (option->get_items_expected_max() > 0)
            option->check(CLI::Validator(
                [](const std::string& value) { return value.empty() ? "its value is empty" : ""; }, ""));
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
        refuse_empty_values(*command);
}

}  // namespace paretoken::cli
