#include "cli/options/plan_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/plan/plan.h"
#include "datasets/catalog.h"
#include "loadgen/load/arrival.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Returns the options of a command line.
PlanOptions parsed(const std::vector<std::string>& words, Levels levels = Levels::one) {
    CLI::App app;
    PlanOptions options;
    add_plan_options(app, options, levels);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return options;
}

LoadPlan asked(const std::vector<std::string>& words) {
    return plan_of(texts_of(parsed(words)));
}

TEST(PlanOptions, every_field_with_flags_is_an_option_and_shows_in_the_help) {
    CLI::App app;
    PlanOptions options;
    add_plan_options(app, options, Levels::one);
    const std::string help = app.help();
    for (const PlanField& field : plan_fields()) {
        if (field.flags.empty()) continue;
        EXPECT_NE(app.get_option_no_throw(option_of(field)), nullptr) << field.name;
        EXPECT_THAT(help, HasSubstr(option_of(field)));
    }
}

TEST(PlanOptions, the_whole_address_of_an_endpoint_gives_the_server_and_the_protocol) {
    LoadPlan plan = asked({"http://a:1/x/v1/completions"});
    EXPECT_EQ(plan.targets, std::vector<std::string>{"http://a:1/x/v1"});
    EXPECT_EQ(plan.endpoint_type, "completions");
    EXPECT_EQ(plan.endpoint_path, "");
    plan = asked({"http://a:1/api/paas/v4/chat/completions/"});
    EXPECT_EQ(plan.targets, std::vector<std::string>{"http://a:1/api/paas/v4"});
    EXPECT_EQ(plan.endpoint_type, "chat");
    EXPECT_EQ(plan.endpoint_path, "");
    EXPECT_EQ(asked({"http://a/v1/messages"}).endpoint_type, "messages");
    EXPECT_EQ(asked({"http://a/v1/messages/ \n"}).endpoint_type, "messages") << "pasted with blanks";
    EXPECT_EQ(asked({"http://a:1/docs"}).targets, std::vector<std::string>{"http://a:1"});
    EXPECT_EQ(asked({"http://a:1/llm/metrics"}).targets, std::vector<std::string>{"http://a:1/llm"});
    EXPECT_EQ(asked({"http://a/v1/responses"}).endpoint_type, "responses");
}

TEST(PlanOptions, a_whole_address_without_a_version_before_its_path_gives_the_path_too) {
    const LoadPlan plan = asked({"https://a/openai/deployments/d/chat/completions?api-version=1"});
    EXPECT_EQ(plan.targets, std::vector<std::string>{"https://a/openai/deployments/d?api-version=1"});
    EXPECT_EQ(plan.endpoint_path, "/chat/completions");
}

TEST(PlanOptions, a_given_protocol_or_path_goes_before_that_of_the_address) {
    LoadPlan plan = asked({"http://a/v1/completions", "--endpoint-type", "chat"});
    EXPECT_EQ(plan.targets, std::vector<std::string>{"http://a/v1"});
    EXPECT_EQ(plan.endpoint_type, "chat");
    plan = asked({"http://a/x/completions", "--endpoint", "/y"});
    EXPECT_EQ(plan.endpoint_path, "/y");
    EXPECT_EQ(plan.endpoint_type, "completions");
}

TEST(PlanOptions, several_whole_addresses_must_have_the_same_path) {
    const LoadPlan plan = asked({"http://a/v1/completions,http://b/v1/completions"});
    EXPECT_EQ(plan.targets, (std::vector<std::string>{"http://a/v1", "http://b/v1"}));
    EXPECT_THROW(asked({"http://a/v1/completions,http://b/v1/messages"}), UsageError);
    EXPECT_THROW(asked({"http://a,http://b/chat/completions"}), UsageError);
}

TEST(PlanOptions, help_names_every_protocol_arrival_process_and_dataset) {
    CLI::App app;
    PlanOptions options;
    add_plan_options(app, options, Levels::one);
    const std::string help = app.help();
    for (const protocol::Protocol* protocol : protocol::protocols())
        EXPECT_THAT(help, HasSubstr(std::string(protocol->name)));
    for (const loadgen::ArrivalRow& row : loadgen::arrival_table())
        EXPECT_THAT(help, HasSubstr(std::string(row.name)));
    for (const datasets::CatalogRow& row : datasets::catalog())
        EXPECT_THAT(help, HasSubstr(std::string(row.name)));
    EXPECT_THAT(help, Not(HasSubstr("{names}")));
}

