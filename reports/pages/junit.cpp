#include "reports/pages/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result/overload.h"
#include "core/result/slo.h"
#include "core/validity/validity.h"
#include "reports/document/table.h"
#include "reports/pages/html.h"

namespace paretoken::reports {
namespace {

JunitCase case_of(const RunResult& run, const SloResult& slo) {
    JunitCase one{.name = slo.key};
    if (slo.verdict == SloVerdict::met || slo.verdict == SloVerdict::within) return one;
    one.element = one.type = slo.verdict == SloVerdict::missed ? "failure" : "error";
    one.message = slo_text(run, slo);
    const std::string overload = overload_text(run);
    if (slo.verdict == SloVerdict::missed && one.message.find(overload) == std::string::npos)
        one.message += "; " + overload;
    return one;
}

std::vector<JunitCase> cases_of(const RunResult& run) {
    std::vector<JunitCase> cases = {{.name = "valid"}};
    if (run.validity.verdict == Verdict::invalid) {
        cases.front().element = cases.front().type = "error";
        cases.front().message = gravest_reason(run.validity);
    }
    for (const SloResult& slo : run.slo) cases.push_back(case_of(run, slo));
    return cases;
}

std::string junit_escaped(std::string_view text) {
    return html_escaped(printable(text, 4000));
}

}  // namespace

std::string junit_suite(std::string_view name, std::string_view classname,
                        const std::vector<JunitCase>& cases, std::string_view output) {
    const auto count = [&](std::string_view element) {
        return std::ranges::count(cases, element, &JunitCase::element);
    };
    std::string text =
        fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
                    junit_escaped(name), cases.size(), count("failure"), count("error"), count("skipped"));
    for (const JunitCase& one : cases) {
        text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", junit_escaped(classname),
                            junit_escaped(one.name));
        text += one.element.empty()
                    ? "/>\n"
                    : fmt::format(">\n      <{} type=\"{}\" message=\"{}\"/>\n    </testcase>\n", one.element,
                                  one.type, junit_escaped(one.message));
    }
    return text + fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n", junit_escaped(output));
}

std::string junit_file(const std::string& suites) {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n" + suites + "</testsuites>\n";
}

std::string runs_junit(const std::vector<NamedRun>& runs) {
    std::string suites;
    for (const NamedRun& run : runs)
        suites += junit_suite("paretoken " + run.name, "paretoken." + run.name, cases_of(*run.result),
                              name_of(run.result->validity.verdict));
    return junit_file(suites);
}

}  // namespace paretoken::reports
