#pragma once
// Writes a gate's verdict as text for the console, as JUnit XML and as annotations of GitHub, and chooses the
// gates that a report shows. Text from servers or files is escaped. reports/analysis/gate/sections.h has the
// sections of its page.
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/gate/decision/self_test.h"
#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The verdict for a terminal with 80 columns. The headline is last. Without `verbose`, only what did not
/// pass stands above it; with it, every metric does.
std::string gate_console(const GateReport& report, bool verbose);

/// A self-test for a terminal with 80 columns: a table of what a gate would show, and the answer last.
std::string self_test_console(const SelfTest& test);

/// JUnit XML with one test case per metric. A metric that failed is a failure and an inconclusive one is an
/// error, both with the reason. tests/reports/analysis/gate/junit.xsd describes the format.
std::string gate_junit(const GateReport& report);

/// Workflow commands of GitHub, which it shows beside a pull request. There is one line for each metric that
/// failed, or if none failed, for each inconclusive one. The last line is the headline.
std::string gate_annotations(const GateReport& report);

using NamedGates = std::vector<std::pair<std::string, GateReport>>;

struct ReportedGates {
    NamedGates shown = {};  ///< by "runs/1: http://b against the baseline main"
    std::string note = {};  ///< sentence on the gates that are left out; empty if there are none
};

/// Leaves out the gates that ended before both sides had a run, unless the report would have nothing else
/// (`has_other_results`). `found` has the gates by their directories.
ReportedGates gates_to_report(NamedGates found, bool has_other_results);

}  // namespace paretoken::reports
