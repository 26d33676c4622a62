#include "reports/document/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/pages/section_html.h"
#include "reports/pages/section_markdown.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Picture picture(const std::string& text) {
    return {.id = "p",
            .title = text + "title",
            .x_title = text + "x",
            .y_title = text + "y",
            .series = {{.name = text + "series",
                        .points = {{.x = 1, .y = 4010, .valid = false, .row = {}, .note = {}}}}},
            .lines = {{text + "line", 4400}},
            .marks = {{text + "mark", 1234}}};
}

Bars bars(const std::string& text) {
    return {.title = text + "bars",
            .what = text + "what",
            .unit = "ms",
            .x_title = "ms",
            .bars = {{text + "bar", text + "tip", 3}},
            .parts = {{.name = text + "part", .group = text + "group", .lengths = {3}}}};
}

Table table(const std::string& text) {
    return {.columns = {{text + "head", Align::left},
                        {text + "number"},
                        {.title = text + "blocks", .text_only = true}},
            .rows = {{text + "row", text + "12", text + "▁▃█"}},
            .titles = {{.series = 3, .note = text + "note"}}};
}

/// A section with a block of every kind. Every text begins with `text`.
Section whole(const std::string& text) {
    return {
        "whole",
        text + "section",
        {{Paragraph{text + "sentence", text + "strong"}},
         {Notices{{{text + "remark", text + "code", Tone::warning, text + "evidence"}, {text + "plain"}}}},
         {Headlines{{{text + "name", text + "value", text + "headline"}}}},
         {Facts{{{text + "fact", text + "is"}, {text + "unknown", ""}}}},
         {Command{"run --out " + text + "dir"}},
         {table(text)},
         {Charts{{{.id = "chart-1", .picture = picture(text)},
                  {.id = "chart-2", .picture = picture(text), .table = Table{{{text + "own"}}, {{"7"}}}},
                  {.id = "chart-3", .picture = picture(text + "drawn "), .drawn_only = true}}}},
         {BarChart{"bars-1", bars(text), Table{{{text + "bar table"}}, {{"8"}}}}},
         {Part{.title = text + "part", .series = 2, .ruled = true, .blocks = {{Paragraph{text + "inside"}}}}},
         {Folded{text + "summary", {{Part{.title = text + "folded part", .blocks = {{table(text)}}}}}}}}};
}

TEST(Section, IsWrittenWholeInBothFormats) {
    const Section section = whole("");
    const std::string html = html_of(section);
    const std::string markdown = markdown_of(section, 2);
    for (const std::string& page : {html, markdown})
        for (const char* text :
             {"section", "sentence",  "strong", "remark", "code",    "evidence",   "plain", "fact",
              "is",      "dir",       "head",   "number", "row",     "12",         "note",  "4,010*",
              "own",     "bar table", "part",   "inside", "summary", "folded part"}) {
            if (page == markdown && std::string_view(text) == "4,010*") text = "4,010\\*";
            EXPECT_THAT(page, HasSubstr(text));
        }
    EXPECT_THAT(html, AllOf(HasSubstr("<h2 id=\"whole-title\">"), HasSubstr("headline"),
                            HasSubstr("<canvas id=\"chart-3\""), HasSubstr("<canvas id=\"bars-1\""),
                            HasSubstr("data-series=\"3\""), HasSubstr("Dashed: line 4,400, mark at 1,234.")));
    EXPECT_THAT(html, Not(HasSubstr("▁▃█"))) << "HTML draws charts";
    EXPECT_THAT(html, Not(HasSubstr("unknown"))) << "a fact without a value";
    EXPECT_THAT(markdown,
                AllOf(HasSubstr("## section\n"), HasSubstr("### part\n"), HasSubstr("▁▃█"),
                      HasSubstr("\n    run --out dir\n"), HasSubstr("(line 4,400, mark at 1,234)")));
    EXPECT_THAT(markdown, Not(HasSubstr("drawn title"))) << "a chart without a table";
    EXPECT_THAT(charts_of({section}), SizeIs(3));
    EXPECT_THAT(bar_charts_of({section}), SizeIs(1));
}

TEST(Section, ShowsHostileTextAsText) {
    const Section section = whole("\"'><img src=x>|`\n# h\n");
    EXPECT_THAT(html_of(section), AllOf(Not(HasSubstr("<img")), Not(HasSubstr("\"'>"))));
    std::string markdown = markdown_of(section, 2);
    EXPECT_THAT(markdown, Not(HasSubstr("\n# h")));
    for (std::size_t at = 0; (at = markdown.find("<img", at)) != std::string::npos; ++at) {
        const std::size_t line = markdown.rfind('\n', at) + 1;
        EXPECT_EQ(markdown.substr(line, 4), "    ") << "only a block of code may hold it";
    }
}

TEST(Section, BreaksTheLinesOfACellInHtmlAndJoinsThemInMarkdown) {
    const Table lines{{{"a", Align::left}, {"b", Align::left}}, {{"row", "one\ntwo"}}};
    EXPECT_THAT(html_of(lines), HasSubstr("one<br>two"));
    EXPECT_THAT(markdown_of(lines), HasSubstr("| row | one; two |"));
}

TEST(Menu, HasAnOptionForEachPartAndIsLeftOutOfMarkdownUnlessThereIsOne) {
    Menu menu{.label = "Run",
              .options = {{.title = "first", .blocks = {{table("")}}},
                          {.title = "second", .blocks = {{table("")}}}},
              .shown = 1};
    const Section two{"id", "title", {{Paragraph{"lead"}}, {menu}}};
    EXPECT_THAT(html_of(two), AllOf(HasSubstr("<option value=\"1\" selected>second"),
                                    HasSubstr("data-option=\"id-0\""), HasSubstr("data-option=\"id-1\"")));
    EXPECT_EQ(markdown_of(two, 2), "") << "nothing but the lead would be left";
    menu.options.pop_back();
    const Section one{"id", "title", {{Paragraph{"lead"}}, {menu}}};
    EXPECT_THAT(html_of(one), Not(HasSubstr("<select")));
    EXPECT_THAT(markdown_of(one, 2), AllOf(HasSubstr("lead"), HasSubstr("▁▃█")));
}

TEST(SectionHtml, GivesTheFirstTableTheIdThatTheSkipLinkLeadsToWhereAsked) {
    const Section section = whole("");
    EXPECT_THAT(html_of(section), Not(HasSubstr("id=\"numbers\"")));
    const std::string html = html_of(section, true);
    const std::size_t first = html.find("id=\"numbers\"");
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(html.find("id=\"numbers\"", first + 1), std::string::npos);
}

}  // namespace
}  // namespace paretoken::reports
