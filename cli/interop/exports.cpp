#include "cli/interop/exports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "cards/price.h"
#include "cli/console/print.h"
#include "cli/interop/push.h"
#include "core/error.h"
#include "reports/analysis/gate/gate_report.h"
#include "reports/analysis/model/join.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/chrome_trace.h"
#include "reports/files/interop/run_export.h"
#include "reports/files/run_directory.h"
#include "reports/pages/formats.h"
#include "reports/pages/gate.h"
#include "reports/pages/junit.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;
using Runs = std::vector<LoadedExport>;

/// The text of one of the report's formats, with the shipped prices.
std::string report_text(const reports::ReportFormat& format, const Runs& runs) {
    std::vector<reports::LoadedRun> loaded;
    for (const LoadedExport& run : runs)
        loaded.push_back({.directory = reports::shown_name(run.directory), .result = run.result});
    reports::JoinOptions options;
    options.prices = cards::default_price_cards();
    return format.write(reports::build_report(std::move(loaded), options));
}

std::string junit_text(const Runs& runs) {
    std::vector<reports::NamedRun> named;
    for (const LoadedExport& run : runs) named.push_back({.name = run.name, .result = &run.result});
    return reports::runs_junit(named);
}

std::string trace_text(const Runs& runs) {
    std::ostringstream text;
    reports::write_chrome_trace(runs.front().directory, text);
    return text.str();
}

std::vector<ExportFormat> all_formats() {
    std::vector<ExportFormat> all;
    for (const reports::RunExport& format : reports::run_exports())
        all.push_back({.name = format.name,
                       .what = format.what,
                       .needs_requests = true,
                       .extension = format.name == "openmetrics" ? "txt" : "json",
                       .text_of = [text_of = format.text_of](const Runs& runs) {
                           return text_of({runs.front().result, runs.front().stored});
                       }});
    all.push_back({.name = "chrome-trace",
                   .what = "a trace that Perfetto opens",
                   .needs_requests = true,
                   .text_of = trace_text});
    all.push_back({.name = "junit",
                   .what = "JUnit XML: whether each run is valid, and its limits",
                   .of_all = true,
                   .text_of = junit_text});
    for (const reports::ReportFormat& format : reports::report_formats())
        if (format.name == "csv" || format.name == "json" || format.name == "inferencex")
            all.push_back({.name = format.name,
                           .what = format.description,
                           .of_all = true,
                           .needs_requests = format.name != "json",
                           .text_of = [&format](const Runs& runs) { return report_text(format, runs); }});
    return all;
}

