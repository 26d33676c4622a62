#include "cli/options/unknown_words.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "core/error.h"

namespace paretoken::cli {
namespace {

std::string complaint(const std::vector<std::string>& arguments) {
    CLI::App app{"", "paretoken"};
    std::string url;
    std::string model;
    bool flag = false;
    CLI::App* run = app.add_subcommand("run", "");
    run->add_option("url,--url", url);
    run->add_option("-m,--model", model);
    run->add_option("--concurrency", model);
    run->add_option("--profile", model);
    run->add_flag("--flag,!--no-flag", flag);
    CLI::App* convert = app.add_subcommand("dataset", "")->add_subcommand("convert", "");
    convert->add_option("file", url);
    convert->add_option("out", model);
    app.add_subcommand("serve", "")->add_option("--profile", model);
    app.add_subcommand("plan", "")->add_option("--demand", model);
    app.add_subcommand("watch", "")->add_option("--alerts", model);
    try {
        refuse_unknown_words(app, arguments);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

TEST(UnknownWords, a_simulated_server_as_an_address_is_told_the_option_for_profiles) {
    EXPECT_EQ(complaint({"serve", "sim:a"}),
              "paretoken serve takes the profile as an option: paretoken serve --profile a");
    EXPECT_EQ(complaint({"run", "sim:a"}), "");
}

TEST(UnknownWords, known_options_and_their_values_pass) {
    EXPECT_EQ(
        complaint({"run", "host", "--model", "--strange-name", "--flag", "--no-flag", "-mx", "--url=x"}), "");
    EXPECT_EQ(complaint({"run", "--help"}), "");
    EXPECT_EQ(complaint({"--help"}), "");
    EXPECT_EQ(complaint({"run", "--model", "-1", "--", "--anything"}), "");
    EXPECT_EQ(complaint({}), "");
}

TEST(UnknownWords, an_option_is_no_value_of_the_option_before_it) {
    EXPECT_EQ(
        complaint({"run", "--model", "--concurrency", "8"}),
        "--model: its value is missing, because --concurrency follows; is a variable of the shell empty?");
    EXPECT_EQ(complaint({"run", "--model"}), "") << "the parser says it";
}

TEST(UnknownWords, an_unknown_word_is_named_with_what_was_meant) {
    EXPECT_EQ(complaint({"run", "host", "--modle", "x"}),
              "paretoken run has no option --modle; did you mean --model?; see paretoken run --help");
    EXPECT_EQ(complaint({"run", "--users", "8"}),
              "paretoken run has no option --users; did you mean --concurrency?; see paretoken run --help");
    EXPECT_EQ(
        complaint({"dataset", "convert", "a", "--out", "b"}),
        "paretoken dataset convert has no option --out; did you mean paretoken dataset convert FILE OUT?; "
        "see paretoken dataset convert --help");
    EXPECT_EQ(complaint({"run", "--qps", "8"}), "paretoken run has no option --qps; see paretoken run --help")
        << "the command has no rate";
    EXPECT_EQ(
        complaint({"run", "--save-baseline", "main"}),
        "paretoken run has no option --save-baseline; did you mean paretoken baseline save NAME DIR?; see "
        "paretoken run --help");
    EXPECT_EQ(complaint({"run", "--speed", "2"}),
              "paretoken run has no option --speed; see paretoken run --help")
        << "the command has no arrivals";
    EXPECT_EQ(complaint({"plan", "--request-rate", "50"}),
              "paretoken plan has no option --request-rate; did you mean --demand 50rps?; see paretoken plan "
              "--help");
    EXPECT_EQ(
        complaint({"watch", "--slo", "ttft_p95:20"}),
        "paretoken watch has no option --slo; did you mean --alerts FILE (`paretoken help alerts` shows "
        "such a file)?; see paretoken watch --help");
    EXPECT_EQ(complaint({"rnu"}), "there is no command 'rnu'; did you mean run?; see --help");
    EXPECT_EQ(complaint({"run", "-x"}), "paretoken run has no option -x; see paretoken run --help");
}

}  // namespace
}  // namespace paretoken::cli
