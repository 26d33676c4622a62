#include "reports/pages/html.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "core/result/metrics.h"
#include "reports/pages/markdown.h"
#include "tests/reports/sample_report.h"
#include "tests/support/paths.h"

namespace paretoken::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The page without its scripts, styles and data, so that only the markup is left.
std::string markup_of(const std::string& page) {
    std::string rest = page;
    for (const auto& [open, close] : {std::pair{"<script", "</script>"}, {"<style", "</style>"}})
        for (std::size_t at = 0; (at = rest.find(open)) != std::string::npos;)
            rest.erase(at, rest.find(close, at) + std::strlen(close) - at);
    return rest;
}

std::size_t occurrences(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
    return count;
}

TEST(HtmlReport, IsWrittenWhereABrowserCanOpenIt) {
    std::ofstream file(paretoken::paths::binary_dir() + "/sample-report.html");
    file << html_report(sample::report());
    EXPECT_TRUE(file.good());
}

TEST(HtmlReport, AnswersFirstAndProvesAfter) {
    const std::string page = html_report(sample::report());
    std::size_t at = 0;
    for (const char* part :
         {"<h1>SmolLM2-135M on two cores", "What a token costs", "the hardware floor is", "What load does",
          "Every number", "Can it be trusted", "loop_lag", "The limit of", "Price card", "Each run"}) {
        at = page.find(part, at);
        ASSERT_NE(at, std::string::npos) << part;
    }
    ReportModel one = sample::report();
    one.configurations.resize(1);
    EXPECT_LT(html_report(one).find("the hardware floor is"), html_report(one).find("What a token costs"))
        << "only several configurations begin with the chart that compares them";
    for (const char* expected : {"no slot available", "9f86d081884c7d65", "bench-3", "kernel receive stamps",
                                 "2026-11-cpu", "weight bandwidth", "compute (no GEMM was measured)",
                                 "its workload fingerprint differs", "$0.0526", "Cheapest"})
        EXPECT_THAT(page, HasSubstr(expected));
    for (const Metric& metric : metrics()) EXPECT_THAT(page, HasSubstr(html_escaped(metric.definition)));
}

TEST(HtmlReport, CallsAPercentileInfiniteOnlyIfItFallsAmongFailures) {
    ReportModel model;
    model.configurations.resize(1);
    const auto infinite = [&](const RunResult& run) {
        model.configurations[0].points = {sample::point(sample::run(32), "runs/32", 2.4e-5)};
        model.configurations[0].points[0].result = run;
        return occurrences(html_report(model), "<td>∞");
    };
    EXPECT_GT(infinite(sample::failing_run(32, .012, 8)), 0U);
    EXPECT_EQ(infinite(sample::withholding_run(32, .012, 8)), 0U);
}

TEST(HtmlReport, KeepsAPercentSignInTheLineOfItsNumber) {
    EXPECT_EQ(html_text("7 % of <b> %"), "7\u00a0% of &lt;b&gt; %");
    EXPECT_EQ(html_text(" %, 5 %"), " %, 5\u00a0%");
}

TEST(HtmlReport, CallsTheHighestThroughputOneWithinTheLimitsWhereThereAreLimits) {
    ReportModel model = sample::report();
    EXPECT_THAT(html_report(model), Not(HasSubstr("Highest throughput within the limits")));
    for (Configuration& one : model.configurations)
        for (ReportPoint& point : one.points) point.limits = SloVerdict::within;
    EXPECT_THAT(html_report(model), HasSubstr("Highest throughput within the limits"));
}

TEST(HtmlReport, LoadsNothingFromAnywhere) {
    const std::string markup = markup_of(html_report(sample::report()));
    for (const char* attribute : {" src=", " href=\"http", "@import", "url(", "<link", "<iframe", "<img"})
        EXPECT_THAT(markup, Not(HasSubstr(attribute)));
}

