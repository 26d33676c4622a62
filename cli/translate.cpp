// paretoken translate: prints our command line for one of another load generator.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/words/foreign_options.h"
#include "cli/words/groups.h"
#include "cli/words/pasted_line.h"
#include "cli/words/translation.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_fields.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/readers/yaml.h"

namespace paretoken::cli {
namespace {

/// Replaces the configuration file of inference-perf by its fields, as options that stand before the others.
void read_configuration(std::vector<std::string>& command) {
    const auto program = std::find_if(command.begin(), command.end(), [](const std::string& word) {
        return std::filesystem::path(word).filename() == "inference-perf";
    });
    const auto option = std::find_if(program, command.end(), [](const std::string& word) {
        return word == "-c" || word.starts_with("--config_file") || word.starts_with("--config-file");
    });
    if (option == command.end()) return;
    const auto equals = option->find('=');
    if (equals == std::string::npos && option + 1 == command.end()) return;
    const std::string file = equals == std::string::npos ? *(option + 1) : option->substr(equals + 1);
    std::vector<std::string> options;
    const Group fields =
        group_of(reports::foreign_yaml(reports::read_file(file), file).dump()).value_or(Group{});
    for (const auto& [key, value] : fields) options.insert(options.end(), {"--" + key, value});
    const auto at = command.erase(option, option + (equals == std::string::npos ? 2 : 1));
    command.insert(at, options.begin(), options.end());
}

void translate(const std::vector<std::string>& words) {
    auto commands =
        words.size() == 1 ? commands_in(words.front()) : std::vector<std::vector<std::string>>{words};
    for (std::vector<std::string>& command : commands) read_configuration(command);
    Translation translation = translation_of(commands);
    std::vector<std::string>& options = translation.words;
    if (const auto key = std::find(options.begin(), options.end(), "--api-key"); key != options.end()) {
        options.erase(key, key + 2);
        translation.notes.emplace_back(
            "the key belongs into the variable OPENAI_API_KEY, where no list of processes shows it");
    }
    const std::string complaint = complaint_of(translation, "paretoken");
    print("{}\n", shown_line(translation));
    for (const std::string& note : translation.notes) print("# {}\n", note);
    if (const std::string text = unneeded_text(translation); !text.empty()) print("# {}\n", text);
    std::fflush(stdout);
    if (!complaint.empty()) throw UsageError(complaint);
}

/// Prints every option of the other tools as rows of a table.
void print_options() {
    const auto row = [](std::string_view names, std::string_view tools, std::string_view here) {
        std::string text(tools);
        for (std::size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 2)
            text.insert(at + 1, " ");
        std::string quoted = fmt::format("`{}`", names);
        for (std::size_t at = 0; (at = quoted.find(' ', at)) != std::string::npos; at += 4)
            quoted.replace(at, 1, "`, `");
        print("| {} | {} | {} |\n", quoted, text, here);
    };
    for (const PlanField& field : plan_fields())
        for (const Synonym& synonym : synonyms_of(field)) {
            const bool negated = synonym.name.starts_with('!');
            row(synonym.name.substr(negated ? 1 : 0), synonym.tools,
                field.name == "url" ? "the URL"
                                    : fmt::format("`{}{}`", negated ? "--no-" : "",
                                                  option_of(field).substr(negated ? 2 : 0)));
        }
    for (const ForeignOption& option : foreign_options())
        row(option.names, option.tools, what_becomes_of(option));
}

}  // namespace

void add_translate(CLI::App& app) {
    const auto words = std::make_shared<std::vector<std::string>>();
    CLI::App* sub = app.add_subcommand("translate",
                                       "Print our command line for one of vllm bench serve, "
                                       "sglang.bench_serving, guidellm, aiperf and other "
                                       "load generators");
    sub->add_option("line", *words,
                    "The command line of the other tool, in quotation marks or not: 'vllm bench serve "
                    "--model M …'");
    const auto list = std::make_shared<bool>(false);
    sub->add_flag("--list", *list, "Print the options of these tools, and what takes their place here");
    sub->allow_extras();
    sub->prefix_command();
    sub->callback([words, list, sub] {
        if (*list) return print_options();
        std::vector<std::string> line = *words;
        for (const std::string& more : sub->remaining()) line.push_back(more);
        if (line.empty()) throw UsageError("translate: give the command line of another tool, or --list");
        translate(line);
    });
}

}  // namespace paretoken::cli
