// paretoken export: writes alerts as rules for other programs, dashboards, and runs in foreign formats.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/interop/exports.h"
#include "cli/interop/foreign_results.h"
#include "core/error.h"
#include "core/result/alerts.h"
#include "core/run/server_figures.h"
#include "experiments/alerting.h"
#include "reports/files/alerts_file.h"
#include "reports/files/interop/prometheus_rules.h"
#include "reports/files/run_directory.h"

namespace paretoken::cli {
namespace {

struct ExportCommand {
    std::string directory;
    std::string format;
    std::string engine;
    std::string alerts;
    std::string baseline;
    std::vector<std::string> targets;
    std::optional<double> usd_per_hour;
    std::string out;
};

struct Format {
    std::string_view name;
    bool of_engine = false;  ///< whether it needs --engine
    void (*write)(const ExportCommand&, std::ostream&) = nullptr;
};

experiments::Alerting alerting_of(const ExportCommand& command) {
    LoadPlan plan;
    plan.alerts = command.alerts;
    plan.baseline = command.baseline;
    return experiments::alerting_of(plan);
}

reports::EngineMetrics metrics_of(const ExportCommand& command) {
    return {.engine = command.engine, .names = names_of_engine(command.engine)};
}

constexpr Format kFormats[] = {
    {"prometheus-rules", true,
     [](const ExportCommand& command, std::ostream& out) {
         const experiments::Alerting alerting = alerting_of(command);
         out << reports::prometheus_rules(alerting.rules, alerting.baseline, metrics_of(command));
     }},
    {"grafana", true,
     [](const ExportCommand& command, std::ostream& out) {
         out << reports::grafana_dashboard(metrics_of(command), command.usd_per_hour);
     }},
    {"scrape-config", true,
     [](const ExportCommand& command, std::ostream& out) {
         out << reports::scrape_config(metrics_of(command), command.targets);
     }},
    {"alerts", false,
     [](const ExportCommand& command, std::ostream& out) {
         out << reports::alerts_json(alerting_of(command).rules);
     }},
};

std::string known_formats() {
    std::string names;
    for (const Format& format : kFormats) names += (names.empty() ? "" : ", ") + std::string(format.name);
    for (const ExportFormat& format : export_formats()) names += ", " + std::string(format.name);
    return names;
}

void export_directory(const ExportFormat& format, const ExportCommand& command) {
    if (command.directory.empty())
        throw UsageError(fmt::format("--format {} needs a run directory: export DIR --format {}", format.name,
                                     format.name));
    ForeignResults foreign;
    const std::string directory = foreign.directory_of(command.directory);
    export_runs(format, reports::find_run_directories(directory), command.out);
}

const Format& format_named(const std::string& name) {
    for (const Format& format : kFormats)
        if (format.name == name) return format;
    throw UsageError(fmt::format("--format {}: expected one of {}", name, known_formats()));
}

void require_engine(const std::string& engine) {
    std::string known;
    for (const std::string& name : engines()) {
        if (name == engine) return;
        known += (known.empty() ? "" : ", ") + name;
    }
    throw UsageError(
        fmt::format("--engine {}: expected one of {}", engine.empty() ? "is missing" : engine, known));
}

void export_to(const ExportCommand& command) {
    if (const ExportFormat* const of_run = export_format_named(command.format))
        return export_directory(*of_run, command);
    const Format& format = format_named(command.format);
    if (format.of_engine) require_engine(command.engine);
    if (!command.directory.empty())
        throw UsageError(
            fmt::format("--format {} does not use a run; leave {} out", format.name, command.directory));
    if (command.usd_per_hour && !(*command.usd_per_hour > 0))
        throw UsageError(fmt::format("--price {}: expected dollars per hour above 0", *command.usd_per_hour));
    std::ostringstream text;  // no file is written if reading fails
    format.write(command, text);
    write_export(text.str(), command.out);
}

}  // namespace

void add_export(CLI::App& app) {
    const auto command = std::make_shared<ExportCommand>();
    CLI::App* sub =
        app.add_subcommand("export", "Write alerts, dashboards and runs in formats of other programs");
    sub->add_option("DIR", command->directory,
                    "Run directory, a sweep, or a result file of another load generator");
    sub->add_option("--format", command->format, "One of " + known_formats())->required();
    sub->add_option("--engine", command->engine,
                    "Engine that exports the metrics: vllm, sglang, trtllm, tgi or llamacpp "
                    "(prometheus-rules, grafana, scrape-config)");
    sub->add_option(
        "--alerts", command->alerts,
        "JSON file of alerts that replace the default ones, which `paretoken export --format alerts` prints");
    sub->add_option("--baseline", command->baseline,
                    "Runs from which alerts that compare with a baseline take its values");
    sub->add_option(
           "--target", command->targets,
           "HOST:PORT to scrape (scrape-config); may be repeated [the engine's usual port on this machine]")
        ->allow_extra_args(false);
    sub->add_option("--price", command->usd_per_hour,
                    "Cost of the whole deployment in dollars per hour; the dashboard then shows dollars per "
                    "million output tokens (grafana)");
    sub->add_option("--out", command->out,
                    "File to write [standard output]; a directory if there are several runs");
    sub->callback([command] { export_to(*command); });
}

}  // namespace paretoken::cli
