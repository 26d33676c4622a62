// paretoken translate: prints our command line for one of another load generator.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "cli/words/composing.h"
#include "cli/words/configuration.h"
#include "cli/words/foreign_options.h"
#include "cli/words/groups.h"
#include "cli/words/manifest.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "cli/words/translation.h"
#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/plan_fields.h"
#include "core/text/command_secrets.h"
#include "experiments/server/resolve.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/readers/yaml.h"

namespace paretoken::cli {
namespace {

/// A tool whose options may stand in a configuration file.
struct ConfiguredTool {
    std::string_view program;
    std::vector<std::string_view> options;  ///< names of the option that names the file
};

const std::vector<ConfiguredTool>& configured_tools() {
    static const std::vector<ConfiguredTool> tools = {
        {"inference-perf", {"-c", "--config_file", "--config-file"}},
        {"guidellm", {"-c", "--config", "--scenario"}},
        {"aiperf", {"-f", "-c", "--config", "--user-config-file"}},
        {"vllm", {"--config"}},
    };
    return tools;
}

/// Replaces "${NAME}" and "${NAME:default}" by the value of the variable or by the default, but leaves
/// variables whose names say that they hold a secret, because the result is printed.
std::string with_environment(std::string text) {
    for (std::size_t at = 0; (at = text.find("${", at)) != std::string::npos;) {
        const std::size_t end = text.find('}', at);
        if (end == std::string::npos) break;
        const std::string inner = text.substr(at + 2, end - at - 2);
        const std::size_t colon = inner.find(':');
        if (is_secret_option(inner.substr(0, colon))) {
            at = end + 1;
            continue;
        }
        std::string value = variable_of_environment(inner.substr(0, colon)).value_or("");
        if (value.empty() && colon != std::string::npos) value = inner.substr(colon + 1);
        text.replace(at, end + 1 - at, value);
        at += value.size();
    }
    return text;
}

/// Returns the options that a configuration file, or a built-in one, of a tool stands for.
Configured configured_by(std::string_view program, const std::string& file) {
    if (program == "guidellm")
        if (auto scenario = guidellm_scenario(file)) return *std::move(scenario);
    const std::string json = reports::foreign_yaml(with_environment(reports::read_file(file)), file).dump();
    if (program == "guidellm") return guidellm_configuration(json);
    if (program == "vllm") return vllm_configuration(json);
    const Group fields = group_of(json).value_or(Group{});
    if (program == "aiperf") return aiperf_configuration(fields);
    Configured out;
    for (const auto& [key, value] : fields) out.words.insert(out.words.end(), {"--" + key, value});
    return out;
}

/// Replaces the configuration file of a tool by its options, which stand before those of the line. An option
/// of the line takes the place of one of the same name. Returns notes.
std::vector<std::string> read_configuration(std::vector<std::string>& command) {
    for (const ConfiguredTool& tool : configured_tools()) {
        const auto program = std::ranges::find_if(command, [&](const std::string& word) {
            return std::filesystem::path(word).filename() == tool.program;
        });
        const auto option = std::find_if(program, command.end(), [&](const std::string& word) {
            const std::string_view name = std::string_view(word).substr(0, word.find('='));
            return std::ranges::find(tool.options, name) != tool.options.end();
        });
        if (option == command.end()) continue;
        const auto equals = option->find('=');
        if (equals == std::string::npos && option + 1 == command.end()) continue;
        const std::string file = equals == std::string::npos ? *(option + 1) : option->substr(equals + 1);
        const auto after = command.erase(option, option + (equals == std::string::npos ? 2 : 1));
        const auto first =
            std::find_if(program, after, [](const std::string& word) { return word.starts_with('-'); });
        const Configured configured = configured_by(tool.program, file);
        std::vector<std::string> words;
        bool replaced = false;
        for (const std::string& word : configured.words) {
            if (word.starts_with("--"))
                replaced = std::ranges::any_of(command, [&](const std::string& given) {
                    return std::string_view(given).substr(0, given.find('=')) == word;
                });
            if (!replaced) words.push_back(word);
        }
        command.insert(first, words.begin(), words.end());
        if (configured.left_out.empty()) return {};
        return {fmt::format("{}: without a counterpart: {}", file, fmt::join(configured.left_out, ", "))};
    }
    return {};
}

/// Puts the contents of the files of `vllm bench sweep` behind their names.
void read_parameters(std::vector<std::string>& command) {
    if (std::ranges::find(command, "sweep") == command.end()) return;
    for (const char* const option : {"--serve-params", "--bench-params"})
        for (std::size_t i = 0; i < command.size(); ++i) {
            if (name_in(command[i]) != option) continue;
            const std::string file = value_after(command, i);
            std::error_code ignored;
            if (std::filesystem::is_regular_file(file, ignored))
                command.insert(command.end(), {option + std::string("-content"), reports::read_file(file)});
            break;
        }
}

/// Replaces the name of a file with the lengths of guidellm's prompts by its fields.
void read_lengths(std::vector<std::string>& command) {
    constexpr std::array kEndings = {".yaml", ".yml", ".config"};
    const bool is_guidellm = std::ranges::any_of(
        command, [](const std::string& word) { return word.find("guidellm") != std::string::npos; });
    for (std::size_t i = 1; is_guidellm && i < command.size(); ++i) {
        std::string& word = command[i];
        const bool is_value = command[i - 1] == "--data";
        if (!is_value && !word.starts_with("--data=")) continue;
        const std::string file = is_value ? word : word.substr(word.find('=') + 1);
        std::error_code ignored;
        if (std::ranges::any_of(kEndings, [&](const char* ending) { return file.ends_with(ending); }) &&
            std::filesystem::is_regular_file(file, ignored))
            word = (is_value ? "" : "--data=") + reports::foreign_yaml(reports::read_file(file), file).dump();
    }
}

/// Returns the commands of a manifest (YAML) as lines of a shell; another text as it is.
std::string without_manifest(const std::string& text) {
    if (!is_manifest(text)) return text;
    std::string script;
    for (std::size_t begin = 0; begin < text.size();) {  // each document
        const std::size_t end = std::min(text.find("\n---", begin), text.size());
        const std::string document = text.substr(begin, end - begin);
        if (document.find(':') != std::string::npos)
            script += script_of_manifest(reports::foreign_yaml(document, "the text, which is YAML").dump());
        begin = std::min(text.find('\n', std::min(end + 1, text.size())), text.size());
    }
    return script;
}

/// Puts a number in place of what the reader or a shell is to fill in: "<port>", "$N", "$((2 * N))".
std::string filled(const std::string& word, const std::string& number) {
    std::string out;
    for (std::size_t at = 0; at < word.size();) {
        const std::string_view rest = std::string_view(word).substr(at);
        std::size_t end = 0;  // behind the place
        if (rest.starts_with("$(("))
            end = rest.find("))") + 2;
        else if (rest.starts_with("$("))
            end = rest.find(')') + 1;
        else if (rest.starts_with("${"))
            end = rest.find('}') + 1;
        else if (rest.starts_with("{{"))
            end = rest.find("}}") + 2;
        else if (rest.starts_with('<') && is_place(rest) && rest.find('>') != std::string_view::npos)
            end = rest.find('>') + 1;
        else if (rest.starts_with('$') && has_shell_variable(rest.substr(0, 2)))
            end = static_cast<std::size_t>(
                std::ranges::find_if_not(rest.substr(1),
                                         [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }) -
                rest.begin());
        const bool is_place = end > 1 && end <= rest.size();
        out += is_place ? number : word.substr(at, 1);
        at += is_place ? end : 1;
    }
    return out;
}

/// Removes an option and its value. Returns whether it was there.
bool remove_option(std::vector<std::string>& words, std::string_view name) {
    const auto at = std::ranges::find(words, name);
    if (at == words.end() || at + 1 == words.end()) return false;
    words.erase(at, at + 2);
    return true;
}

/// Throws an exception if our command would refuse these options before it reads a file or starts anything.
void check(const std::string& command, std::vector<std::string> words) {
    // A sweep reads the file of its prompts while it makes its plan.
    if (command == "sweep" && remove_option(words, "--dataset-path")) remove_option(words, "--dataset");
    LoadPlan asked = command == "sweep" ? plan_of_sweep(std::move(words)) : plan_of_run(std::move(words));
    experiments::require_rate_for_burstiness(asked);
    if (const std::string& extra = asked.sampling.extra_body;
        !extra.empty() && !nlohmann::json::accept(extra))
        throw UsageError(
            fmt::format("--extra-body {}: it is not JSON, in which names stand in double quotes", extra));
    const bool reads_file =
        !asked.text.empty() || !asked.probe.empty() || !asked.model_card.empty() ||
        std::ranges::any_of(asked.classes, [](const auto& of) { return !of.dataset_path.empty(); });
    for (auto& of : asked.classes)  // the format of a file that is not there cannot be recognised
        if (!of.dataset_path.empty() && of.dataset.name.empty()) of.dataset.name = "custom";
    if (reads_file && asked.stop.all_rows) asked.stop.requests = 1;  // its number of rows
    if (!reads_file) asked = experiments::with_dataset(std::move(asked));
    (void)experiments::with_load(std::move(asked));
}

/// Returns why our command would refuse the translated line; empty if it would not. What depends on a value
/// that is to be filled in does not count.
std::string refusal_of(const Translation& translation) {
    const auto& words = translation.words;
    std::error_code ignored;
    if (const auto cells = std::ranges::find(words, "--cells");
        cells != words.end() && !std::filesystem::is_regular_file(*(cells + 1), ignored))
        return {};  // a file that is not here
    std::string refusal;
    for (const char* const number : {"4", "8"}) {
        std::vector<std::string> whole;
        for (const std::string& word : words) whole.push_back(filled(word, number));
        std::string why;
        try {
            check(translation.command, std::move(whole));
        } catch (const std::exception& error) {
            why = error.what();
        }
        if (why.empty() || (!refusal.empty() && why != refusal)) return {};
        refusal = why;
    }
    return refusal;
}

/// Returns the line of the tool whose configuration file a text is, by the fields that each has; empty if it
/// is none.
std::vector<std::string> line_of_configuration(const std::string& text, const std::string& file) {
    const auto has_field = [&](const char* name) {
        return text.starts_with(name) || text.find("\n" + std::string(name)) != std::string::npos;
    };
    if (has_field("load:") && (has_field("api:") || has_field("server:")))
        return {"inference-perf", "--config_file", file};
    if (has_field("benchmark:") || has_field("schemaVersion:"))
        return {"aiperf", "profile", "--config", file};
    return {};
}

/// Returns the commands of a text, or of the file that it names: a script, a manifest or a configuration.
std::vector<std::vector<std::string>> commands_of(const std::string& text) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(text, ignored)) return commands_in(without_manifest(text));
    const std::string content = reports::read_file(text);
    if (is_manifest(content)) return commands_in(without_manifest(content));
    if (auto line = line_of_configuration(content, text); !line.empty()) return {std::move(line)};
    return commands_in(content);
}

