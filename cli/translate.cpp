// paretoken translate: prints our command line for one of another load generator.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/words/foreign_options.h"
#include "cli/words/translation.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_fields.h"

namespace paretoken::cli {
namespace {

/// Splits a line into words as a shell does, but expands and refuses nothing: examples in documents have
/// places to fill in ("<your data path>"). A comment at the end is left out.
std::vector<std::string> words_in(std::string_view line) {
    std::vector<std::string> words;
    bool begun = false;
    char quote = 0;
    const auto add = [&](char c) {
        if (!std::exchange(begun, true)) words.emplace_back();
        words.back() += c;
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (quote != 0) {
            if (c == quote && c == '>') add(c);
            if (c == quote)
                quote = 0;
            else
                add(c == '\\' && quote == '"' && i + 1 < line.size() ? line[++i] : c);
        } else if (c == '<') {
            add(c);
            quote = '>';
        } else if (c == '\'' || c == '"') {
            quote = c;
            if (!std::exchange(begun, true)) words.emplace_back();
        } else if (c == '\\' && i + 1 < line.size()) {
            if (line[++i] != '\n') add(line[i]);
        } else if (c == '#' && !begun) {
            break;
        } else if (is_blank) {
            begun = false;
        } else {
            add(c);
        }
    }
    return words;
}

void translate(const std::vector<std::string>& words) {
    Translation translation = translation_of(words.size() == 1 ? words_in(words.front()) : words);
    std::vector<std::string>& options = translation.words;
    if (const auto key = std::find(options.begin(), options.end(), "--api-key"); key != options.end()) {
        options.erase(key, key + 2);
        translation.notes.emplace_back(
            "the key belongs into the variable OPENAI_API_KEY, where no list of processes shows it");
    }
    std::vector<std::string> line{"paretoken", translation.command};
    line.insert(line.end(), options.begin(), options.end());
    const std::string complaint = complaint_of(translation, "paretoken");
    print("{}\n", shell_line(line));
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
    CLI::App* sub = app.add_subcommand(
        "translate",
        "Print our command line for one of vllm bench serve, sglang.bench_serving, guidellm or aiperf");
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
