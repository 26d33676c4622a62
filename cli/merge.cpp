// paretoken merge: joins the runs of the shards of one load into the run of the whole load.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console/presentation.h"
#include "core/error.h"
#include "experiments/run.h"
#include "reports/files/output_directory.h"
#include "reports/files/run_directory.h"
#include "reports/files/shards.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

struct MergeCommand {
    std::vector<std::string> paths;
    std::string out;
    bool overwrite = false;
    Presentation shown;
};

/// Returns the runs in the given directories, each once. Of a run that shards with a rendezvous made without
/// one of them, these are the parts that it keeps.
std::vector<fs::path> runs_in(const std::vector<std::string>& paths) {
    std::vector<fs::path> runs;
    for (const std::string& path : paths) {
        const fs::path parts = fs::path(path) / experiments::kShardsName;
        for (fs::path& run :
             reports::find_run_directories(fs::is_directory(parts) ? parts : fs::path(path))) {
            const bool known =
                std::ranges::any_of(runs, [&](const fs::path& other) { return fs::equivalent(run, other); });
            if (known)
                throw UsageError(
                    fmt::format("{} is given twice; give each shard of the load once", run.string()));
            runs.push_back(std::move(run));
        }
    }
    return runs;
}

/// Throws UsageError if the result would replace one of the shards, or lie among the files of one.
void require_apart(const fs::path& out, const std::vector<fs::path>& runs) {
    const fs::path place = fs::weakly_canonical(out);
    for (const fs::path& run : runs) {
        const fs::path shard = fs::weakly_canonical(run);
        if (std::ranges::mismatch(shard, place).in1 == shard.end())
            throw UsageError(fmt::format(
                "--out {} is in the directory of a shard that is to be joined, {}; give another --out",
                out.string(), run.string()));
    }
}

void merge(const MergeCommand& command) {
    const std::vector<fs::path> runs = runs_in(command.paths);
    require_apart(command.out, runs);
    reports::OutputDirectory output(
        {.path = command.out, .kind = reports::OutputKind::run, .overwrite = command.overwrite});
    const RunResult result = reports::join_shards(runs, output.path());
    print_run(result, output.path(), command.shown);
    experiments::require_valid({.result = result, .directory = output.path()});
    experiments::require_slos(result, result.plan.contains("require"));
}

}  // namespace

void add_merge(CLI::App& app) {
    const auto command = std::make_shared<MergeCommand>();
    CLI::App* sub = app.add_subcommand(
        "merge", "Join the shards of one load, which several processes made, into its run");
    sub->add_option("paths", command->paths,
                    "Directories of runs that were made with --shard, or directories with such runs in them")
        ->required();
    sub->add_option("--out", command->out, "Directory for the run of the whole load")->required();
    sub->add_flag("--overwrite", command->overwrite, "Replace a run in that directory");
    add_presentation_options(*sub, command->shown, Shows::text_and_json);
    sub->footer(
        "The result is computed from the requests of all shards, as one process would have computed it. A "
        "shard that is missing or was killed is named, and the result is then partial (exit code 3). Limits "
        "(--slo) that the shards were given are judged as by `paretoken run`. "
        "`paretoken help shards` has an example that starts shards.");
    sub->callback([command] { merge(*command); });
}

}  // namespace paretoken::cli
