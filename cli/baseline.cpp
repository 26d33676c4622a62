// paretoken baseline: named sets of runs for `gate --baseline NAME`.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/foreign_results.h"
#include "cli/print.h"
#include "core/error.h"
#include "reports/document/table.h"
#include "reports/files/baseline_store.h"
#include "reports/files/run_directory.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

struct BaselineCommand {
    std::string store = reports::kDefaultStore;
    std::string name;
    std::vector<std::string> directories;
    bool overwrite = false;
};

void save(const BaselineCommand& command) {
    std::vector<fs::path> runs;
    ForeignResults foreign;
    for (const std::string& directory : command.directories)
        for (const fs::path& run : reports::find_run_directories(foreign.directory_of(directory)))
            runs.push_back(run);
    reports::BaselineStore(command.store).save(command.name, runs, command.overwrite);
    print("{}: {} runs\n", command.name, runs.size());
    if (runs.size() < 3)
        print(stderr,
              "paretoken: note: a gate needs 3 or more runs of a baseline, or one run and "
              "--within-run\n");
}

/// Throws UsageError when a run of the baseline cannot be read.
void list(const BaselineCommand& command) {
    reports::Table table{{{"name", reports::Align::left},
                          {"runs"},
                          {"measured", reports::Align::left},
                          {"model", reports::Align::left},
                          {"hardware", reports::Align::left},
                          {"workload", reports::Align::left}},
                         {}};
    for (const auto& baseline : reports::BaselineStore(command.store).list()) {
        std::vector<std::string> row{baseline.name, fmt::format("{}", baseline.runs.size()), "", "", "", ""};
        if (!baseline.runs.empty()) {
            const RunResult run = reports::read_run_directory(baseline.runs.front());
            row[2] = run.provenance.started_at.substr(0, 10);
            row[3] = reports::printable(run.provenance.model, 30);
            row[4] = reports::printable(run.provenance.hardware, 30);
            row[5] = run.workload.fingerprint;
        }
        table.rows.push_back(std::move(row));
    }
    print("{}", reports::text_of(table));
}

void show(const BaselineCommand& command) {
    for (const fs::path& path : reports::BaselineStore(command.store).find(command.name).runs) {
        const RunResult run = reports::read_run_directory(path);
        const auto milliseconds = [&run](std::string_view tag, double p) {
            return reports::significant(run.percentile(headline_key(tag, run.open_loop()), p), 1e3);
        };
        print("{}  {}  {} tok/s, TTFT p50 {} ms, ITL p50 {} ms, {} failed, {}\n", path.string(),
              run.provenance.started_at, reports::significant(run.throughput.at(figure::kOutputTokens)),
              milliseconds("ttft", .5), milliseconds("itl", .5), run.counts.failed,
              name_of(run.validity.verdict));
    }
}

void drop(const BaselineCommand& command) {
    reports::BaselineStore(command.store).drop(command.name);
}

}  // namespace

void add_baseline(CLI::App& app) {
    const auto command = std::make_shared<BaselineCommand>();
    CLI::App* baseline = app.add_subcommand(
        "baseline", "Keep runs under a name, so that `gate` can compare candidates with them");
    baseline->require_subcommand(1);
    const auto add = [&](const char* name, const char* help, void (*act)(const BaselineCommand&),
                         bool named) -> CLI::App* {
        CLI::App* sub = baseline->add_subcommand(name, help);
        sub->add_option("--store", command->store, "Directory that holds the baselines")
            ->capture_default_str();
        if (named) sub->add_option("NAME", command->name, "Name of the baseline")->required();
        sub->callback([command, act] { act(*command); });
        return sub;
    };
    CLI::App* saving = add("save", "Copy runs into a baseline", save, true);
    saving->add_option("DIR", command->directories, "Run directories, or directories of these")->required();
    saving->add_flag("--overwrite", command->overwrite, "Replace a baseline of this name");
    add("list", "List the baselines", list, false);
    add("show", "Show the runs of a baseline", show, true);
    add("drop", "Remove a baseline", drop, true);
}

}  // namespace paretoken::cli
