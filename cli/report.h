#pragma once
// The report of runs, for the commands that end in one.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::reports {
struct Section;
}

namespace paretoken::cli {

struct ReportCommand {
    std::vector<std::string> directories;
    std::vector<std::string> micro;
    bool no_micro = false;
    std::vector<std::string> model_cards;
    std::string group_by;
    std::string gpu;
    std::vector<std::string> prices;
    std::string price_basis;
    std::string split;
    std::optional<double> target_usd_per_m;
    std::string demand;
    double target_utilization = 1;
    std::vector<std::string> slos;
    bool refold = false;
    std::vector<std::string> goodput;
    std::vector<std::string> quality;
    std::vector<std::string> what_ifs;
    std::string x = "interactivity_p90";
    std::string y = "usd_per_m";
    bool anyway = false;
    std::string title;
    std::string out = "report.html";
    std::string formats = "html,md,json";
    bool serve = false;
    std::string listen = "127.0.0.1:0";
};

/// Returns a page that consists of these sections, as Markdown.
std::string markdown_page(std::string title, std::vector<reports::Section> sections);

/// Writes such a page as NAME.html and NAME.md into the directory. Throws RuntimeError.
void write_page(std::string title, std::vector<reports::Section> sections,
                const std::filesystem::path& directory, std::string_view name);

/// Writes the files of a report without printing anything, and returns their paths. Throws UsageError when an
/// option or a file is wrong, RuntimeError when a file cannot be written.
std::vector<std::filesystem::path> write_report(const ReportCommand& command);

}  // namespace paretoken::cli
