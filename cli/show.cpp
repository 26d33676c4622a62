// paretoken show: prints everything that a result directory holds about its runs, as text.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/presentation.h"
#include "cli/print.h"
#include "core/error.h"
#include "reports/document/table.h"
#include "reports/files/file_io.h"
#include "reports/files/json/run_json.h"
#include "reports/files/json/sweep_json.h"
#include "reports/files/run_directory.h"
#include "reports/pages/console.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

/// Prints a page that a gate or an experiment left in its directory.
void print_page(const fs::path& path) {
    const std::string text = reports::read_file(path);
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        print("{}\n", reports::printable(text.substr(begin, end - begin), 2000));
        begin = end + 1;
    }
}

void show(const fs::path& directory, bool json) {
    reports::ConsoleStyle style = style_of_output();
    style.directory = directory.string();
    if (fs::exists(directory / reports::kSweepFileName)) {
        const reports::SweepFile file = reports::read_sweep(directory);
        return json ? print("{}\n", reports::sweep_json(file))
                    : print("{}", reports::sweep_summary(file, style));
    }
    if (reports::has_result(directory)) {
        const RunResult result = reports::read_run_directory(directory);
        return json ? print("{}\n", reports::run_json(result))
                    : print("{}", reports::run_summary(result, style));
    }
    for (const char* const page : {"gate.md", "cache.md"})
        if (fs::exists(directory / page) && !json) return print_page(directory / page);
    throw UsageError(
        fmt::format("{}: it is not the directory of a run, a sweep, a gate or an experiment on prefix "
                    "caching",
                    directory.string()));
}

}  // namespace

void add_show(CLI::App& app) {
    const auto directory = std::make_shared<std::string>();
    const auto json = std::make_shared<bool>(false);
    CLI::App* sub = app.add_subcommand("show", "Print every figure of a result directory");
    sub->add_option("directory", *directory,
                    "Directory of a run, a sweep, a gate or an experiment on prefix caching")
        ->type_name("DIR")
        ->required();
    sub->add_flag("--json", *json, "Print the result file of a run or a sweep instead of text");
    sub->callback([directory, json] { show(*directory, *json); });
}

}  // namespace paretoken::cli
