#include "reports/files/json/gate_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/reports/analysis/gate/gate_runs.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string refused(const std::string& text) {
    try {
        (void)parse_policy_json(text, "policy.json");
    } catch (const UsageError& error) {
        return error.what();
    }
    return "taken";
}

GateReport failed_report() {
    const GatePolicy policy = default_policy();
    return decided(policy, {.baseline = sample::gate_runs(16, {}, .004, 1, "b"),
                            .candidate = sample::gate_runs(16, {{"ttft", 1.4}}, .004, 1, "c"),
                            .design = GateDesign::pairs,
                            .looks = looks_of(policy)});
}

TEST(GatePolicyFile, is_read_back_as_it_was_written) {
    GatePolicy policy = default_policy();
    policy.limits = {parse_limit("ttft_p95<800ms")};
    policy.max_pairs = 24;
    policy.metrics.push_back(
        {.name = "interactive/ttft_p95", .tolerance = .2, .floor = .005, .optional = true});
    EXPECT_EQ(parse_policy_json(policy_json(policy), "policy.json"), policy);
}

TEST(GatePolicyFile, leaves_what_it_does_not_name_at_the_default) {
    const GatePolicy policy = parse_policy_json(R"({"alpha": 0.02})", "policy.json");
    EXPECT_EQ(policy.alpha, .02);
    EXPECT_EQ(policy.metrics, default_policy().metrics);
}

TEST(GatePolicyFile, cannot_accept_more_failures_than_there_are_requests) {
    GatePolicy policy = default_policy();
    policy.metrics = {{.name = "failures", .tolerance = 2}};
    EXPECT_THROW(check(policy), UsageError) << "200 percentage points";
    policy.metrics = {{.name = "ttft_p50", .tolerance = 2}};
    EXPECT_NO_THROW(check(policy)) << "three times as long";
}

TEST(GatePolicyFile, has_each_metric_once) {
    GatePolicy policy = default_policy();
    policy.metrics.push_back(policy.metrics.front());
    EXPECT_THROW(check(policy), UsageError);
}

TEST(GatePolicyFile, may_list_no_metric_because_the_command_line_can_add_limits) {
    GatePolicy policy = parse_policy_json(R"({"metrics": []})", "policy.json");
    EXPECT_THROW(check(policy), UsageError);
    policy.limits = {parse_limit("ttft_p95<800ms")};
    EXPECT_NO_THROW(check(policy));
}

TEST(GatePolicyFile, is_refused_with_the_key_and_its_line) {
    EXPECT_THAT(refused("{\n  \"alpha\": 0.01,\n  \"looks\": 3\n}"), HasSubstr("policy.json:3: \"looks\""));
    EXPECT_THAT(
        refused("{\n  \"metrics\": [\n    {\"metric\": \"ttft_p95\"},\n    {\"metric\": \"ttft_p42\"}]\n}"),
        HasSubstr("policy.json:4: there is no metric 'ttft_p42'"));
    EXPECT_THAT(refused("{\n\n  \"alpha\": 7}"), HasSubstr("policy.json:3: alpha is 7"));
    EXPECT_THAT(refused("{\n  \"limits\": [\"ttft_p95>1s\"]}"), HasSubstr("policy.json:2: "));
    EXPECT_THAT(refused("{\n  \"alpha\": ,\n}"), HasSubstr("policy.json:2: not JSON"));
    EXPECT_THAT(refused("[]"), HasSubstr("policy.json:1"));
    EXPECT_THAT(refused(R"({"schema": "paretoken/plan/1"})"), HasSubstr("paretoken/gate-policy/1"));
    EXPECT_THAT(refused(R"({"metrics": [{"metric": "ttft_p95", "tolerance": "5 %"}]})"),
                HasSubstr("tolerance"));
    EXPECT_THAT(refused(R"({"max_pairs": -3})"), HasSubstr("max_pairs"));
}

TEST(GateFile, holds_the_verdict_its_rows_and_the_policy) {
    const Json file = Json::parse(gate_json(failed_report(), std::nullopt));
    EXPECT_EQ(file.at("schema"), "paretoken/gate/1");
    EXPECT_EQ(file.at("verdict"), "fail");
    EXPECT_EQ(file.at("design"), "pairs");
    EXPECT_THAT(file.at("headline").get<std::string>(), HasSubstr("FAIL"));
    EXPECT_EQ(file.at("policy").at("schema"), "paretoken/gate-policy/1");
    const Json& row = file.at("rows").at(1);
    EXPECT_EQ(row.at("metric"), "ttft_p50");
    EXPECT_EQ(row.at("verdict"), "fail");
    EXPECT_LT(row.at("shift_ci95").at(0), row.at("shift"));
    EXPECT_FALSE(file.contains("asked"));
}

TEST(GateFile, is_read_again_as_it_was_written) {
    GateReport report = failed_report();
    report.checklist = {{.what = "cost", .shown = true, .text = "$1"}};
    report.pair_s = 12.5;
    report.policy.limits = {parse_limit("ttft_p95<800ms")};
    report.runs.front().values["ttft_p95"] = kInfinity;  // among failed requests
    ASSERT_FALSE(report.conditions.empty());
    const GateReport read = parse_gate_json(gate_json(report, std::nullopt), "gate.json");
    EXPECT_EQ(read, report);
    EXPECT_THROW(parse_gate_json(R"({"schema": "paretoken/gate/1"})", "gate.json"), UsageError);
    EXPECT_THROW(parse_gate_json("{", "gate.json"), UsageError);
}

TEST(GateFile, tells_what_it_was_asked_for) {
    const GateAsked asked{.baseline = "http://a",
                          .candidate = "run 'it'",
                          .command = "paretoken gate …",
                          .started_at = "2026-11-22T09:00:00Z",
                          .options = {{"isl", "512"}, {"seed", "0"}}};
    EXPECT_EQ(parse_gate_asked(gate_json(failed_report(), asked), "gate.json"), asked);
    EXPECT_THROW(parse_gate_asked(gate_json(failed_report(), std::nullopt), "gate.json"), UsageError);
    for (const char* text : {"{}", "", "[1]", R"({"schema": 1, "asked": {}})"})
        EXPECT_THROW(parse_gate_asked(text, "gate.json"), UsageError) << text;
    EXPECT_THROW(parse_gate_asked(R"({"schema": "paretoken/gate/1", "asked": 3})", "gate.json"), UsageError);
}

}  // namespace
}  // namespace paretoken::reports
