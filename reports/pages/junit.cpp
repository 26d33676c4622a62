#include "reports/pages/run_junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/result/validity.h"
#include "reports/document/table.h"
#include "reports/pages/html.h"

namespace paretoken::reports {
namespace {

/// The result of a case. `element` is "failure" or "error", or empty if the case passed.
struct JunitCase {
    std::string name;
    std::string_view element = {};
    std::string message = {};
};

JunitCase case_of(const SloResult& slo) {
    JunitCase one{.name = slo.key};
    const std::string value = slo.value
                                  ? fmt::format("is {:.4g}, and the limit is {:.4g}", *slo.value, slo.limit)
                                  : fmt::format("has no value, and the limit is {:.4g}", slo.limit);
    switch (slo.verdict) {
        case SloVerdict::met:
        case SloVerdict::within:
            return one;
        case SloVerdict::missed:
            one.element = "failure";
            one.message = fmt::format("{} {}", slo.key, value);
            return one;
        case SloVerdict::insufficient:
            one.element = "error";
            one.message = fmt::format("{} {}; {}", slo.key, value,
                                      slo.note.empty() ? "too few requests to tell" : slo.note);
            return one;
    }
    return one;
}

std::vector<JunitCase> cases_of(const RunResult& run) {
    std::vector<JunitCase> cases = {{.name = "valid"}};
    if (run.validity.verdict == Verdict::invalid) {
        cases.front().element = "error";
        cases.front().message = gravest_reason(run.validity);
    }
    for (const SloResult& slo : run.slo) cases.push_back(case_of(slo));
    return cases;
}

std::string junit_escaped(std::string_view text) {
    return html_escaped(printable(text, 4000));
}

std::string suite_of(const NamedRun& run) {
    const std::vector<JunitCase> cases = cases_of(*run.result);
    const auto count = [&](std::string_view element) {
        return std::count_if(cases.begin(), cases.end(),
                             [&](const JunitCase& one) { return one.element == element; });
    };
    std::string text =
        fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n",
                    junit_escaped("paretoken " + run.name), cases.size(), count("failure"), count("error"));
    for (const JunitCase& one : cases) {
        text += fmt::format("    <testcase classname=\"paretoken.{}\" name=\"{}\"", junit_escaped(run.name),
                            junit_escaped(one.name));
        text += one.element.empty()
                    ? "/>\n"
                    : fmt::format(">\n      <{0} type=\"{0}\" message=\"{1}\"/>\n    </testcase>\n",
                                  one.element, junit_escaped(one.message));
    }
    return text + fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n",
                              name_of(run.result->validity.verdict));
}

}  // namespace

std::string runs_junit(const std::vector<NamedRun>& runs) {
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    for (const NamedRun& run : runs) text += suite_of(run);
    return text + "</testsuites>\n";
}

}  // namespace paretoken::reports
