// paretoken import: turns result files of other load generators into run directories.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cards/gpu.h"
#include "cards/host.h"
#include "cli/commands.h"
#include "cli/console/print.h"
#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "reports/files/interop/foreign.h"
#include "reports/files/run_directory.h"
#include "reports/pages/headline.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

struct ImportCommand {
    std::vector<std::string> paths;
    std::string out;
    std::string gpu;
    std::vector<std::string> metadata;
};

reports::ImportOptions options_of(const ImportCommand& command) {
    reports::ImportOptions options;
    if (!command.gpu.empty()) {
        cards::require_known_gpu(command.gpu, cards::this_host().cpu);
        const cards::GpuSpec gpu = cards::parse_gpu_spec(command.gpu);
        options.hardware = gpu.name;
        options.hardware_count = gpu.count;
    }
    for (const std::string& text : command.metadata) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw UsageError(fmt::format("--metadata {}: expected KEY=VALUE", text));
        options.metadata[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return options;
}

/// "6 requests, 0 failed", or how much a summary tells.
std::string contents_of(const RunResult& result) {
    const std::string counts =
        fmt::format("{} requests, {}", result.counts.requests,
                    reports::tells_failures(result) ? fmt::format("{} failed", result.counts.failed)
                                                    : "of which the file does not tell how many failed");
    if (!result.reported) return counts;
    return fmt::format("only a summary of {} figures{}", result.reported->figures.size(),
                       result.reported->requests ? " over " + counts : "");
}

void import_all(const ImportCommand& command) {
    const reports::ImportOptions options = options_of(command);
    const std::vector<fs::path> paths(command.paths.begin(), command.paths.end());
    for (const fs::path& run : reports::import_runs(paths, command.out, options)) {
        const RunResult result = reports::read_run_directory(run);
        print("{}  {}: {}\n", run.string(), result.provenance.measured_by, contents_of(result));
    }
    print("Next: paretoken report {}\n", command.out);
}

std::string known_tools() {
    std::vector<std::string_view> tools;
    for (const reports::ForeignFormat& format : reports::foreign_formats()) tools.push_back(format.tool);
    return fmt::format("{}", fmt::join(tools, ", "));
}

}  // namespace

void add_import(CLI::App& app) {
    const auto command = std::make_shared<ImportCommand>();
    CLI::App* sub = app.add_subcommand("import", "Turn result files of other load generators into runs");
    sub->add_option("paths", command->paths, "Files, or directories with files, of " + known_tools())
        ->required();
    sub->add_option("--out", command->out,
                    "Directory for the run; for several runs, each gets a subdirectory")
        ->required();
    sub->add_option("--gpu", command->gpu,
                    "Hardware that served: NAME or NAMExN, which the files do not tell");
    sub->add_option("--metadata", command->metadata, "KEY=VALUE to keep with the runs; may be repeated")
        ->allow_extra_args(false);
    sub->footer(
        "The formats are recognised by their content. `report`, `gate` and `baseline save` take these files "
        "directly as well. Metrics are computed from the times of single requests by this program's "
        "definitions. The figures of a file that has only a summary are kept by the definitions of its "
        "program, and named so.");
    sub->callback([command] { import_all(*command); });
}

}  // namespace paretoken::cli
