#include "cli/options/invocation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/plan_arguments.h"
#include "experiments/server/target.h"

namespace paretoken::cli {
namespace {

using Arguments = std::vector<std::string>;

TEST(AmountWithin, takes_finite_numbers_of_its_range_only) {
    const AmountWithin amount{.least = 1e-3, .most = 1e6};
    for (const char* text : {"0", "1e-3", "5", "1e6", "0.5"}) EXPECT_EQ(amount(text), "") << text;
    for (const char* text : {"", "nan", "inf", "-1", "1e-4", "1e7", "5x"})
        EXPECT_NE(amount(text).find("0 or a number from"), std::string::npos) << text;
    EXPECT_NE((AmountWithin{.least = 1, .most = 2, .zero = false}("0")), "");
}

TEST(WithoutSecrets, hides_the_values_of_headers_in_every_form_they_are_given) {
    EXPECT_EQ(without_secrets({"p", "-H", "Authorization: Bearer k", "--header", "x-key: k", "--header=a: k",
                               "-Hb: k", "--seed", "1"}),
              (Arguments{"p", "-H", "Authorization: ***", "--header", "x-key: ***", "--header=a: ***",
                         "-Hb: ***", "--seed", "1"}));
}

TEST(WithoutSecrets, hides_credentials_and_keys_of_urls_and_keeps_the_rest) {
    for (const std::string option : {"", "--url="}) {
        const Arguments hidden = without_secrets({"p", option + "http://user:pass@host:80/v1",
                                                  option + "https://host/v1?api_key=k", "http://host:80"});
        EXPECT_EQ(hidden[1].find("pass"), std::string::npos) << hidden[1];
        EXPECT_NE(hidden[1].find("host:80/v1"), std::string::npos) << hidden[1];
        EXPECT_TRUE(hidden[1].starts_with(option + "http://")) << hidden[1];
        EXPECT_EQ(hidden[2], option + "https://host/v1?api_key=***");
        EXPECT_EQ(hidden[3], "http://host:80");
    }
}

TEST(WithoutSecrets, hides_the_credentials_of_every_url_of_a_command_line_whatever_its_scheme) {
    EXPECT_EQ(
        without_secrets({"p", "--server-cmd", "serve s3://bucket/m --proxy http://u:p@h:1 -a HTTPS://v:q@i",
                         "--url=http://u:p@a,http://v:q@b"}),
        (Arguments{"p", "--server-cmd", "serve s3://bucket/m --proxy http://***@h:1 -a HTTPS://***@i",
                   "--url=http://***@a,http://***@b"}));
    EXPECT_EQ(without_secrets({"p", "://", "a ://", "x://"}), (Arguments{"p", "://", "a ://", "x://"}));
}

TEST(WithoutSecrets, hides_secret_variables_of_a_server_and_keeps_the_others) {
    EXPECT_EQ(without_secrets({"p", "--server-env", "HF_TOKEN=hunter", "--server-env=API_KEY=k",
                               "--server-env", "CUDA_VISIBLE_DEVICES=0"}),
              (Arguments{"p", "--server-env", "HF_TOKEN=***", "--server-env=API_KEY=***", "--server-env",
                         "CUDA_VISIBLE_DEVICES=0"}));
}

TEST(ShellLine, quotes_what_a_shell_would_take_apart) {
    EXPECT_EQ(shell_line({"paretoken", "run", "sim:ideal?ttft=1ms&itl=2ms", "a'b", ""}),
              "paretoken run 'sim:ideal?ttft=1ms&itl=2ms' 'a'\\''b' ''");
}

TEST(AccessOf, is_read_from_the_variable_that_the_plan_names) {
    LoadPlan plan;
    plan.api_key_env = "PARETOKEN_TEST_KEY";
    ASSERT_EQ(setenv("PARETOKEN_TEST_KEY", " sesame\n", 1), 0);
    EXPECT_EQ(access_of(plan).api_key, "sesame");
    ASSERT_EQ(unsetenv("PARETOKEN_TEST_KEY"), 0);
    EXPECT_THROW(access_of(plan), UsageError);
}

TEST(ApiKeyIn, is_empty_where_nobody_asked_for_the_variable_and_refused_where_it_is_no_header) {
    ASSERT_EQ(unsetenv("PARETOKEN_TEST_KEY"), 0);
    EXPECT_EQ(api_key_in("PARETOKEN_TEST_KEY", false), "");
    ASSERT_EQ(setenv("PARETOKEN_TEST_KEY", "two\nlines", 1), 0);
    EXPECT_THROW(api_key_in("PARETOKEN_TEST_KEY", false), UsageError);
    ASSERT_EQ(unsetenv("PARETOKEN_TEST_KEY"), 0);
}

}  // namespace
}  // namespace paretoken::cli
