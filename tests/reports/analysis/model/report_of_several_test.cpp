// A report on the results of several commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/join.h"
#include "reports/pages/gate.h"
#include "reports/pages/markdown.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

GateReport gate(std::uint64_t of_baseline, std::uint64_t of_candidate) {
    GateReport report{.headline = "INCONCLUSIVE"};
    for (std::uint64_t i = 0; i < of_baseline + of_candidate; ++i) {
        GateRunNote run;
        run.of_candidate = i >= of_baseline;
        report.runs.push_back(run);
    }
    report.baseline_name = "baseline main";
    report.candidate_name = "http://b";
    return report;
}

TEST(ReportOfSeveral, LeavesOutGatesThatComparedNothingAndNamesBothSidesOfTheOthers) {
    const NamedGates found{{"runs/1", gate(3, 2)}, {"runs/2", gate(7, 0)}, {"runs/3", gate(0, 0)}};
    const ReportedGates gates = gates_to_report(found, false);
    ASSERT_EQ(gates.shown.size(), 1U);
    EXPECT_EQ(gates.shown.front().first, "runs/1: http://b against baseline main");
    EXPECT_EQ(gates.note, "2 gates ended before anything was compared, and are left out: runs/2, runs/3.");
    EXPECT_TRUE(gates_to_report({{"runs/2", gate(7, 0)}}, true).shown.empty());
    EXPECT_EQ(gates_to_report({{"runs/2", gate(7, 0)}}, false).shown.size(), 1U)
        << "the report would be empty";
}

LoadedRun run_in(const std::string& directory, const std::string& sweep) {
    LoadedRun run;
    run.directory = directory;
    run.result = sample::run(4, .01);
    run.result.provenance.command += " in " + directory;  // runs with the same command are copies
    run.sweep = sweep;
    return run;
}

TEST(ReportOfSeveral, IsNamedAfterASearchOnlyIfAllRunsAreThoseOfTheSearch) {
    JoinOptions options;
    options.searches = {{.directory = "runs/slo", .axis = "concurrency", .search = {}}};
    options.searches.front().search.slos = {"tpot_p90:25"};
    const ReportModel alone = build_report({run_in("runs/slo/c0004", "runs/slo")}, options);
    EXPECT_THAT(alone.title, HasSubstr("tpot_p90:25"));
    const ReportModel several =
        build_report({run_in("runs/slo/c0004", "runs/slo"), run_in("runs/other", "")}, options);
    EXPECT_THAT(several.title, Not(HasSubstr("tpot_p90:25")));
    EXPECT_EQ(several.choice.slos_from, "the search in runs/slo");
    EXPECT_THAT(markdown_report(several), HasSubstr("25, the limits of the search in runs/slo. Of each"));
    options.slos = {{"tpot", .025}};
    options.slo_texts = {"tpot_p90:25"};
    EXPECT_EQ(build_report({run_in("runs/other", "")}, options).choice.slos_from, "");
}

TEST(ReportOfSeveral, DoesNotCompareTheCostsOfOtherWorkloads) {
    ReportModel model;
    model.configurations.resize(2);
    for (std::size_t i = 0; i < 2; ++i) {
        model.configurations[i].title = "one";
        model.configurations[i].workload = i == 0 ? "512 in : 64 out" : "512 in : 128 out";
        model.choice.ranked.push_back({.configuration = i, .load_label = "c=4", .usd_per_m_output = 1});
    }
    constexpr const char* kSentence = "The workloads differ: compare the costs only between rows";
    EXPECT_THAT(markdown_report(model), HasSubstr(kSentence));
    model.choice.ranked[1].why_not = "misses a limit";
    EXPECT_THAT(markdown_report(model), Not(HasSubstr(kSentence))) << "only one has a cost";
    model.choice.ranked[1].why_not.clear();
    model.configurations[1].workload = model.configurations[0].workload;
    EXPECT_THAT(markdown_report(model), Not(HasSubstr(kSentence)));
}

}  // namespace
}  // namespace paretoken::reports