TEST(HtmlReport, AllowsOnlyTheScriptsAndStylesThatItHolds) {
    const std::string page = html_report(sample::report());
    const std::string lead = "Content-Security-Policy\" content=\"";
    const std::size_t begin = page.find(lead) + lead.size();
    const std::string text = page.substr(begin, page.find('"', begin) - begin);
    EXPECT_THAT(text, HasSubstr("default-src 'none'"));
    EXPECT_THAT(text, Not(HasSubstr("unsafe")));
    EXPECT_EQ(occurrences(text, "'sha256-"), 3U);
    EXPECT_THAT(markup_of(page), Not(HasSubstr(" style=")));  // the policy would refuse it
    EXPECT_THAT(markup_of(page), Not(testing::ContainsRegex(" on[a-z]+=")));
}

TEST(HtmlReport, ShowsHostileTextAsTextInEveryField) {
    const std::string evil = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{data}}<!--]]>&amp;";
    ReportModel model = sample::report();
    model.title = model.generated_at = model.version = evil;
    model.notes = model.front.separate = model.choice.slos = {evil};
    model.choice.ranked = {
        {.configuration = 0, .load_label = evil, .margins = {evil}, .why_not = evil, .command = evil},
        {.configuration = 1}};
    model.price = PriceNote{.card = evil,
                            .as_of = evil,
                            .source = evil,
                            .basis = evil,
                            .power = evil,
                            .currency = evil,
                            .rates = {{evil, 1, evil, evil}}};
    for (Configuration& c : model.configurations) {
        c.title = c.hardware = c.workload = c.answer = c.name = c.model = c.served = c.precision = evil;
        c.labels = {{evil, evil}};
        c.quality = Quality{0.5, 10, {0.4, 0.6}, evil};
        c.limit_terms = {{evil, 1, evil, evil}};
        c.dropped_terms = c.missing = c.errors = {evil};
        for (ReportPoint& p : c.points) {
            p.directory = p.load_label = p.why_not = evil;
            p.result.provenance = {"",
                                   evil,
                                   evil,
                                   evil,
                                   {evil},
                                   evil,
                                   evil,
                                   evil,
                                   evil,
                                   1,
                                   evil,
                                   evil,
                                   evil,
                                   evil,
                                   evil,
                                   evil,
                                   1,
                                   {{evil, 1}},
                                   ModelCardNote{evil, evil, evil, evil, evil},
                                   {{evil, evil}}};
            p.result.plan = {{evil, evil}};
            p.result.workload.fingerprint = p.result.workload.dataset = p.result.workload.endpoint =
                p.result.workload.salt = evil;
            p.result.workload.prompt_form = p.result.workload.length_source = evil;
            p.result.validity.reasons = {{Verdict::warn, evil, evil}};
            p.result.counts.by_outcome = {{evil, 3}};
            p.result.counts.example_errors = {{evil, evil}};
            p.result.window.how = p.result.client.timing = evil;
            p.result.metrics.push_back(sample::metric(evil, 1, 100));
        }
    }
    const std::string page = html_report(model);
    EXPECT_EQ(occurrences(page, "<script"), 3U);
    EXPECT_EQ(occurrences(page, "</script>"), 3U);
    EXPECT_THAT(page, HasSubstr("<script>/*!\n * Chart.js v"));  // it is embedded in packed form
    EXPECT_EQ(occurrences(page, "<!--"), 0U);
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<!--]]")));
    EXPECT_THAT(markup_of(page), HasSubstr("{{data}}"));  // shown as it is, not filled in
}

