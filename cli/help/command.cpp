// paretoken help: explains a topic, and prints manual pages and completions. Also answers --help and
// --help-all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/help/text.h"
#include "cli/help/topics.h"
#include "core/error.h"

namespace paretoken::cli {
namespace {

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
    const auto found =
        app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

void help(const CLI::App& app, const std::vector<std::string>& arguments) {
    std::vector<std::string> words;
    std::istringstream text(fmt::format("{}", fmt::join(arguments, " ")));
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) return print("{}", help_text(app, "paretoken", false, terminal_width()));
    const std::string& first = words.front();
    if (first == "completion")
        return print("{}", completion_script(app, words.size() > 1 ? words[1] : "bash"));
    if (first == "man") {
        const CLI::App* const command = words.size() > 1 ? command_named(app, words[1]) : &app;
        if (command == nullptr)
            throw UsageError(fmt::format("there is no command '{}'; see --help", words[1]));
        return print("{}", manual_page(*command, words.size() > 1 ? "paretoken " + words[1] : "paretoken"));
    }
    if (const auto topic = topic_text(first, terminal_width()); topic && words.size() == 1)
        return print("{}", *topic);
    if (const auto check = check_text(first, terminal_width()); check && words.size() == 1)
        return print("{}", *check);
    if (const auto dataset = dataset_text(first, terminal_width()); dataset && words.size() == 1)
        return print("{}\n{}", *dataset, mentions_of(app, words, terminal_width()));
    if (const CLI::App* const command = command_named(app, first); command != nullptr && words.size() == 1)
        return print("{}", help_text(*command, "paretoken " + first, false, terminal_width()));
    if (const std::string found = mentions_of(app, words, terminal_width()); !found.empty())
        return print("{}", found);
    std::string known;
    for (const Topic& topic : topics()) known += fmt::format("{}{}", known.empty() ? "" : ", ", topic.name);
    throw UsageError(fmt::format("help: nothing has {} '{}'; topics are {}, and the names of commands",
                                 words.size() > 1 ? "all of the words" : "the word", fmt::join(words, " "),
                                 known));
}

}  // namespace

void add_help(CLI::App& app) {
    const auto words = std::make_shared<std::vector<std::string>>();
    CLI::App* sub =
        app.add_subcommand("help", "Explain a topic or a command; print manual pages and completions");
    sub->add_option(
        "topic", *words,
        "metrics, figures, validity, exit-codes, loads, datasets, limits, alerts, gpus, the name of a "
        "command, of a dataset (mooncake) or of a check (instrument), or words that are looked up in all "
        "examples, options and commands; `man "
        "[COMMAND]` prints a manual page, and "
        "`completion bash|zsh|fish` a script for the shell");
    sub->callback([&app, words] { help(app, *words); });
}

bool answer_help(CLI::App& app, const std::vector<std::string>& arguments) {
    const CLI::App* command = &app;
    std::string path = "paretoken";
    for (const std::string& word : arguments) {
        if (word == "--") return false;
        if (word == "-h" || word == "--help" || word == "--help-all") {
            print("{}", help_text(*command, path, word == "--help-all", terminal_width()));
            return true;
        }
        if (const CLI::App* const below = command_named(*command, word)) {
            command = below;
            path += " " + word;
        }
    }
    return false;
}

}  // namespace paretoken::cli
