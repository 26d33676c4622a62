#include "cli/help/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <sstream>
#include <string>

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
        for (const auto add : {add_try, add_run, add_sweep, add_gate, add_report, add_micro, add_baseline,
                               add_compare, add_cost})
            add(app_);
    }
    std::string of(const std::string& command, bool all = false, std::size_t width = 80) {
        return help_text(*app_.get_subcommand(command), "paretoken " + command, all, width);
    }
    CLI::App app_{"Measures.", "paretoken"};
};

TEST_F(Help, IsShortUnlessAllOptionsAreWanted) {
    const std::string brief = of("run");
    EXPECT_THAT(brief, HasSubstr("Usage: paretoken run"));
    EXPECT_THAT(brief, HasSubstr("paretoken run --help-all shows all options."));
    EXPECT_THAT(brief, HasSubstr("--concurrency"));
    EXPECT_THAT(brief, Not(HasSubstr("--spin")));
    EXPECT_THAT(of("run", true), HasSubstr("--spin"));
    EXPECT_LT(std::count(brief.begin(), brief.end(), '\n'), 100);
}

TEST_F(Help, ShowsFiveExamplesOfEachCommandThatHasAPage) {
    for (const HelpPage& page : help_pages()) {
        EXPECT_EQ(page.examples.size(), 10u) << page.command;
        if (page.command.empty()) continue;
        const std::string text = of(std::string(page.command));
        for (std::size_t i = 1; i < page.examples.size(); i += 2) {
            EXPECT_THAT(text, HasSubstr(std::string(page.examples[i])));
            EXPECT_THAT(std::string(page.examples[i]), HasSubstr("paretoken " + std::string(page.command)));
        }
    }
}

TEST_F(Help, OfReportNamesTheCommandForOnePricePerHour) {
    EXPECT_THAT(of("report"), HasSubstr("paretoken cost"));
}

TEST_F(Help, FindsTheExamplesAndOptionsThatHaveAWord) {
    const std::string trace = mentions_of(app_, "Traces", 80);
    EXPECT_THAT(trace, HasSubstr("paretoken run http://localhost:8000 --dataset mooncake --dataset-path"));
    EXPECT_THAT(mentions_of(app_, "header", 80), HasSubstr("run --header"));
    EXPECT_THAT(mentions_of(app_, "quantization", 80), HasSubstr("paretoken compare runs/fp8 runs/awq"));
    EXPECT_EQ(mentions_of(app_, "xyzzy", 80), "");
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
