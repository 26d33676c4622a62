// paretoken show: prints everything that a result directory holds about its runs, as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/console/presentation.h"
#include "cli/console/print.h"
#include "core/error.h"
#include "core/text/lines.h"
#include "reports/document/table.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/definitions.h"
#include "reports/files/json/gate_file.h"
#include "reports/files/json/run_json.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"
#include "reports/pages/console.h"
#include "reports/pages/gate.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

/// Prints a page that an experiment left in its directory.
void print_page(const fs::path& path) {
    const std::string text = reports::read_file(path);
    for (const std::string_view line : lines_in(text)) print("{}\n", reports::printable(line, 2000));
}

/// Whether a directory has the result of a run, or its records: a run that was killed has no result.
bool is_run(const fs::path& directory) {
    return reports::has_result(directory) || reports::holds_recorded(directory);
}

void show(const fs::path& directory, bool json) {
    reports::ConsoleStyle style = style_of_output();
    style.directory = directory.string();
    if (fs::exists(directory / reports::kSweepFileName))
        return print_sweep(reports::read_sweep(directory), directory, {.json = json});
    if (is_run(directory)) {
        const RunResult result = reports::read_run_directory(directory);
        return json ? print("{}\n", reports::run_json(result))
                    : print("{}", reports::run_summary(result, style));
    }
    if (const fs::path gate = directory / reports::kGateFileName; fs::exists(gate) && !json) {
        const auto report = reports::parse_gate_json(reports::read_file(gate), gate.string());
        return print("{}", reports::gate_console(report, false));
    }
    if (const fs::path page = directory / "cache.md"; fs::exists(page) && !json) return print_page(page);
    throw UsageError(
        fmt::format("{}: it is not the directory of a run, a sweep, a gate or an experiment on prefix "
                    "caching",
                    directory.string()));
}

/// Prints a run by the definitions of another load generator, beside ours.
void show_definitions(const fs::path& directory, const std::string& name, bool json) {
    const reports::ForeignDefinitions& definitions = reports::definitions_named(name);
    if (!is_run(directory))
        throw UsageError(
            fmt::format("--definitions needs the directory of one run; {} is none", directory.string()));
    const RunResult result = reports::read_run_directory(directory);
    if (result.reported)
        throw UsageError(
            fmt::format("{}: only figures as {} defines them are known of this run, so that it cannot "
                        "be computed by other definitions",
                        directory.string(), result.reported->by));
    const reports::StoredRun stored = reports::read_recorded(directory);
    const reports::DefinedRun run = reports::defined_run({result, stored}, definitions);
    print("{}", json ? reports::definitions_json(run) : reports::definitions_text(run));
}

std::string known_definitions() {
    std::vector<std::string_view> names;
    for (const reports::ForeignDefinitions& one : reports::foreign_definitions()) names.push_back(one.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void add_show(CLI::App& app) {
    const auto directory = std::make_shared<std::string>();
    const auto definitions = std::make_shared<std::string>();
    const auto json = std::make_shared<bool>(false);
    CLI::App* sub = app.add_subcommand("show", "Print every figure of a result directory");
    sub->add_option("directory", *directory,
                    "Directory of a run, a sweep, a gate or an experiment on prefix caching")
        ->type_name("DIR")
        ->required();
    sub->add_option("--definitions", *definitions,
                    "Recompute a run by the definitions of another load generator, beside ours, and say why "
                    "they differ: " +
                        known_definitions())
        ->type_name("NAME");
    sub->add_flag("--json", *json, "Print the result file of a run or a sweep instead of text");
    sub->callback([directory, definitions, json] {
        if (definitions->empty()) return show(*directory, *json);
        show_definitions(*directory, *definitions, *json);
    });
}

}  // namespace paretoken::cli