std::string known_export_formats() {
    std::vector<std::string_view> names;
    for (const ExportFormat& format : export_formats()) names.push_back(format.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

LoadedExport loaded(const fs::path& directory) {
    return {.name = directory.filename().empty() ? directory.parent_path().filename().string()
                                                 : directory.filename().string(),
            .directory = directory,
            .result = reports::read_run_directory(directory),
            .stored = reports::read_recorded(directory)};
}

/// Refuses runs of which none has anything to write in this format.
void require_requests(const ExportFormat& format, const Runs& runs) {
    const auto is_summary = [](const LoadedExport& run) { return run.result.reported.has_value(); };
    if (!format.needs_requests || runs.empty() || !std::ranges::all_of(runs, is_summary)) return;
    const LoadedExport& run = runs.front();
    throw UsageError(
        fmt::format("{} has no single requests, only figures as {} defines them, and nothing for the format "
                    "{}; json takes such runs",
                    reports::shown_name(run.directory), run.result.reported->by, format.name));
}

/// Writes each run to a file of its own in a directory. In vLLM's format there is also summary.json, the
/// array of all runs, which vLLM's own plots read.
void write_directory(const ExportFormat& format, const std::vector<fs::path>& runs, const fs::path& out) {
    reports::ensure_directory(out);
    std::string all;
    for (const fs::path& directory : runs) {
        Runs one;
        one.push_back(loaded(directory));
        require_requests(format, one);
        const std::string text = format.text_of(one);
        reports::write_file_atomically(out / fmt::format("{}.{}", one.front().name, format.extension), text);
        all += (all.empty() ? "[" : ",") + text;
    }
    if (format.name == "vllm") reports::write_file_atomically(out / "summary.json", all + "]\n");
}

/// The format and the file of a value of --export.
std::pair<const ExportFormat*, std::string> parsed_export(const std::string& text) {
    const std::size_t equals = text.find('=');
    const ExportFormat* const format = export_format_named(text.substr(0, equals));
    if (equals == std::string::npos || equals + 1 == text.size() || format == nullptr)
        throw UsageError(
            fmt::format("--export {}: expected FORMAT=FILE with one of {}", text, known_export_formats()));
    return {format, text.substr(equals + 1)};
}

}  // namespace

const std::vector<ExportFormat>& export_formats() {
    static const std::vector<ExportFormat> all = all_formats();
    return all;
}

const ExportFormat* export_format_named(std::string_view name) {
    for (const ExportFormat& format : export_formats())
        if (format.name == name) return &format;
    return nullptr;
}

void write_export(const std::string& text, const std::string& out) {
    if (out.empty()) return print("{}", text);
    std::ofstream file(out, std::ios::binary | std::ios::trunc);
    file << text << std::flush;
    if (!file)
        throw RuntimeError(
            fmt::format("cannot write {}: check that its directory exists, can be written and has space, or "
                        "choose another file",
                        out));
}

void export_runs(const ExportFormat& format, const std::vector<fs::path>& runs, const std::string& out) {
    if (runs.size() > 1 && !format.of_all) {
        if (out.empty())
            throw UsageError(
                fmt::format("there are {} runs: name a directory for their files with --out, or one of {}",
                            runs.size(), runs.front().string()));
        return write_directory(format, runs, out);
    }
    Runs all;
    for (const fs::path& run : runs) all.push_back(loaded(run));
    require_requests(format, all);
    const std::string text = format.text_of(all);
    write_export(text, out);
    if (format.name == "inferencex" && text == "[]\n")
        print(stderr,
              "paretoken: note: no row was written: the format inferencex has rows of closed loops "
              "(--concurrency) that are not invalid, and {}; csv and json take every run\n",
              all.size() == 1 ? reports::shown_name(all.front().directory) + " is not one"
                              : std::string("none of these runs is one"));
}

void add_export_options(CLI::App& command, ExportOptions& options) {
    command
        .add_option(
            "--export", options.files,
            "FORMAT=FILE: also write the result in another format, for several runs into a directory of "
            "this name; may be repeated. Formats: " +
                known_export_formats())
        ->type_name("FORMAT=FILE")
        ->allow_extra_args(false)
        ->group("Output");
    command
        .add_option("--push", options.push,
                    "Send the figures to a Pushgateway of Prometheus (its URL), or to the collector that the "
                    "variables OTEL_EXPORTER_OTLP_* name (otlp); may be repeated")
        ->type_name("URL|otlp")
        ->allow_extra_args(false)
        ->group("Output");
}

void check(const ExportOptions& options) {
    for (const std::string& text : options.files) (void)parsed_export(text);
    for (const std::string& target : options.push) check_push(target);
}

void write_exports(const ExportOptions& options, const std::vector<fs::path>& runs) {
    for (const std::string& text : options.files) {
        const auto [format, file] = parsed_export(text);
        export_runs(*format, runs, file);
    }
    if (options.push.empty()) return;
    Runs all;
    for (const fs::path& run : runs) all.push_back(loaded(run));
    for (const std::string& target : options.push) push(target, all);
}

void add_gate_export_option(CLI::App& command, std::vector<std::string>& files) {
    command
        .add_option("--export", files,
                    "junit=FILE: also write the verdict as JUnit XML. The runs in --out can be written by "
                    "`paretoken export`")
        ->type_name("junit=FILE")
        ->allow_extra_args(false)
        ->group("Output");
}

void check_gate_exports(const std::vector<std::string>& files) {
    for (const std::string& text : files)
        if (parsed_export(text).first->name != "junit")
            throw UsageError(
                fmt::format("--export {}: a gate writes its verdict as junit=FILE; `paretoken "
                            "export` writes its runs in other formats",
                            text));
}

void write_gate_exports(const std::vector<std::string>& files, const reports::GateReport& report) {
    for (const std::string& text : files)
        write_export(reports::gate_junit(report), parsed_export(text).second);
}

}  // namespace paretoken::cli
