#include "cli/micro/micro_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/version.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/files/file_io.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"

namespace paretoken::cli {
namespace {

void write_devices(const std::string& path, std::string title, const std::string& date,
                   std::vector<reports::DevicePicture> devices) {
    reports::ReportModel model;
    model.title = std::move(title);
    model.generated_at = date;
    model.version = version();
    model.devices = std::move(devices);
    reports::write_file_atomically(
        path, path.ends_with(".md") ? reports::markdown_report(model) : reports::html_report(model));
}

}  // namespace

void expect_page_name(const std::string& option, const std::string& path) {
    if (path.ends_with(".html") || path.ends_with(".md")) return;
    throw UsageError(fmt::format("{} {}: expected a name that ends in .html or .md", option, path));
}

void write_micro_page(const std::string& path, const reports::MicroFile& file) {
    std::vector<reports::DevicePicture> devices;
    std::string names;
    for (const reports::MicroResults& one : reports::results_of(file)) {
        devices.push_back(reports::picture_of(one));
        names += fmt::format("{}{}", names.empty() ? "" : " and ", one.device.name);
    }
    write_devices(path, "What " + names + " can do", file.date, std::move(devices));
}

void write_comparison_page(const std::string& path, const reports::MicroFile& first,
                           const reports::MicroFile& second) {
    const auto before = reports::results_of(first);
    const auto after = reports::results_of(second);
    std::vector<reports::DevicePicture> devices;
    for (const reports::MicroResults& one : before) {
        const auto other = std::ranges::find_if(
            after, [&](const reports::MicroResults& two) { return two.device.id == one.device.id; });
        if (other != after.end()) devices.push_back(reports::picture_of_both(one, *other));
    }
    write_devices(path, fmt::format("{} beside {}", first.where, second.where), second.date,
                  std::move(devices));
}

}  // namespace paretoken::cli
