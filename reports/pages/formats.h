#pragma once
// The table of report formats: a new one is a file and a row.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model/report_model.h"

namespace paretoken::reports {

struct ReportFormat {
    std::string_view name;  ///< what --format takes
    std::string_view extension;
    std::string_view description;
    std::string (*write)(const ReportModel& model) = nullptr;
};

std::span<const ReportFormat> report_formats();

/// "html,md,json" → the rows. Throws UsageError naming the unknown one and the known ones.
std::vector<const ReportFormat*> formats_named(std::string_view list);

}  // namespace paretoken::reports
