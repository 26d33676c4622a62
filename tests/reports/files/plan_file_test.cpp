#include "reports/files/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/plan/plan.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(PlanFile, every_option_with_a_value_is_the_same_after_being_written_and_read) {
    PlanTexts asked = texts_of(LoadPlan{});
    asked["url"] = {"http://localhost:8000"};
    asked["concurrency"] = {"1..64"};
    asked["temperature"] = {"0.7"};
    asked["seed"] = {"18446744073709551615"};
    asked["ignore_eos"] = {"false"};
    asked["goodput"] = {"ttft:500", "tpot:15"};
    asked["extra_body"] = {R"({"stop": ["\n"]})"};
    asked["request_rate"] = {"inf"};
    EXPECT_EQ(parse_plan_json(plan_json(asked), "plan.json"), asked);
}

TEST(PlanFile, values_have_their_own_json_types) {
    const Json plan = Json::parse(plan_json({{"concurrency", {"4"}},
                                             {"temperature", {"0.7"}},
                                             {"ignore_eos", {"false"}},
                                             {"duration", {"30s"}},
                                             {"goodput", {"ttft:500"}}}));
    EXPECT_EQ(plan, Json::parse(R"({"schema": "paretoken/plan/1", "concurrency": 4, "temperature": 0.7,
                                    "ignore_eos": false, "duration": "30s", "goodput": ["ttft:500"]})"));
}

TEST(PlanFile, options_of_the_command_itself_stand_beside_those_of_a_plan) {
    const PlanTexts own{{"every", {"10s"}}, {"osl", {"8"}}};
    EXPECT_EQ(parse_plan_json(plan_json(own), "f", {"every"}), own);
    EXPECT_EQ(parse_plan_json(R"({"every": null})", "f", {"every"}), PlanTexts());
    EXPECT_THROW((void)parse_plan_json(plan_json(own), "f"), UsageError);
}

TEST(PlanFile, one_written_by_hand_needs_no_schema) {
    EXPECT_EQ(parse_plan_json(R"({"concurrency": 4, "model": null, "goodput": "ttft:500 tpot:15"})", "f"),
              (PlanTexts{{"concurrency", {"4"}}, {"goodput", {"ttft:500 tpot:15"}}}));
}

void refused(std::string_view text, const std::string& word) {
    try {
        (void)parse_plan_json(text, "plan.json");
        ADD_FAILURE() << "accepted: " << text;
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("plan.json"));
        EXPECT_THAT(error.what(), HasSubstr(word));
    }
}

TEST(PlanFile, what_is_none_is_refused_by_file_and_key) {
    refused("", "object");
    refused("[]", "object");
    refused(R"({"temprature": 1})", "temprature");
    refused(R"({"isl": 64, "isl": 65})", "\"isl\" is in it twice");
    refused(R"({"dataset_content": "00"})", "dataset_content");
    refused(R"({"schema": "paretoken/run/2"})", "paretoken/run/2");
    refused(R"({"extra_body": {"top_k": 5}})", "extra_body");
}

TEST(EchoJson, has_the_types_of_the_fields_whichever_class_they_belong_to) {
    EXPECT_EQ(Json::parse(echo_json(
                  {{"workers", "2"}, {"virtual", "true"}, {"batch.concurrency", "8"}, {"salt", "7"}})),
              Json::parse(R"({"workers": 2, "virtual": true, "batch.concurrency": 8, "salt": "7"})"));
}

}  // namespace
}  // namespace paretoken::reports