TEST(HtmlReport, WithoutAPriceSaysWhatIsMissing) {
    ReportModel model = sample::report();
    model.price.reset();
    for (Configuration& c : model.configurations) {
        c.missing = {"No price is known for this hardware: add --price CARD."};
        for (ReportPoint& p : c.points) p.cost.reset();
    }
    const std::string page = html_report(model);
    EXPECT_THAT(page, HasSubstr("add --price CARD"));
    EXPECT_THAT(page, Not(HasSubstr("What a token costs")));
    EXPECT_THAT(page, Not(HasSubstr("Price card")));
    EXPECT_THAT(page, Not(HasSubstr("Cheapest")));
    for (const std::vector<std::string>& slos : {std::vector<std::string>{}, {"tpot_p90:25"}}) {
        model.choice.slos = slos;
        model.choice.ranked = {{.configuration = 0, .load_label = "c=8", .command = "paretoken run"},
                               {.configuration = 1, .load_label = "c=4"}};
        const std::string text = markdown_report(model);
        EXPECT_THAT(text, HasSubstr(slos.empty() ? "## Fastest\n" : "## Fastest within your limits\n"));
        EXPECT_THAT(text, HasSubstr("No price is known"));
        EXPECT_THAT(text, HasSubstr("Measure the fastest again"));
        EXPECT_THAT(text, Not(HasSubstr("heapest")));
    }
}

TEST(HtmlReport, NeverCallsAnInvalidRunTheBest) {
    ReportModel model = sample::report();
    model.configurations.resize(1);
    for (ReportPoint& p : model.configurations[0].points) {
        p.result.validity.verdict = Verdict::invalid;
        p.fits = false;
    }
    EXPECT_THAT(html_report(model), Not(HasSubstr("Cheapest")));
}

TEST(HtmlReport, OfAHundredRunsStaysBelowOneMegabyte) {
    ReportModel model = sample::report();
    model.configurations.resize(1);
    auto& points = model.configurations[0].points;
    while (points.size() < 100) points.push_back(points[points.size() % 6]);
    EXPECT_LT(html_report(model).size(), 1'000'000U);
}

TEST(HtmlReport, OfAThousandRunsShowsInFullThoseThatMatterAndStaysBelowThreeMegabytes) {
    ReportModel model = sample::report();
    Configuration& many = model.configurations[1];
    ReportPoint plain = many.points[1];
    plain.on_front = plain.on_own_front = false;
    plain.directory = "runs/plain";
    while (many.points.size() < 994) many.points.push_back(plain);
    const std::string page = html_report(model);
    EXPECT_LT(page.size(), 3'000'000U);
    const std::string markup = markup_of(page);
    EXPECT_THAT(markup, Not(HasSubstr("runs/plain")));
    EXPECT_THAT(
        markup,
        HasSubstr("11 of 1,000 runs: those on a front and those with a warning or an invalid verdict"));
    EXPECT_THAT(markup, HasSubstr("2 of 1,000 runs: those with a check that was not passed"));
    const std::size_t table = markup.find("class=\"numbers\"");
    EXPECT_EQ(occurrences(markup.substr(table, markup.find("</table>", table) - table),
                          "<tr><th class=\"first\" scope=\"row\""),
              1000U);
}

TEST(HtmlReport, ThatIsServedAsksItsServerAndNobodyElse) {
    const std::string file = html_report(sample::report());
    const std::string served = served_html_report(sample::report(), "abc\"123");
    EXPECT_THAT(file, Not(HasSubstr("connect-src")));
    EXPECT_THAT(file, HasSubstr("<html lang=\"en\">"));
    EXPECT_THAT(served, HasSubstr("connect-src 'self'"));
    EXPECT_THAT(served, HasSubstr("<html lang=\"en\" data-served=\"abc&quot;123\">"));
}

TEST(FilledIn, PutsEachValueInOnceAndLooksAtItNoMore) {
    EXPECT_EQ(filled_in("a {{x}} b {{y}}{{x}}", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2{{y}}");
    EXPECT_EQ(filled_in("plain", {}), "plain");
}

TEST(Assets, HoldNothingThatWouldEndTheElementTheyStandIn) {
    const std::string page = html_report(sample::report());
    EXPECT_EQ(occurrences(page, "<script"), 3U);
    EXPECT_EQ(occurrences(page, "</script"), 3U);
    EXPECT_EQ(occurrences(page, "</style"), occurrences(page, "<style"));
    EXPECT_EQ(occurrences(page, "<!--"), 0U);
}

}  // namespace
}  // namespace paretoken::reports
