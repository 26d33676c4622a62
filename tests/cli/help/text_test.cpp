#include "cli/help/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "core/error.h"
#include "reports/document/table.h"

namespace paretoken::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Help : public ::testing::Test {
  protected:
    Help() {
        app_.require_subcommand(1);
        for (const auto add :
             {add_try, add_run, add_sweep, add_gate, add_report, add_micro, add_baseline, add_compare,
              add_cost, add_plan, add_serve, add_cache, add_watch, add_merge, add_show, add_export})
            add(app_);
    }
    std::string of(const std::string& command, bool all = false, std::size_t width = 80) {
        return help_text(*app_.get_subcommand(command), "paretoken " + command, all, width);
    }
    std::string mentions(const std::vector<std::string>& words) { return mentions_of(app_, words, 80); }
    CLI::App app_{"Measures.", "paretoken"};
};

TEST_F(Help, IsShortUnlessAllOptionsAreWanted) {
    const std::string brief = of("run");
    EXPECT_THAT(brief, HasSubstr("Usage: paretoken run"));
    EXPECT_THAT(brief, HasSubstr("paretoken run --help-all shows all options."));
    EXPECT_THAT(brief, HasSubstr("--concurrency"));
    EXPECT_THAT(brief, Not(HasSubstr("--spin")));
    EXPECT_THAT(of("run", true), HasSubstr("--spin"));
    EXPECT_LT(std::count(brief.begin(), brief.end(), '\n'), 110);
}

TEST_F(Help, OfAWatchHasItsOwnDefaults) {
    const std::string text = of("watch", false, 200);
    for (const char* const expected : {"Give up on a request after this time [60s]",
                                       "the dataset has them [0.1]", "=.3 [128]", "for --isl [32]"})
        EXPECT_THAT(text, HasSubstr(expected));
    EXPECT_THAT(of("run", true, 200), HasSubstr("inf starts all requests at once"));
}

TEST_F(Help, ShowsTheExamplesOfEachCommandThatHasAPage) {
    for (const HelpPage& page : help_pages()) {
        EXPECT_EQ(page.examples.size() % 2, 0u) << page.command;
        if (page.command.empty()) continue;
        const std::string text = of(std::string(page.command));
        for (std::size_t i = 1; i < page.examples.size(); i += 2) {
            EXPECT_THAT(text, HasSubstr(std::string(page.examples[i])));
            EXPECT_THAT(std::string(page.examples[i]), HasSubstr("paretoken " + std::string(page.command)));
        }
    }
}

TEST_F(Help, AListInADescriptionHasALinePerEntry) {
    EXPECT_THAT(of("serve"), HasSubstr("\n      http-429: refused with 429 and Retry-After\n"
                                       "      http-503: refused with 503\n"));
}

TEST_F(Help, OfGateAndBaselineSaysHowABaselineIsMeasured) {
    const std::string gate = of("gate", false, 100);
    EXPECT_THAT(
        gate.substr(gate.find("Examples:")),
        ::testing::StartsWith(
            "Examples:\n  # Once: measure a server and store its runs as the baseline\n"
            "  paretoken gate --create-baseline --baseline main --candidate-url http://localhost:8000\n"));
    EXPECT_THAT(gate, HasSubstr("\n  --create-baseline\n"));
    EXPECT_THAT(of("baseline", false, 120), HasSubstr("paretoken gate --create-baseline"));
}

TEST_F(Help, OfReportNamesTheCommandForOnePricePerHour) {
    EXPECT_THAT(of("report"), HasSubstr("paretoken cost"));
}

