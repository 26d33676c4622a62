#pragma once
// A gate's verdict for people and for continuous integration: console, Markdown, JUnit, and the annotations
// of GitHub. Pure text; text from outside is escaped, so that it can end neither a cell nor an element.
#include <string>

#include "reports/gate/decision.h"

namespace paretoken::reports {

/// The verdict for a terminal with 80 columns, the headline first.
std::string gate_console(const GateReport& report);

/// The verdict for a pull request: headline, table, and the intervals drawn as text.
std::string gate_markdown(const GateReport& report);

/// JUnit XML with one test case per metric; failed and inconclusive ones contain the reason.
/// tests/reports/gate/junit.xsd describes the format.
std::string gate_junit(const GateReport& report);

/// GitHub workflow commands: one line for each metric that failed (or is inconclusive, if none failed), and
/// the headline.
std::string gate_annotations(const GateReport& report);

}  // namespace paretoken::reports
