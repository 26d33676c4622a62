#pragma once
// Writes a report as JSON.
#include <string>
#include <vector>

#include "reports/analysis/model/report_model.h"
#include "reports/document/section.h"

namespace paretoken::reports {

inline constexpr std::string_view kReportSchema = "paretoken/report/1";

/// The whole report ("paretoken/report/1"), with the metrics of every run but no time series.
std::string report_json(const ReportModel& model);

/// The data that the page's script draws: the runs, for the charts of the front and of the load, and the
/// charts of the sections. The text is safe inside a script element ("<" is escaped).
std::string chart_json(const ReportModel& model, const std::vector<Section>& sections);

}  // namespace paretoken::reports
