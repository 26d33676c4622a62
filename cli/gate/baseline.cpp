// paretoken baseline: named sets of runs for `gate --baseline NAME`.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/interop/foreign_results.h"
#include "core/error.h"
#include "reports/document/table.h"
#include "reports/files/file_io.h"
#include "reports/files/gate/baseline_store.h"
#include "reports/files/json/gate_file.h"
#include "reports/files/run_directory.h"
#include "reports/pages/headline.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

struct BaselineCommand {
    std::string store = reports::kDefaultStore;
    std::string name;
    std::vector<std::string> directories;
    bool overwrite = false;
    std::size_t keep = 20;
    bool accept_inconclusive = false;
};

/// Adds the runs of a side's directory, or of foreign results, to `runs`.
void add_runs(const fs::path& directory, std::vector<fs::path>& runs) {
    for (const fs::path& run : reports::find_run_directories(directory)) runs.push_back(run);
}

void save(const BaselineCommand& command) {
    std::vector<fs::path> runs;
    ForeignResults foreign;
    for (const std::string& directory : command.directories) add_runs(foreign.directory_of(directory), runs);
    reports::BaselineStore(command.store).save(command.name, runs, command.overwrite);
    print("{}: {} run{}\n", command.name, runs.size(), runs.size() == 1 ? "" : "s");
    if (runs.size() < 3)
        print(stderr,
              "paretoken: note: a gate needs 3 or more runs of a baseline. `paretoken baseline update {} "
              "RUN…` adds runs of the same load\n",
              command.name);
}

/// Returns the runs of a candidate that was measured before its gate, which names their directories. Throws
/// UsageError if one of them is not there, or if another run is in its place.
std::vector<fs::path> earlier_runs(const reports::GateReport& report, const fs::path& file) {
    std::vector<fs::path> runs;
    for (const reports::GateRunNote& note : report.runs) {
        if (!note.of_candidate) continue;
        if (!reports::has_result(note.directory) ||
            reports::read_run_directory(note.directory).provenance.started_at != note.started_at)
            throw UsageError(fmt::format(
                "{}: the candidate's run {} cannot be read from this directory; give the runs themselves: "
                "paretoken baseline update NAME RUN…",
                file.string(), note.directory));
        runs.emplace_back(note.directory);
    }
    return runs;
}

/// Returns the runs of the candidate of a gate. Throws UsageError if the candidate did not pass.
std::vector<fs::path> passed_runs(const BaselineCommand& command, const fs::path& gate) {
    const fs::path file = gate / reports::kGateFileName;
    const reports::GateReport report = reports::parse_gate_json(reports::read_file(file), file.string());
    const auto verdict = report.verdict;
    const bool open = verdict == reports::GateVerdict::inconclusive;
    if (verdict != reports::GateVerdict::pass && !(open && command.accept_inconclusive))
        throw UsageError(fmt::format("{}: the verdict is {}, and a baseline takes candidates that passed{}",
                                     file.string(), reports::name_of(verdict),
                                     open ? "; --accept-inconclusive takes this one too" : ""));
    std::vector<fs::path> runs;
    if (fs::is_directory(gate / "candidate")) add_runs(gate / "candidate", runs);
    if (fs::is_directory(gate / "pairs")) {
        std::vector<fs::path> all;
        add_runs(gate / "pairs", all);
        for (fs::path& run : all)
            if (run.filename() == "candidate") runs.push_back(std::move(run));
    }
    return runs.empty() ? earlier_runs(report, file) : runs;
}

void update(const BaselineCommand& command) {
    std::vector<fs::path> runs;
    for (const std::string& directory : command.directories)
        if (fs::exists(fs::path(directory) / reports::kGateFileName))
            for (fs::path& run : passed_runs(command, directory)) runs.push_back(std::move(run));
        else
            add_runs(directory, runs);
    if (runs.empty())
        throw UsageError(fmt::format("{} holds no run of a candidate", command.directories.front()));
    const reports::BaselineStore store(command.store);
    store.update(command.name, runs, command.keep);
    print("{}: {} runs, of which {} are new\n", command.name, store.find(command.name).runs.size(),
          std::min(runs.size(), command.keep));
}

/// Returns the result of a stored run. If it cannot be read, says so on standard error and returns nothing.
std::optional<RunResult> readable(const fs::path& run) {
    try {
        return reports::read_run_directory(run);
    } catch (const UsageError& error) {
        print(stderr,
              "paretoken: note: {} is damaged: {}. `paretoken baseline save NAME RUN… --overwrite` replaces "
              "the baseline\n",
              run.string(), error.what());
        return std::nullopt;
    }
}

void list(const BaselineCommand& command) {
    reports::Table table{{{"name", reports::Align::left},
                          {"runs"},
                          {"measured", reports::Align::left},
                          {"model", reports::Align::left},
                          {"hardware", reports::Align::left},
                          {"workload", reports::Align::left}},
                         {}};
    for (const auto& baseline : reports::BaselineStore(command.store).list()) {
        std::vector<RunResult> runs;
        for (const fs::path& path : baseline.runs)
            if (auto run = readable(path)) runs.push_back(std::move(*run));
        const std::size_t damaged = baseline.runs.size() - runs.size();
        std::vector<std::string> row{baseline.name,
                                     damaged == 0 ? fmt::format("{}", runs.size())
                                                  : fmt::format("{}, {} damaged", runs.size(), damaged),
                                     "",
                                     "",
                                     "",
                                     ""};
        if (!runs.empty()) {
            const RunResult& run = runs.front();
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
        const auto stored = readable(path);
        if (!stored) continue;
        const RunResult& run = *stored;
        const auto milliseconds = [&run](std::string_view tag, double p) {
            return reports::significant(run.percentile(headline_key(tag, run.open_loop()), p), 1e3);
        };
        const std::string failed =
            reports::tells_failures(run) ? fmt::format("{} failed", run.counts.failed) : "failures not known";
        print("{}  {}  {} tok/s, TTFT p50 {} ms, ITL p50 {} ms, {}, {}\n", path.string(),
              run.provenance.started_at, reports::significant(run.throughput.at(figure::kOutputTokens)),
              milliseconds("ttft", .5), milliseconds("itl", .5), failed, name_of(run.validity.verdict));
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
    CLI::App* saving =
        add("save", "Copy runs into a baseline (`paretoken gate --create-baseline` measures the runs, too)",
            save, true);
    saving->add_option("DIR", command->directories, "Run directories, or directories of these")->required();
    saving->add_flag("--overwrite", command->overwrite, "Replace a baseline of this name");
    CLI::App* updating =
        add("update", "Add the candidate's runs of a gate that passed, or other runs", update, true);
    updating->add_option("DIR", command->directories, "Directory of a gate, or run directories")->required();
    updating->add_option("--keep", command->keep, "Largest number of runs; the oldest ones are removed")
        ->capture_default_str()
        ->check(CLI::Range(3, 1000));
    updating->add_flag("--accept-inconclusive", command->accept_inconclusive,
                       "Also take the candidate of a gate that was inconclusive");
    add("list", "List the baselines", list, false);
    add("show", "Show the runs of a baseline", show, true);
    add("drop", "Remove a baseline", drop, true);
}

}  // namespace paretoken::cli
