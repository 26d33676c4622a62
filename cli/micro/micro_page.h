#pragma once
// Writes a page about the speed of the hardware, from one micro result or from two side by side.
#include <string>

#include "reports/analysis/micro/micro_rows.h"

namespace paretoken::cli {

/// Throws UsageError when `path` ends neither in .html nor in .md. Called before anything is measured.
void expect_page_name(const std::string& option, const std::string& path);

/// Writes a page about all devices of `file`, as Markdown if `path` ends in .md, otherwise as HTML.
void write_micro_page(const std::string& path, const reports::MicroFile& file);

/// Writes a page that compares two files: one set of charts for each device of `first` whose id ("gpu0") is
/// also in `second`, with the results of both. Devices that only one file has are left out.
void write_comparison_page(const std::string& path, const reports::MicroFile& first,
                           const reports::MicroFile& second);

}  // namespace paretoken::cli
