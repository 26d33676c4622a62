// paretoken help: explains a topic, and prints manual pages and completions. Also answers --help and
// --help-all.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help/text.h"
#include "cli/print.h"
#include "core/error.h"
#include "datasets/catalog.h"
#include "loadgen/load/arrival.h"
#include "loadgen/load/limits.h"
#include "reports/document/table.h"
#include "reports/pages/console.h"

namespace paretoken::cli {
namespace {

struct Row {
    std::string name;
    std::string text;
};

std::string rows_text(const std::vector<Row>& rows, std::size_t width) {
    std::string text;
    for (const auto& [name, explained] : rows) {
        text += fmt::format("  {}\n", name);
        for (const std::string& line : reports::wrapped(explained, width - 6))
            text += fmt::format("      {}\n", line);
    }
    return text;
}

std::string with_fields(std::string_view name, std::string_view fields) {
    return fields.empty() ? std::string(name) : fmt::format("{}:{}", name, fields);
}

std::string loads(std::size_t width) {
    std::vector<Row> rows{{"--concurrency 8",
                           "a closed loop: 8 users, each of whom sends the next request when the answer is "
                           "complete"},
                          {"--request-rate 4",
                           "an open loop: 4 requests per second on average (Poisson), whether or not the "
                           "server keeps up; with --concurrency, at most so many at once"}};
    for (const loadgen::ArrivalRow& row : loadgen::arrival_table())
        rows.push_back({"--arrivals " + with_fields(row.name, row.fields), std::string(row.title)});
    std::string text =
        "How requests are sent:\n" + rows_text(rows, width) + "\nWhen no more are started (--stop RULE):\n";
    rows.clear();
    for (const loadgen::StopRow& row : loadgen::stop_table())
        rows.push_back({std::string(row.form), std::string(row.title)});
    return text + rows_text(rows, width);
}

std::string datasets_text(std::size_t width) {
    std::vector<Row> rows;
    for (const datasets::CatalogRow& row : datasets::catalog())
        rows.push_back({"--dataset " + with_fields(row.name, row.fields), std::string(row.title)});
    return "Where requests come from (`paretoken dataset describe FILE` says what a file holds):\n" +
           rows_text(rows, width);
}

std::string limits(std::size_t width) {
    return rows_text(
        {{"ttft_p95:800",
          "the p95 of the time to first token is at most 800 ms; p90 if no percentile is given"},
         {"'ttft_p95<800ms'", "the same; the quotation marks keep the shell from reading <"},
         {"interactivity_p90:35", "at least 35 tokens per second for each user; higher is better"},
         {"ttft:500", "for --goodput: each request must meet it"},
         {"--slo LIMIT",
          "the run is judged by it: met (shown at 99 %), within (measured, not shown), or missed"},
         {"--limit LIMIT", "of `gate`: every run of the candidate must meet it"},
         {"--stop slo:LIMIT", "the run ends when the limit is certainly missed"},
         {"--slo @chat", "a preset: @chat, @mlperf:MODEL, @mlperf:MODEL:interactive"}},
        width);
}

std::string validity(std::size_t width) {
    return rows_text(
        {{"valid", "the client kept up, and the figures are the server's"},
         {"warn",
          "a figure may be off by more than 2 %, or something else should be known; the reasons are printed"},
         {"INVALID",
          "the figures may be the client's or the host's instead of the server's, too many requests failed, "
          "or "
          "the server did not stream; exit code 4. `paretoken show DIR` prints every reason, and "
          "docs/validity.md "
          "says what to do about each"},
         {"*", "behind a percentile: there are too few independent requests to certify it"},
         {"(40–42)", "behind a value: its 95 % interval"}},
        width);
}

std::string exit_codes(std::size_t width) {
    return rows_text(
        {{"0", "The command succeeded; a gate passed."},
         {"1", "A gate failed, a run missed a limit, or a sweep found no load within its limits."},
         {"2", "The command line or an input file is wrong."},
         {"3", "The command could not be carried out: an unreachable host, a refused request, a full disk."},
         {"4", "The measurement is invalid; the reasons are printed."},
         {"5", "A gate could not decide, or there was too little evidence for the limits."},
         {"130", "Ctrl-C ended the command before anything was measured."}},
        width);
}

std::string definitions(std::size_t /*width*/) {
    return reports::definitions_text();
}

struct Topic {
    std::string_view name;
    std::string_view title;
    std::string (*text)(std::size_t width);
};
constexpr std::array kTopics = {
    Topic{"metrics", "what each metric of a request means", definitions},
    Topic{"figures", "what each figure of a run means", definitions},
    Topic{"validity", "when a run can be trusted", validity},
    Topic{"exit-codes", "what the exit codes mean", exit_codes},
    Topic{"loads", "how requests are sent, and when the load ends", loads},
    Topic{"datasets", "where requests come from", datasets_text},
    Topic{"limits", "how limits are written, and where they are used", limits},
};

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
    const auto found =
        app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

void help(const CLI::App& app, const std::vector<std::string>& words) {
    const std::string& first = words.front();
    if (first == "completion")
        return print("{}", completion_script(app, words.size() > 1 ? words[1] : "bash"));
    if (first == "man") {
        const CLI::App* const command = words.size() > 1 ? command_named(app, words[1]) : &app;
        if (command == nullptr)
            throw UsageError(fmt::format("there is no command '{}'; see --help", words[1]));
        return print("{}", manual_page(*command, words.size() > 1 ? "paretoken " + words[1] : "paretoken"));
    }
    if (words.size() > 1) throw UsageError(fmt::format("help: '{}' is one word too many", words[1]));
    for (const Topic& topic : kTopics)
        if (topic.name == first) return print("{}", topic.text(terminal_width()));
    if (const CLI::App* const command = command_named(app, first))
        return print("{}", help_text(*command, "paretoken " + first, false, terminal_width()));
    std::string known;
    for (const Topic& topic : kTopics) known += fmt::format("{}{}", known.empty() ? "" : ", ", topic.name);
    throw UsageError(
        fmt::format("help: there is no topic '{}'; known are {}, and the names of commands", first, known));
}

}  // namespace

void add_help(CLI::App& app) {
    const auto words = std::make_shared<std::vector<std::string>>();
    CLI::App* sub =
        app.add_subcommand("help", "Explain a topic or a command; print manual pages and completions");
    sub->add_option(
           "topic", *words,
           "metrics, figures, validity, exit-codes, loads, datasets, limits, or the name of a command; `man "
           "[COMMAND]` prints a manual page, and `completion bash|zsh|fish` a script for the shell")
        ->required();
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
