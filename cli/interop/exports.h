#pragma once
// The options --export and --push, and the table of formats that they and `paretoken export` share.
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace paretoken::reports {
struct GateReport;
}

namespace paretoken::cli {

struct LoadedExport;

struct ExportFormat {
    std::string_view name;
    std::string_view what;  ///< words for help
    /// Whether one file holds all runs. Otherwise several runs become a directory with a file for each.
    bool of_all = false;
    bool needs_requests = false;  ///< whether a run with only another program's figures has nothing for it
    std::string_view extension = "json";  ///< of the files in a directory
    std::function<std::string(const std::vector<LoadedExport>&)> text_of;
};

const std::vector<ExportFormat>& export_formats();
/// The format with this name; null if there is none.
const ExportFormat* export_format_named(std::string_view name);

/// Writes a text to a file, or to standard output if `out` is empty. The file may be a device such as
/// /dev/stdout, so that it is not replaced by another one. Throws RuntimeError.
void write_export(const std::string& text, const std::string& out);

/// Reads the runs and writes them to `out`: a file, a directory for several runs of a format with one run per
/// file, or standard output if it is empty. Throws UsageError and RuntimeError.
void export_runs(const ExportFormat& format, const std::vector<std::filesystem::path>& runs,
                 const std::string& out);

struct ExportOptions {
    std::vector<std::string> files = {};  ///< "junit=result.xml"
    std::vector<std::string> push = {};   ///< URLs, or "otlp"
};
void add_export_options(CLI::App& command, ExportOptions& options);
/// Throws a UsageError for an unknown format, a value without a file, or a wrong URL.
void check(const ExportOptions& options);
/// Writes and pushes the runs as the options say. Throws RuntimeError.
void write_exports(const ExportOptions& options, const std::vector<std::filesystem::path>& runs);

/// `--export junit=FILE` of a gate: its verdict. Throws UsageError for another format.
void add_gate_export_option(CLI::App& command, std::vector<std::string>& files);
void write_gate_exports(const std::vector<std::string>& files, const reports::GateReport& report);
void check_gate_exports(const std::vector<std::string>& files);

}  // namespace paretoken::cli