void translate(const std::vector<std::string>& words) {
    auto commands =
        words.size() == 1 ? commands_of(words.front()) : std::vector<std::vector<std::string>>{words};
    std::vector<std::string> notes;
    for (std::vector<std::string>& command : commands) {
        for (std::string& note : read_configuration(command)) notes.push_back(std::move(note));
        read_parameters(command);
        read_lengths(command);
    }
    std::vector<std::string> complaints;
    const auto complain = [&](std::string why) {
        if (std::ranges::find(complaints, why) == complaints.end()) complaints.push_back(std::move(why));
    };
    for (Translation& translation : translations_of(commands, complaints)) {
        std::vector<std::string>& options = translation.words;
        if (remove_option(options, "--api-key"))
            translation.notes.emplace_back(
                "the key belongs into the variable OPENAI_API_KEY, where no list of processes shows it");
        std::string complaint = complaint_of(translation, translation.program);
        const std::string refusal = complaint.empty() ? refusal_of(translation) : "";
        if (!refusal.empty()) {
            complain(fmt::format("`{}` would be refused: {}", shown_line(translation), refusal));
            continue;
        }
        print("{}\n", shown_line(translation));
        for (const std::string& note : notes) print("# {}\n", note);
        for (const std::string& note : translation.notes) print("# {}\n", note);
        if (const std::string text = unneeded_text(translation); !text.empty()) print("# {}\n", text);
        if (!complaint.empty()) complain(std::move(complaint));
        notes.clear();
    }
    std::fflush(stdout);
    if (complaints.size() == 1) throw UsageError(complaints.front());
    for (std::size_t i = 0; i < complaints.size(); ++i)
        complaints[i] = fmt::format("({}) {}", i + 1, complaints[i]);
    if (!complaints.empty()) throw UsageError(fmt::format("{}", fmt::join(complaints, " ")));
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
                                       "sglang.bench_serving, guidellm, aiperf and other load generators");
    sub->add_option("line", *words,
                    "The command line of the other tool, in quotation marks or not: 'vllm bench serve "
                    "--model M …'; or a file with it: a script, a manifest or a configuration");
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
