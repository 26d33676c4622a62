#include "experiments/server/redaction.h"
#include "core/result/result.h"

#include <gtest/gtest.h>

#include "core/plan/plan_fields.h"

namespace paretoken::experiments {
namespace {

TEST(SecretsOf, are_also_those_in_commands_and_in_the_body) {
    LoadPlan plan;
    plan.server.command = "serve --api-key sk-server";
    plan.server.after_run_command = "curl -H 'Authorization: Bearer sk-after'";
    plan.sampling.extra_body = R"({"api_key": "sk-body"})";
    EXPECT_EQ(secrets_of(plan, "").redacted("sk-server, sk-after and sk-body"), "***, *** and ***");
    for (const auto& [name, text] : echo_of(plan)) EXPECT_EQ(text.find("sk-"), std::string::npos) << name;
}

TEST(SecretsOf, are_also_labels_whose_names_say_so) {
    LoadPlan plan;
    plan.metadata = {{"api_key", "sk-label"}, {"tokenizer", "llama"}, {"seed_key", "12345"}};
    EXPECT_EQ(secrets_of(plan, "").redacted("sk-label, llama and 12345"), "***, llama and 12345");
}

TEST(Redaction, hides_secrets_in_the_errors_of_every_scope) {
    Secrets secrets;
    secrets.add("hunter22hunter22");
    const std::map<std::string, std::string> errors = {{"http_error", "refused hunter22hunter22"}};
    RunResult result;
    result.counts.example_errors = errors;
    result.classes["batch"].counts.example_errors = errors;
    result.turns.emplace_back().counts.example_errors = errors;
    result.targets.emplace_back().counts.example_errors = errors;
    redact(result, secrets);
    for (const Scope* scope :
         {static_cast<const Scope*>(&result), static_cast<const Scope*>(&result.classes.at("batch")),
          static_cast<const Scope*>(&result.turns[0]), static_cast<const Scope*>(&result.targets[0])})
        EXPECT_EQ(scope->counts.example_errors.at("http_error"), "refused ***");
}

}  // namespace
}  // namespace paretoken::experiments
