#pragma once
// Writes JUnit XML: suites of cases, and runs as suites with a case for their validity and one for each of
// their limits. tests/reports/analysis/gate/junit.xsd describes the format. The functions are pure.
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// A test case and its result. `element` is "failure", "error" or "skipped"; it is empty if the case passed.
struct JunitCase {
    std::string name;
    std::string_view element = {};
    std::string_view type = {};  ///< type of a case that did not pass
    std::string message = {};
};

/// A suite of cases of one class. `output` is what the suite says as a whole. Every text is escaped.
std::string junit_suite(std::string_view name, std::string_view classname,
                        const std::vector<JunitCase>& cases, std::string_view output);

/// The file with these suites.
std::string junit_file(const std::string& suites);

/// A run with a name that says which one it is: "c=8".
struct NamedRun {
    std::string name;
    const RunResult* result = nullptr;
};

/// A missed limit is a failure; one that is not decided, and a run that is not valid, are errors.
std::string runs_junit(const std::vector<NamedRun>& runs);

}  // namespace paretoken::reports
