#include "cli/console/presentation.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/console/print.h"
#include "core/plan/plan_arguments.h"
#include "reports/files/file_io.h"
#include "reports/files/json/run_json.h"
#include "reports/files/json/sweep_json.h"
#include "reports/files/run_directory.h"
#include "reports/pages/headline.h"

namespace paretoken::cli {

void add_presentation_options(CLI::App& command, Presentation& presentation, Shows shows) {
    const char* group = "Output";
    auto* const verbose =
        command.add_flag("-v,--verbose", presentation.verbose, "Print every figure and every table")
            ->group(group);
    command
        .add_flag(
            "-q,--quiet", presentation.quiet,
            "Print the verdict only (with --json: the result), and no progress; warnings are still printed")
        ->group(group)
        ->excludes(verbose);
    if (shows == Shows::text) return;
    command
        .add_flag("--json", presentation.json,
                  "Print the result as JSON, as the result file has it, instead of text")
        ->group(group)
        ->excludes(verbose);
}

std::string Presentation::report_command(const std::filesystem::path& directory) const {
    std::vector<std::string> words{"paretoken", "report", directory.string()};
    if (!price.empty()) words.insert(words.end(), {"--price", price});
    return shell_line(words);
}

void add_price_option(CLI::App& command, Presentation& presentation) {
    command
        .add_option_function<std::string>(
            "--price",
            [&presentation](const std::string& price) {
                presentation.prices = {cards::price_card(price)};
                presentation.price = price;
            },
            "Price for the printed cost: dollars per GPU-hour (2.50), or a price card by its name or as "
            "a file [the ones that ship]")
        ->group("Output");
}

bool is_able_terminal(int file) {
    const char* const terminal = std::getenv("TERM");
    return terminal != nullptr && std::string_view(terminal) != "dumb" && isatty(file) == 1;
}

bool wants_colour(int file) {
    const char* const no_colour = std::getenv("NO_COLOR");
    return (no_colour == nullptr || *no_colour == '\0') && is_able_terminal(file);
}

reports::ConsoleStyle style_of_output() {
    return {.colour = wants_colour(STDOUT_FILENO)};
}

void print_run(const RunResult& result, const std::filesystem::path& directory, const Presentation& shown) {
    reports::ConsoleStyle style = style_of_output();
    if (shown.json) return print("{}\n", reports::run_json(result));
    if (shown.quiet) return print("{}", reports::verdict_line(result, style));
    if (shown.verbose) {
        style.directory = directory.string();
        print("{}", reports::run_summary(result, style));
        return;
    }
    const bool is_valid = result.validity.verdict != Verdict::invalid;
    const bool is_shard = result.plan.contains("shard");
    std::string next = shown.report_command(directory);
    if (is_shard || !is_valid)
        next = shell_line({"paretoken", is_shard ? "merge" : "show", directory.string()});
    if (is_shard) next += " OTHER-SHARDS --out WHOLE-RUN";
    if (!std::filesystem::exists(directory / reports::kRunFileName)) next.clear();  // on a full disk
    print("{}", reports::run_headline(result, reports::headline_cost(result, shown.prices), next, style));
}

void print_sweep(const reports::SweepFile& file, const std::filesystem::path& directory,
                 const Presentation& shown) {
    if (shown.json) return print("{}\n", reports::sweep_json(file));
    std::map<std::string, std::optional<reports::HeadlineCost>> costs;
    for (const reports::SweepPoint& point : file.points) {
        const auto run = directory / point.directory;
        if (point.state == reports::PointState::done && reports::has_result(run))
            costs[point.directory] = reports::headline_cost(reports::read_run_directory(run), shown.prices);
    }
    print("{}", reports::sweep_summary(file, style_of_output(), [&](const reports::SweepPoint& point) {
              return costs[point.directory];
          }));
}

}  // namespace paretoken::cli
