#include "reports/pages/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunResult run_with(SloVerdict verdict) {
    RunResult run;
    run.slo = {{.key = "ttft_p95", .p = .95, .limit = .5, .value = .7, .verdict = verdict}};
    return run;
}

TEST(RunsJunit, has_a_failure_for_a_limit_that_is_missed) {
    const RunResult missed = run_with(SloVerdict::missed);
    const RunResult met = run_with(SloVerdict::within);
    const std::string text = runs_junit({{"c=1", &met}, {"c=8", &missed}});
    EXPECT_THAT(text, HasSubstr(R"(<testsuite name="paretoken c=8" tests="2" failures="1" errors="0")"));
    EXPECT_THAT(text, HasSubstr(R"(<testsuite name="paretoken c=1" tests="2" failures="0" errors="0")"));
    EXPECT_THAT(text, HasSubstr("ttft_p95 is 700 ms: over the limit of 500 ms"));
}

TEST(RunsJunit, says_that_the_server_did_not_keep_up) {
    RunResult run = run_with(SloVerdict::missed);
    run.window.overloaded = true;
    EXPECT_THAT(runs_junit({{"run", &run}}), HasSubstr("; the server does not keep up"));
}

TEST(RunsJunit, has_an_error_for_a_limit_of_which_nothing_is_known_and_for_an_invalid_run) {
    RunResult run = run_with(SloVerdict::insufficient);
    run.validity = {Verdict::invalid, {{Verdict::invalid, "all_failed", "all <3> requests failed"}}};
    const std::string text = runs_junit({{"run", &run}});
    EXPECT_THAT(text, HasSubstr(R"(failures="0" errors="2")"));
    EXPECT_THAT(text, HasSubstr("all &lt;3&gt; requests failed"));
    EXPECT_THAT(text, Not(HasSubstr("<3>")));
}

}  // namespace
}  // namespace paretoken::reports
