#pragma once
// A page of what the hardware can do, from one micro result or from two beside each other.
#include <string>
#include <vector>

#include "reports/micro/micro_rows.h"

namespace paretoken::cli {

/// Throws UsageError when `path` ends neither in .html nor in .md: before anything is measured.
void expect_page_name(const std::string& option, const std::string& path);

/// Writes the page of all devices of a file.
void write_micro_page(const std::string& path, const reports::MicroFile& file);

/// Each device of the first beside that of the same place in the second, in the same charts.
void write_comparison_page(const std::string& path, const reports::MicroFile& first,
                           const reports::MicroFile& second);

}  // namespace paretoken::cli
