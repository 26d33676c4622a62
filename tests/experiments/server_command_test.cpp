#include "experiments/server_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "core/error.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

using ::testing::HasSubstr;

class ServerCommand : public VirtualExperiment {
  protected:
    std::string failure_of(const std::string& text, Duration patience = std::chrono::seconds(60)) {
        try {
            const CommandServer server({.text = text, .log = directory_ / "server.log", .patience = patience},
                                       watcher_, stop_.get_token());
        } catch (const RuntimeError& error) {
            return error.what();
        }
        return "it came up";
    }
};

TEST_F(ServerCommand, that_ends_is_told_with_its_status_and_its_last_five_lines) {
    const std::string failure =
        failure_of("for i in 1 2 3 4 5 6 7; do echo line $i; done; echo out of memory >&2; exit 7");
    EXPECT_THAT(failure, HasSubstr("exit status 7"));
    EXPECT_THAT(failure, HasSubstr("line 4 | line 5 | line 6 | line 7 | out of memory"));
    EXPECT_THAT(failure, HasSubstr("server.log"));
    EXPECT_THAT(bytes("server.log"), HasSubstr("line 1"));
}

TEST_F(ServerCommand, that_says_nothing_is_given_up_and_its_whole_group_ends) {
    const std::string pids = (directory_ / "pids").string();
    const std::string failure = failure_of(
        "sleep 600 & echo $! >'" + pids + "'; echo $$ >>'" + pids + "'; trap '' TERM; wait; sleep 600",
        std::chrono::milliseconds(300));
    EXPECT_THAT(failure, HasSubstr("did not say where it listens"));
    std::ifstream file(pids);
    for (pid_t pid = 0; file >> pid;) EXPECT_EQ(::kill(pid, 0), -1) << pid;
}

TEST_F(ServerCommand, at_a_port_that_nobody_listens_on_did_not_answer) {
    EXPECT_THAT(failure_of("echo the port is {port}; sleep 600", std::chrono::milliseconds(300)),
                HasSubstr("did not answer"));
    EXPECT_THAT(bytes("server.log"), ::testing::ContainsRegex("the port is [0-9]+"));
}

TEST_F(ServerCommand, is_not_waited_for_after_an_interruption) {
    stop_.request_stop();
    EXPECT_THAT(failure_of("sleep 600"), HasSubstr("interrupted"));
}

TEST(UrlIn, is_the_first_address_that_a_server_prints) {
    EXPECT_EQ(url_in("loading\nUvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)\n"),
              "http://127.0.0.1:8000");
    EXPECT_EQ(url_in("http://127.0.0.1:9001/v1\n"), "http://127.0.0.1:9001");
    EXPECT_EQ(url_in("see http://docs for help; https://[::]:443, ready\n"), "https://127.0.0.1:443");
    EXPECT_EQ(url_in("http://127.0.0.1:80"), "") << "the line may go on: 8000";
    EXPECT_EQ(url_in("no address here\n"), "");
}

TEST(LastLines, leave_out_blank_ones) {
    EXPECT_EQ(last_lines("a\n\nb\n  \nc\n", 2), "b | c");
    EXPECT_EQ(last_lines("", 5), "");
    EXPECT_EQ(last_lines("only", 5), "only");
}

TEST(FreePort, can_be_listened_on) {
    EXPECT_GT(free_port(), 0);
}

}  // namespace
}  // namespace paretoken::experiments