TEST_F(Help, FindsTheExamplesOptionsCommandsAndTopicsThatHaveAWord) {
    const std::pair<const char*, const char*> found[] = {
        {"Traces", "paretoken run http://localhost:8000 --dataset mooncake --dataset-path"},
        {"replay", "paretoken run http://localhost:8000 --dataset mooncake --dataset-path"},
        {"speed", "--arrivals trace:scale=.5"},
        {"faster", "--arrivals trace:scale=.5"},
        {"twice", "--arrivals trace:scale=.5"},
        {"replay", "--arrivals trace:scale=.5"},
        {"save", "  paretoken baseline save\n"},
        {"json", "paretoken run http://localhost:8000 -H 'X-Team: a' --json > result.json"},
        {"header", "  -H, --header TEXT (try, run, sweep, gate, cache, watch)\n"},
        {"price", "  paretoken cost per-million\n"},
        {"slo", "See also: paretoken help figures, paretoken help loads, paretoken help limits\n"},
        {"users", "  --concurrency COUNT (run, gate)\n"},
        {"prompts", "paretoken run http://localhost:8000 --concurrency 8 --isl 1000 --osl 200"},
        {"quant", "paretoken compare runs/fp8 runs/awq"},
        {"multi-turn", "--dataset multi_turn:turns=6"},
        {"SLA", "--search slo --slo ttft_p95:800 --slo tpot_p95:50"},
        {"regression", "paretoken gate"},
        {"threshold", "--limit ttft_p95:800"},
        {"nightly", "paretoken gate"},
        {"CI", "--github --export junit=gate.xml"},
        {"distributed", "--shard 0/2"},
        {"rps", "--request-rate 4"},
        {"simulator", "paretoken serve"},
        {"jq", "--json | jq .metrics.ttft_s.p99"},
        {"bearer", "OPENAI_API_KEY"},
        {"slow", "paretoken report runs/mine"},
        {"low", "paretoken report runs/mine"},
        {"throughput", "paretoken report runs/mine"},
        {"queue", "paretoken report runs/mine"},
        {"bottleneck", "paretoken report runs/mine"},
        {"production", "paretoken watch"},
        {"monitor", "paretoken watch"},
        {"top_p", "--extra-body TEXT"},
        {"p99.9", ".p99"},
        {"markdown", "html, md, json"},
        {"abort", "--cancel TEXT"},
        {"knee", "--search slo --slo ttft_p95:800"},
        {"knee", "paretoken help limits"},
        {"bailian", "paretoken help datasets"},
    };
    for (const auto& [word, line] : found) EXPECT_THAT(mentions({word}), HasSubstr(line)) << word;
    EXPECT_EQ(mentions({"xyzzy"}), "");
}

TEST_F(Help, FindsWhatHasEachOfSeveralWords) {
    EXPECT_THAT(mentions({"two", "machines"}), HasSubstr("--shard 0/2"));
    EXPECT_THAT(mentions({"50", "rps"}), HasSubstr("--demand 50rps"));
    EXPECT_THAT(mentions({"trace", "speed"}), HasSubstr("--arrivals trace:scale=.5"));
    EXPECT_THAT(mentions({"price", "list"}), HasSubstr("--price prices.json"));
    EXPECT_THAT(mentions({"save", "responses"}), HasSubstr("--keep-answers"));
    EXPECT_THAT(mentions({"extra", "header"}), AllOf(HasSubstr("About 'header'"), HasSubstr("-H, --header")));

    EXPECT_THAT(mentions({"max", "throughput"}), HasSubstr("--request-rate auto:8"));
    EXPECT_THAT(mentions({"TTFT", "TPOT"}), HasSubstr("--search slo"));
    EXPECT_THAT(mentions({"run", "header"}), HasSubstr("  -H, --header TEXT (run)\n"));
    EXPECT_THAT(mentions({"save", "json"}), HasSubstr("--json > result.json"));
    EXPECT_THAT(mentions({"header", "xyzzy"}), HasSubstr("About 'header'"));
    EXPECT_EQ(mentions({"xyzzy", "plugh"}), "");
}

TEST_F(Help, TakesABeginningOfAWordOnlyIfNothingHasTheWholeWord) {
    EXPECT_THAT(mentions({"slo"}), Not(HasSubstr("slower")));
    EXPECT_THAT(mentions({"slowe"}), HasSubstr("slower"));
}

TEST_F(Help, TheMostUsedOptionsExist) {
    for (const HelpPage& page : help_pages())
        for (const std::string_view name : page.most_used)
            EXPECT_NE(app_.get_subcommand(std::string(page.command))->get_option_no_throw(std::string(name)),
                      nullptr)
                << page.command << " " << name;
}

TEST_F(Help, DescriptionsAreBrokenToTheWidth) {
    for (const std::size_t width : {60, 80, 120}) {
        std::istringstream lines(of("sweep", true, width));
        for (std::string line; std::getline(lines, line);) {
            const bool can_be_broken = line.starts_with("      ") && line.find(' ', 6) != std::string::npos;
            if (can_be_broken) {
                EXPECT_LE(reports::display_width(line), width) << line;
            }
        }
    }
}

TEST_F(Help, AManualPageEscapesWhatItsLanguageReads) {
    const std::string page = manual_page(*app_.get_subcommand("run"), "paretoken run");
    EXPECT_THAT(page, ::testing::StartsWith(".TH paretoken\\-run 1"));
    EXPECT_THAT(page, HasSubstr("\\-\\-concurrency"));
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(".")) {
            EXPECT_THAT(line, ::testing::MatchesRegex("\\.(TH|SH|PP|nf|RS|RE|fi|TP|B).*")) << line;
        }
}

TEST_F(Help, CompletionsNameCommandsAndTheirOptions) {
    for (const char* const shell : {"bash", "zsh", "fish"}) {
        const std::string script = completion_script(app_, shell);
        EXPECT_THAT(script, HasSubstr("sweep"));
        EXPECT_THAT(script, HasSubstr("concurrency"));
    }
    EXPECT_THROW(completion_script(app_, "tcsh"), UsageError);
}

}  // namespace
}  // namespace paretoken::cli
