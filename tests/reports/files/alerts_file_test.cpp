#include "reports/files/alerts_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string file_with(const std::string& alert) {
    return fmt::format(R"({{"schema": "paretoken/alerts/1", "alerts": [{}]}})", alert);
}

std::string refusal_of(const std::string& text) {
    try {
        (void)parse_alerts(text, "alerts.json");
    } catch (const UsageError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(AlertsFile, what_is_written_is_read_back) {
    EXPECT_EQ(parse_alerts(alerts_json(default_alerts()), "default"), default_alerts());
}

TEST(AlertsFile, a_rule_needs_no_more_than_what_it_compares) {
    const auto rules = parse_alerts(
        file_with(R"({"name": "slow", "series": "ttft_p99", "comparison": "above", "threshold": 2})"), "f");
    EXPECT_EQ(rules, (std::vector<AlertRule>{{.name = "slow", .series = "ttft_p99", .threshold = 2}}));
}

TEST(AlertsFile, a_series_that_no_engine_has_is_refused_with_the_known_ones) {
    EXPECT_THAT(
        refusal_of(file_with(R"({"name": "hot", "series": "heat", "comparison": "above", "threshold": 2})")),
        AllOf(HasSubstr("alerts.json"), HasSubstr("[0].series"), HasSubstr("heat"), HasSubstr("kv_usage"),
              HasSubstr("ttft_p95")));
}

TEST(AlertsFile, whatever_else_is_wrong_is_named_with_its_place) {
    const auto with = [](const std::string& more) {
        return refusal_of(
            file_with(R"({"name": "a", "series": "waiting", "comparison": "above")" + more + "}"));
    };
    EXPECT_THAT(with(""), HasSubstr("threshold"));
    EXPECT_THAT(with(R"(, "threshold": "many")"), HasSubstr("threshold"));
    EXPECT_THAT(with(R"(, "threshold": 1, "for": "long")"), HasSubstr("[0].for"));
    EXPECT_THAT(with(R"(, "threshold": 1, "severity": "page")"), HasSubstr("warn or fail"));
    EXPECT_THAT(with(R"(, "threshold": 1, "over": "4h")"), HasSubstr("risen_by"));
    EXPECT_THAT(with(R"(, "threshold": 1, "colour": "red")"), HasSubstr("colour"));
    EXPECT_THAT(refusal_of(file_with(
                    R"({"name": "a", "series": "kv_usage", "comparison": "above", "threshold": 90})")),
                HasSubstr("a share from 0 to 1, as kv_usage is"));
    EXPECT_EQ(parse_alerts(file_with(R"({"name": "a", "series": "failed_ratio", "threshold": 3,)"
                                     R"( "comparison": "above_baseline_times"})"),
                           "alerts.json")
                  .size(),
              1U);
    EXPECT_THAT(refusal_of(file_with(
                    R"({"name": "A b", "series": "waiting", "comparison": "above", "threshold": 1})")),
                HasSubstr("lower-case"));
    EXPECT_THAT(refusal_of(R"({"alerts": []})"), HasSubstr("paretoken/alerts/1"));
    EXPECT_THAT(refusal_of("alerts: none"), HasSubstr("alerts.json"));
    const std::string one = R"({"name": "a", "series": "waiting", "comparison": "above", "threshold": 1})";
    EXPECT_THAT(refusal_of(file_with(one + "," + one)), HasSubstr("no other alert"));
}

}  // namespace
}  // namespace paretoken::reports
