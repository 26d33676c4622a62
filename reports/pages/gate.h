#pragma once
// Writes a gate's verdict as text for the console, as Markdown, as JUnit XML and as annotations of GitHub.
// Text that comes from servers or files is escaped, so that it can end neither a cell of a table nor an
// element. The functions are pure.
#include <string>

#include "reports/analysis/gate/decision.h"

namespace paretoken::reports {

/// The verdict for a terminal with 80 columns. The headline is last. Without `verbose`, only what did not
/// pass stands above it; with it, every metric does.
std::string gate_console(const GateReport& report, bool verbose);

/// The verdict for a pull request: headline, table, and the intervals drawn as text.
std::string gate_markdown(const GateReport& report);

/// JUnit XML with one test case per metric. A metric that failed is a failure and an inconclusive one is an
/// error, both with the reason. tests/reports/analysis/gate/junit.xsd describes the format.
std::string gate_junit(const GateReport& report);

/// Workflow commands of GitHub, which it shows beside a pull request. There is one line for each metric that
/// failed, or if none failed, for each inconclusive one. The last line is the headline.
std::string gate_annotations(const GateReport& report);

}  // namespace paretoken::reports
