#include "experiments/server/server_command.h"

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
            const CommandServer server(
                {.text = text, .log = directory_ / "server.log", .patience = patience, .shell = true},
                watcher_, stop_.get_token());
        } catch (const Error& error) {
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

TEST_F(ServerCommand, at_a_port_that_nobody_listens_on_is_not_ready) {
    EXPECT_THAT(failure_of("echo the port is {port}; sleep 600", std::chrono::milliseconds(300)),
                HasSubstr("was not ready"));
    EXPECT_THAT(bytes("server.log"), ::testing::ContainsRegex("the port is [0-9]+"));
}

TEST_F(ServerCommand, is_not_waited_for_after_an_interruption) {
    stop_.request_stop();
    EXPECT_THAT(failure_of("sleep 600"), HasSubstr("interrupted"));
}

/// Returns the command of a plain HTTP server in python3, whose handler of GET runs `body`.
std::string python_server(const std::string& body) {
    return "python3 -c '\n"
           "import http.server, sys, os\n"
           "class H(http.server.BaseHTTPRequestHandler):\n"
           "    def do_GET(self):\n"
           "        " +
           body +
           "\n"
           "    def log_message(self, *a): pass\n"
           "http.server.HTTPServer((\"127.0.0.1\", int(sys.argv[1])), H).serve_forever()\n"
           "' {port}";
}

TEST_F(ServerCommand, without_a_shell_is_split_into_words_and_its_start_is_told) {
    CommandServer server({.text = python_server("self.send_response(200); self.end_headers(); "
                                                "self.wfile.write(b\"{\\\"version\\\": \\\"1.2\\\"}\")"),
                          .log = directory_ / "server.log",
                          .environment = {"PARETOKEN_TEST=yes"}},
                         watcher_, stop_.get_token());
    EXPECT_TRUE(is_ready(server.url(), ""));
    EXPECT_EQ(server.start().version, "1.2");
    EXPECT_GT(server.start().ready_s, 0);
    EXPECT_THAT(server.start().command, HasSubstr("{port}"));
    EXPECT_FALSE(server.has_ended());
    server.end();
    EXPECT_TRUE(server.has_ended());
    EXPECT_FALSE(is_ready(server.url(), ""));
}

TEST_F(ServerCommand, may_learn_its_port_from_the_environment) {
    std::string command = python_server("self.send_response(200); self.end_headers()");
    command.replace(command.find("sys.argv[1]"), 11, "os.environ[\"AT\"]");
    command.resize(command.find(" {port}"));
    const CommandServer server(
        {.text = command, .log = directory_ / "server.log", .environment = {"AT={port}"}}, watcher_,
        stop_.get_token());
    EXPECT_TRUE(is_ready(server.url(), ""));
}

TEST_F(ServerCommand, is_ready_when_the_path_that_was_named_is_answered_with_200) {
    const std::string only_ready =
        "self.send_response(200 if self.path == \"/up\" else 503); self.end_headers()";
    const CommandServer server(
        {.text = python_server(only_ready), .log = directory_ / "server.log", .ready_url = "/up"}, watcher_,
        stop_.get_token());
    EXPECT_TRUE(is_ready(server.url(), "/up"));
    EXPECT_TRUE(is_ready("http://127.0.0.1:1", server.url() + "/up"));
    EXPECT_FALSE(is_ready(server.url(), "")) << "its /health says that it is still loading";
    EXPECT_FALSE(is_ready(server.url(), "/other"));
}

TEST_F(ServerCommand, that_does_not_exist_is_named) {
    EXPECT_THAT(
        [&] {
            const CommandServer server(
                {.text = "no-such-program-here --port {port}", .log = directory_ / "server.log"}, watcher_,
                stop_.get_token());
        },
        ::testing::ThrowsMessage<ServerFailed>(
            ::testing::AllOf(HasSubstr("no-such-program-here"), HasSubstr("No such file"))));
}

TEST_F(ServerCommand, is_not_started_where_something_is_answering_already) {
    const CommandServer first({.text = python_server("self.send_response(200); self.end_headers()"),
                               .log = directory_ / "server.log"},
                              watcher_, stop_.get_token());
    EXPECT_THAT(
        [&] {
            const CommandServer second(
                {.text = "sleep 600", .log = directory_ / "other.log", .url = first.url()}, watcher_,
                stop_.get_token());
        },
        ::testing::ThrowsMessage<ServerFailed>(HasSubstr("before 'sleep 600' is started; stop it")));
}

TEST_F(ServerCommand, is_never_taken_for_another_server_whose_address_it_prints) {
    const std::string answers = "self.send_response(200); self.end_headers()";
    const CommandServer dashboard({.text = python_server(answers), .log = directory_ / "dashboard.log"},
                                  watcher_, stop_.get_token());
    const std::string own = std::to_string(free_port());
    std::string command = python_server(answers);
    command.replace(command.find("{port}"), 6, own);
    command =
        "echo dashboard: " + dashboard.url() + "/ui; echo at http://127.0.0.1:" + own + "/; exec " + command;
    const CommandServer server({.text = command, .log = directory_ / "server.log", .shell = true}, watcher_,
                               stop_.get_token());
    EXPECT_EQ(server.url(), "http://127.0.0.1:" + own);
}

TEST_F(ServerCommand, keeps_no_secret_in_its_log_or_its_stored_command) {
    Secrets secrets;
    secrets.add("sk-12345");
    std::string command = python_server("self.send_response(200); self.end_headers()");
    CommandServer server({.text = "echo the key is sk-12345; exec " + command + " sk-12345",
                          .log = directory_ / "server.log",
                          .shell = true,
                          .secrets = secrets},
                         watcher_, stop_.get_token());
    EXPECT_THAT(server.start().command, ::testing::Not(HasSubstr("sk-12345")));
    EXPECT_EQ(bytes("server.log"), "the key is ***\n") << "while the server runs";
    server.end();
    EXPECT_EQ(bytes("server.log"), "the key is ***\n");
}

TEST_F(ServerCommand, keeps_no_secret_in_its_log_that_is_printed_in_pieces) {
    Secrets secrets;
    secrets.add("sk-12345");
    CommandServer server(
        {.text = "printf 'a sk-1'; sleep .2; printf '2345 b sk-12 c sk-12345sk-12345'; sleep .2; "
                 "printf ' s'; sleep .2; echo; exec " +
                 python_server("self.send_response(200); self.end_headers()"),
         .log = directory_ / "server.log",
         .shell = true,
         .secrets = secrets},
        watcher_, stop_.get_token());
    server.end();
    EXPECT_EQ(bytes("server.log"), "a *** b sk-12 c ****** s\n");
}

TEST_F(ServerCommand, that_prints_without_end_fills_no_disk_and_keeps_its_last_lines) {
    const std::string failure = failure_of(
        "head -c 70000000 /dev/zero | tr '\\0' 'x' | fold -w 1000; echo; echo out of memory; exit 3");
    EXPECT_THAT(failure, HasSubstr("out of memory"));
    EXPECT_LE(std::filesystem::file_size(directory_ / "server.log"), kLongestServerLog);
    EXPECT_GT(std::filesystem::file_size(directory_ / "server.log"),
              kLongestServerLog - (std::size_t{1} << 20));
}

TEST(RunAfter, throws_what_went_wrong) {
    const auto run = [](const std::string& command) {
        LoadPlan plan;
        plan.targets = {"http://127.0.0.1:8123"};
        plan.server.after_run_command = command;
        plan.server.environment = {"PARETOKEN_TEST_B=theirs"};
        run_after(plan);
    };
    EXPECT_NO_THROW(run("test {port} = 8123"));
    EXPECT_NO_THROW(run("sh -c 'test \"$PARETOKEN_TEST_B\" = theirs'"));
    EXPECT_THAT([&] { run("sh -c 'exit 4'"); },
                ::testing::ThrowsMessage<RuntimeError>(HasSubstr("exit status 4")));
    EXPECT_THAT([&] { run("no-such-program-here"); },
                ::testing::ThrowsMessage<RuntimeError>(HasSubstr("no-such-program-here")));
}

TEST(UrlsIn, are_the_addresses_that_a_server_prints) {
    using Urls = std::vector<std::string>;
    EXPECT_EQ(urls_in("loading\nUvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)\n"),
              Urls{"http://127.0.0.1:8000"});
    EXPECT_EQ(urls_in("http://127.0.0.1:9001/v1\n"), Urls{"http://127.0.0.1:9001"});
    EXPECT_EQ(urls_in("see http://docs for help; https://[::]:443, ready\n"), Urls{"https://127.0.0.1:443"});
    EXPECT_EQ(urls_in("http://127.0.0.1:80"), Urls{}) << "the line may go on: 8000";
    EXPECT_EQ(urls_in("http://[::1]:80"), Urls{}) << "this line too";
    EXPECT_EQ(urls_in("http://[::1]:8000/\n"), Urls{"http://[::1]:8000"});
    EXPECT_EQ(urls_in("no address here\n"), Urls{});
    EXPECT_EQ(urls_in("from https://cdn-lfs-us-1.example.com/model to http://localhost:8000\n"),
              Urls{"http://localhost:8000"});
    EXPECT_EQ(urls_in("board http://127.0.0.1:7/ui, again http://127.0.0.1:7/, at http://127.0.0.1:8\n"),
              (Urls{"http://127.0.0.1:7", "http://127.0.0.1:8"}));
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
