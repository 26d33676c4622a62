#pragma once
// Writes runs as JUnit XML: a case for the validity of each run and one for each of its limits. The function
// is pure.
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// A run with a name that says which one it is: "c=8".
struct NamedRun {
    std::string name;
    const RunResult* result = nullptr;
};

/// A limit that is missed is a failure. A limit of which nothing can be said, and a run that is not a valid
/// measurement, are errors with the reason. tests/reports/analysis/gate/junit.xsd describes the format.
std::string runs_junit(const std::vector<NamedRun>& runs);

}  // namespace paretoken::reports
