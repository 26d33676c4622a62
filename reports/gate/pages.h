#pragma once
// A gate's verdict for people and for continuous integration: console, Markdown, JUnit, and the annotations
// of GitHub. Pure text; what comes from outside can neither end a cell nor an element.
#include <string>

#include "reports/gate/decision.h"

namespace paretoken::reports {

/// 80 columns, the headline first.
std::string gate_console(const GateReport& report);

/// For a pull request: headline, table, and the intervals drawn as text.
std::string gate_markdown(const GateReport& report);

/// A test case per metric: failed and inconclusive ones carry why. tests/reports/gate/junit.xsd describes it.
std::string gate_junit(const GateReport& report);

/// Workflow commands: a line per metric that failed (or stayed open, where none failed), and the headline.
std::string gate_annotations(const GateReport& report);

}  // namespace paretoken::reports
