#pragma once
// The sections of a page about a gate, as values (reports/document/section.h).
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/gate/gate_report.h"
#include "reports/document/section.h"

namespace paretoken::reports {

/// The verdict with its reason, the shifts with their tolerances, the conditions of both sides, the checklist
/// if there is one, and the runs. The headline of the report is the title of the page, not part of a section.
std::vector<Section> gate_sections(const GateReport& report);

/// The verdicts of several gates, each with its directory.
Section gates_section(const std::vector<std::pair<std::string, GateReport>>& gates);

}  // namespace paretoken::reports
