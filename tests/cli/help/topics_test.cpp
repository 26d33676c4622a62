#include "cli/help/topics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/text/validity_reasons.h"
#include "datasets/catalog.h"
#include "reports/document/table.h"
#include "reports/files/alerts_file.h"

namespace paretoken::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(std::string_view topic) {
    return topic_text(topic, 80).value_or("");
}

TEST(HelpTopics, MetricsAndFiguresHaveEachTheirOwnTable) {
    for (const Metric& metric : metrics()) {
        EXPECT_THAT(text_of("metrics"), HasSubstr("  " + key_of(metric) + "\n"));
        EXPECT_THAT(text_of("figures"), Not(HasSubstr("  " + key_of(metric) + "\n")));
    }
    for (const Figure& figure : figures()) {
        EXPECT_THAT(text_of("figures"), HasSubstr("  " + std::string(figure.key) + "\n"));
        EXPECT_THAT(text_of("metrics"), Not(HasSubstr("  " + std::string(figure.key) + "\n")));
    }
}

TEST(HelpTopics, ValidityListsEveryCheckWithWhatToDo) {
    std::string text;
    std::istringstream words(text_of("validity"));  // without its line breaks
    for (std::string word; words >> word;) text += word + " ";
    for (const ValidityReason& reason : validity_reasons()) {
        EXPECT_THAT(text, HasSubstr(std::string(reason.check) + " " + std::string(reason.means) + " " +
                                    std::string(reason.remedy)));
    }
}

TEST(HelpTopics, ACheckHasAnEntryOfItsOwn) {
    for (const ValidityReason& reason : validity_reasons())
        EXPECT_THAT(check_text(reason.check, 80).value_or(""),
                    HasSubstr("  " + std::string(reason.check) + "\n"));
    const std::string text = check_text("instrument", 80).value_or("");
    EXPECT_THAT(text, HasSubstr("--host-noise"));
    EXPECT_THAT(text, Not(HasSubstr("loop_lag")));
    EXPECT_THAT(check_text("unknown_gpu", 80).value_or(""), HasSubstr("unknown_FACT"));
    EXPECT_FALSE(check_text("xyzzy", 80));
}

TEST(HelpTopics, EveryTopicHasATextOfItsOwnWithinTheWidth) {
    std::set<std::string> texts;
    for (const Topic& topic : topics())
        for (const std::size_t width : {60, 80, 120}) {
            const std::string text = topic.text(width);
            if (width == 80) {
                EXPECT_TRUE(texts.insert(text).second) << topic.name;
            }
            EXPECT_GT(text.size(), 200u) << topic.name;
            std::istringstream lines(text);
            for (std::string line; std::getline(lines, line);) {
                const bool can_be_broken = line.find(' ', line.find_first_not_of(' ')) != std::string::npos;
                if (can_be_broken && line.starts_with("      ")) {
                    EXPECT_LE(reports::display_width(line), width) << topic.name;
                }
            }
        }
}

TEST(HelpTopics, DatasetsHaveTheRowsOfEachFormat) {
    const std::string all = text_of("datasets");
    for (const datasets::CatalogRow& row : datasets::catalog()) {
        const std::string one = dataset_text(row.name, 80).value_or("");
        EXPECT_THAT(one, HasSubstr("  --dataset " + std::string(row.name)));
        EXPECT_THAT(all, HasSubstr(one));
        const std::string_view first = row.example.substr(0, row.example.find('\n'));
        if (row.format == nullptr) continue;
        EXPECT_THAT(one, HasSubstr(fmt::format("\n    {}\n", first)));
    }
    EXPECT_EQ(dataset_text("multi-turn", 80), dataset_text("multi_turn", 80));
    EXPECT_FALSE(dataset_text("nonsense", 80));
}

TEST(HelpTopics, AlertsShowAFileThatCanBeRead) {
    const std::string text = text_of("alerts");
    const auto begin = text.find('{');
    const auto rules = reports::parse_alerts(text.substr(begin, text.rfind('}') + 1 - begin), "help");
    ASSERT_EQ(rules.size(), 1U);
    EXPECT_EQ(rules.front().threshold, .8);
    EXPECT_EQ(rules.front().severity, AlertSeverity::fail);
    EXPECT_EQ(text_of("alert"), text);
}

TEST(HelpTopics, AnUnknownTopicHasNoText) {
    EXPECT_FALSE(topic_text("nonsense", 80));
}

}  // namespace
}  // namespace paretoken::cli
