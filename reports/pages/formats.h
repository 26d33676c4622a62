#pragma once
// The table of report formats. A new format needs a file and a row in this table.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

struct ReportFormat {
    std::string_view name;       ///< name that --format takes
    std::string_view extension;  ///< end of the file's name without the first dot: "inferencex.json"
    std::string_view description;
    std::string (*write)(const ReportModel& model) = nullptr;
};

std::span<const ReportFormat> report_formats();

/// The formats in a list such as "html,md,json", in this order and each once. Throws a UsageError that names
/// the unknown format and the known ones.
std::vector<const ReportFormat*> formats_named(std::string_view list);

}  // namespace paretoken::reports