TEST(PlanOptions, nothing_said_is_the_default_plan) {
    EXPECT_EQ(asked({}), LoadPlan{});
}

TEST(PlanOptions, take_the_names_of_other_tools) {
    EXPECT_EQ(asked({"--base-url", "http://h:1", "--max-concurrency", "8", "--request-count", "50",
                     "--random-input-len", "64", "--random-output-len", "8", "--random-range-ratio", "0.2",
                     "--result-dir", "d"}),
              asked({"http://h:1", "--concurrency", "8", "--num-prompts", "50", "--isl", "64", "--osl", "8",
                     "--range-ratio", "0.2", "--out", "d"}));
}

TEST(PlanOptions, flags_can_be_negated_and_lists_repeated) {
    EXPECT_FALSE(asked({"--no-ignore-eos"}).sampling.ignore_eos);
    EXPECT_TRUE(asked({"--ignore-eos"}).sampling.ignore_eos);
    EXPECT_EQ(asked({"-H", "a: 1", "--header", "b: 2"}).headers, (Texts{"a: 1", "b: 2"}));
    EXPECT_EQ(asked({"--goodput", "ttft:500", "tpot:15"}).classes.front().goodput,
              asked({"--goodput", "ttft:500 tpot:15"}).classes.front().goodput);
}

TEST(PlanOptions, a_sweep_takes_ladders_and_no_arrivals) {
    EXPECT_EQ(parsed({"--concurrency", "1..8"}, Levels::several).given.at("concurrency"), Texts{"1..8"});
    EXPECT_THROW(parsed({"--arrivals", "at_once"}, Levels::several), CLI::ParseError);
}

class ConfigFile : public ::testing::Test {
  protected:
    void TearDown() override { std::filesystem::remove(path_); }
    std::string written(const std::string& text) const {
        std::ofstream(path_) << text;
        return path_;
    }
    std::string path_ =
        ::testing::TempDir() + "config_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ConfigFile, that_was_printed_asks_for_the_same) {
    const LoadPlan plan =
        asked({"sim:ideal", "--concurrency", "8", "--temperature", "0.7", "--no-ignore-eos", "--duration",
               "90s", "--goodput", "ttft:500", "--metadata", "a=b", "--seed", "7"});
    EXPECT_EQ(asked({"--config", written(config_text(plan))}), plan);
}

TEST_F(ConfigFile, is_overruled_by_the_command_line) {
    const std::string path = written(R"({"concurrency": 8, "osl": 16})");
    EXPECT_EQ(asked({"--config", path, "--concurrency", "2"}), asked({"--concurrency", "2", "--osl", "16"}));
}

TEST_F(ConfigFile, holds_no_secret_and_asks_for_it_by_the_name_of_its_variable) {
    const std::string text = config_text(asked({"-H", "x-key: sesame"}));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("sesame")));
    const std::string path = written(text);
    try {
        (void)asked({"--config", path});
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("PARETOKEN_HEADER_X_KEY"));
    }
    ASSERT_EQ(setenv("PARETOKEN_HEADER_X_KEY", "sesame", 1), 0);
    EXPECT_EQ(asked({"--config", path}).headers, Texts{"x-key: sesame"});
    ASSERT_EQ(unsetenv("PARETOKEN_HEADER_X_KEY"), 0);
    EXPECT_NO_THROW(asked({"--config", path, "-H", "x-key: other"})) << "the command line says it";
}

TEST_F(ConfigFile, of_a_sweep_keeps_its_ladder) {
    const std::string text = config_text(LoadPlan{}, {{"concurrency", {"1..8"}}});
    EXPECT_EQ(texts_of(parsed({"--config", written(text)}, Levels::several)).at("concurrency"),
              Texts{"1..8"});
}

TEST_F(ConfigFile, of_a_command_keeps_the_options_of_the_command_itself) {
    PlanOptions options = parsed({"--config", written(config_text(LoadPlan{}, {{"every", {"10s"}}}))});
    EXPECT_THROW(texts_of(options), UsageError);
    options.further = {"every"};
    EXPECT_EQ(texts_of(options).at("every"), Texts{"10s"});
}

TEST_F(ConfigFile, that_is_none_is_refused_by_name) {
    EXPECT_THROW(asked({"--config", path_ + ".gone"}), UsageError);
    EXPECT_THROW(asked({"--config", written(R"({"temprature": 1})")}), UsageError);
}

}  // namespace
}  // namespace paretoken::cli
