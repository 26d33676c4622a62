// A report on the results of several commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cards/price.h"
#include "core/result/slo.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/join.h"
#include "reports/pages/gate.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
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

/// Two runs with the limits `first` and `second`, judged by them.
std::vector<LoadedRun> two_with_slos(const std::string& first, const std::string& second) {
    std::vector<LoadedRun> runs{run_in("runs/a", ""), run_in("runs/b", "")};
    for (std::size_t i = 0; i < 2; ++i) {
        RunResult& run = runs[i].result;
        run.provenance.metadata = {{"build", i == 0 ? "b1" : "b2"}};
        run.plan["slo"] = i == 0 ? first : second;
        run.plan["goodput"] = "ttft:1000";
        run.slo = slo_results(run, parse_slos(slo_texts_in(run.plan["slo"])));
    }
    return runs;
}

TEST(ReportOfSeveral, HasTheLimitsOfTheRunsBeforeThoseOfTheirRequests) {
    const ReportModel model = build_report(two_with_slos("ttft_p99:45", "ttft_p99:45"), {});
    EXPECT_THAT(model.choice.slos, ElementsAre("ttft_p99:45"));
    EXPECT_THAT(model.choice.ranked.front().why_not, HasSubstr("ttft_p99")) << "both runs missed it";
    JoinOptions options;
    options.slo_texts = {"e2e:60000"};
    options.slos = {parse_slo("e2e:60000")};
    EXPECT_THAT(build_report(two_with_slos("ttft_p99:45", "ttft_p99:45"), options).choice.slos,
                ElementsAre("e2e:60000"));
}

TEST(ReportOfSeveral, MarksARunThatMissedItsOwnLimitWhereTheLimitsDiffer) {
    JoinOptions options;
    options.prices = cards::default_price_cards();
    const ReportModel model = build_report(two_with_slos("ttft_p99:45", "ttft_p99:44"), options);
    EXPECT_THAT(model.choice.slos, ElementsAre("ttft:1000")) << "the --goodput of all";
    EXPECT_THAT(model.title, HasSubstr("; this run missed its own SLO ttft_p99:4"));
    EXPECT_THAT(model.configurations[0].answer, HasSubstr(" This run missed its own SLO ttft_p99:45."));
    const std::string markdown = markdown_report(model);
    EXPECT_THAT(markdown, HasSubstr("front, missed its own SLO ttft\\_p99:44 |"));
    EXPECT_THAT(html_report(model), HasSubstr("<small>missed its own SLO ttft_p99:44</small>"));
    EXPECT_THAT(html_report(model), HasSubstr("<li>wide grey line: the runs that no run"));
}

TEST(ReportOfSeveral, ShowsQualityAndSaysThatTheCheapestAnswersCertainlyWorse) {
    JoinOptions options;
    options.prices = cards::default_price_cards();
    options.quality = {{{{"build", "b1"}}, .8, 1000, "q.json"}, {{{"build", "b2"}}, .6, 1000, "q.json"}};
    std::vector<LoadedRun> runs = two_with_slos("e2e:60000", "e2e:60000");
    runs[1].result.throughput.set(figure::kOutputTokens, 5000);
    const ReportModel model = build_report(runs, options);
    EXPECT_THAT(model.title,
                HasSubstr("build=b2, whose answers (60.0 % right) are certainly worse than those "
                          "of build=b1 (80.0 % right)"));
    EXPECT_THAT(model.configurations[0].answer,
                HasSubstr(" 80.0 % of its 1,000 answers are right (95 % interval 77.4 to 82.4 %)."));
    EXPECT_THAT(model.configurations[1].answer,
                HasSubstr("They are certainly worse than those of build=b1 (80.0 % right)."));
    for (const std::string& page : {markdown_report(model), html_report(model)}) {
        EXPECT_THAT(page, HasSubstr("% (56.9–63.0)"));
        EXPECT_THAT(page, HasSubstr("answers certainly worse than those of build=b1"));
    }
    options.quality_equal = true;
    EXPECT_THAT(build_report(runs, options).title, Not(HasSubstr("worse")));
}

TEST(ReportOfSeveral, NamesTheNumberOfSimulatedGpusAndLabelsThatDifferBetweenHardware) {
    std::vector<LoadedRun> runs{run_in("runs/a", "runs/a"), run_in("runs/b", "runs/b")};
    for (std::size_t i = 0; i < 2; ++i) {
        Provenance& from = runs[i].result.provenance;
        from.hardware = "h100-sxm";
        from.hardware_count = i == 0 ? 1 : 2;
        from.simulator = {{"weight_bytes", 15.0e9}};
        from.model_card = ModelCardNote{"llama", "llama", i == 0 ? "bf16" : "fp8", "bf16", "0"};
    }
    const ReportModel model = build_report(runs, {});
    EXPECT_THAT(model.configurations[0].title, EndsWith(" on simulated h100-sxm, weights=bf16"));
    EXPECT_THAT(model.configurations[1].title, EndsWith(" on simulated 2 × h100-sxm, weights=fp8"));
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
    EXPECT_EQ(answer_title(model), "$1.00 per million output tokens: one (512 in : 64 out)");
    model.cost = CostSheet{.configuration = 1, .load_label = "c=4"};
    model.configurations[1].points.push_back(sample::point(sample::run(4), "runs/b", 1e-4));
    EXPECT_THAT(markdown_report(model), HasSubstr("one at c=4 (512 in : 128 out)"));
    model.choice.ranked[1].why_not = "misses a limit";
    EXPECT_THAT(markdown_report(model), Not(HasSubstr(kSentence))) << "only one has a cost";
    model.choice.ranked[1].why_not.clear();
    model.configurations[1].workload = model.configurations[0].workload;
    EXPECT_THAT(markdown_report(model), Not(HasSubstr(kSentence)));
    EXPECT_THAT(markdown_report(model), Not(HasSubstr("The models differ")));
    model.configurations[1].served = "llama-3.3-70b";
    EXPECT_THAT(markdown_report(model),
                HasSubstr("The models differ: compare the costs only between models"));
}

}  // namespace
}  // namespace paretoken::reports
